"""Lists: one object at a time, in pages, and what happens when a page's token expires."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import ProtocolError
from adapters.kubernetes import lists
from adapters.kubernetes.lists import ListPosition, listed, walk
from adapters.kubernetes.resources import RESOURCES
from adapters.kubernetes.slim import key_of
from tests.doubles.kube_api import KubeDouble
from tests.doubles.kube_api.objects import job
from tests.doubles.kube_api.recordings import answer_bytes, body
from tests.doubles.kube_api.server import Fault
from tests.kubernetes.conftest import Opened

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(
    before=st.dictionaries(st.text(max_size=4).filter(lambda name: name != "items"), VALUES, max_size=3),
    items=st.lists(VALUES, max_size=5),
    after=st.dictionaries(st.sampled_from(["metadata", "kind"]), VALUES, max_size=2),
    indent=st.sampled_from([None, 1]),
)
def test_a_walk_finds_what_a_parser_finds(
    before: dict[str, Any], items: list[Any], after: dict[str, Any], indent: int | None
) -> None:
    whole = {**before, "items": items, **after}
    found: dict[str, Any] = {}
    page = json.dumps(whole, indent=indent, separators=None if indent else (",", ":"))
    assert list(walk(page, found)) == whole["items"]
    assert found == {name: value for name, value in whole.items() if name != "items"}


@pytest.mark.parametrize(
    "page", ["", "[]", "{", '{"a"', '{"a":1', '{"items":[1', '{"items":[1 2]}', "<html>", '{"a":1 "b":2}']
)
def test_what_is_no_object_is_an_error(page: str) -> None:
    with pytest.raises(ValueError):
        list(walk(page, {}))


def test_a_list_without_items_or_with_null() -> None:
    found: dict[str, Any] = {}
    assert list(walk('{"kind":"PodList","items":null}', found)) == [] and found["items"] is None
    assert list(walk("{}", {})) == []


async def names(opened: Opened, position: ListPosition) -> list[str]:
    reader = opened.reader()
    return [key_of(raw)[1] async for raw in listed(reader.api, RESOURCES["jobs"], None, position)]


async def test_pages_bring_everything_and_the_version(
    double: KubeDouble, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "PAGE", 3)
    for number in range(10):
        double.put("jobs", job(f"j{number}"))
    position = ListPosition()
    assert await names(opened, position) == [f"j{number}" for number in range(10)]
    assert position.version == str(double.store.version)
    pages = [request.path for request in double.requests if "limit=3" in request.path]
    assert len(pages) == 4 and all("continue=" in path for path in pages[1:])


async def test_an_expired_token_goes_on_and_keeps_the_first_version(
    double: KubeDouble, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "PAGE", 2)
    for number in range(6):
        double.put("jobs", job(f"j{number}"))
    first = double.store.version
    position = ListPosition()
    found = []
    async for raw in listed(opened.reader().api, RESOURCES["jobs"], None, position):
        found.append(key_of(raw)[1])
        if len(found) == 2:
            double.store.remove(double.served("jobs"), "team-a", "j0")
            double.store.compact()
    assert found == [f"j{number}" for number in range(6)]
    assert position.version == str(first), "the watch must go on from before the gap"


async def test_an_answer_that_is_no_list_is_never_taken_for_an_empty_one(double: KubeDouble, opened: Opened) -> None:
    for answer in (b"<html>", b'{"kind":"Status"}', b'{"items":[]}', b'{"kind":"JobList","items":['):
        double.faults = [Fault(lambda _, path: "/jobs" in path, code=200, body=answer, times=1)]
        with pytest.raises(ProtocolError):
            await names(opened, ListPosition())


async def test_the_recorded_pages_read_like_the_whole(double: KubeDouble, opened: Opened) -> None:
    for item in body("list-pods-team-a")["items"]:
        double.put("pods", item)
    double.faults = [
        Fault(lambda _, path: "continue=" in path, code=200, body=answer_bytes("list-pods-page-2"), times=1),
        Fault(lambda _, path: "/pods" in path, code=200, body=answer_bytes("list-pods-page-1"), times=1),
    ]
    reader = opened.reader()
    found = [key_of(raw)[1] async for raw in listed(reader.api, RESOURCES["pods"], "team-a", ListPosition())]
    expected = sorted(item["metadata"]["name"] for item in body("list-pods-team-a")["items"])
    assert found == expected
