"""The reflector's rules, one by one, and over the recorded streams."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.base import AdapterError, FeedLabel, Forbidden
from adapters.kubernetes.client import Api
from adapters.kubernetes.records import Key, Raw
from adapters.kubernetes.reflector import Reflector, Timing, lines
from adapters.kubernetes.resources import RESOURCES, Resource
from adapters.kubernetes.slim import key_of
from tests.doubles.kube_api import KubeDouble, meta
from tests.doubles.kube_api.objects import job
from tests.doubles.kube_api.recordings import answer_bytes, watch_lines
from tests.doubles.kube_api.server import Fault
from tests.kubernetes.conftest import QUICK, Opened, until, watched

JOBS = RESOURCES["jobs"]


@dataclass
class Heard:
    """A sink that keeps the objects, and what it was told."""

    objects: dict[Key, Raw] = field(default_factory=dict)
    labels: list[FeedLabel] = field(default_factory=list)
    errors: list[AdapterError] = field(default_factory=list)
    lists: int = 0

    def put(self, resource: Resource, raw: Raw) -> None:
        self.objects[key_of(raw)] = raw

    def drop(self, resource: Resource, key: Key) -> None:
        self.objects.pop(key, None)

    def sweep(self, resource: Resource, namespace: str | None, seen: set[Key]) -> None:
        self.lists += 1
        self.objects = {key: raw for key, raw in self.objects.items() if key in seen}

    def fares(
        self, resource: Resource, namespace: str | None, label: FeedLabel, error: AdapterError | None, wait: float
    ) -> None:
        self.labels.append(label)
        if error is not None:
            self.errors.append(error)

    def versions(self) -> dict[Key, str]:
        return {key: raw["metadata"]["resourceVersion"] for key, raw in self.objects.items()}


def truth(double: KubeDouble) -> dict[Key, str]:
    return {
        (obj["metadata"]["namespace"], obj["metadata"]["name"]): obj["metadata"]["resourceVersion"]
        for _, obj in double.store.listed(double.served("jobs"), None)
    }


@asynccontextmanager
async def following(
    api: Api, timing: Timing = QUICK, namespace: str | None = None, resource: Resource = JOBS
) -> AsyncIterator[Heard]:
    heard = Heard()
    task = asyncio.create_task(Reflector(api, resource, namespace, heard, timing).run())
    try:
        await until(lambda: heard.lists or task.done(), "the first list")
        if task.done():
            task.result()
        yield heard
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def asked(double: KubeDouble) -> list[str]:
    return [request.path for request in double.requests if "/jobs" in request.path]


async def resumed(double: KubeDouble, version: int) -> None:
    await until(lambda: any(f"resourceVersion={version}" in path for path in asked(double)), "it goes on from there")


async def agrees(double: KubeDouble, heard: Heard) -> None:
    await until(lambda: heard.versions() == truth(double), "the reflector agrees with the server")


async def test_it_begins_with_a_streaming_list_and_bookmarks(double: KubeDouble, opened: Opened) -> None:
    for name in ("b", "a"):
        double.put("jobs", job(name))
    async with following(opened.reader().api) as heard:
        assert set(heard.objects) == {("team-a", "a"), ("team-a", "b")}
        double.put("jobs", job("c"))
        double.store.remove(double.served("jobs"), "team-a", "a")
        await agrees(double, heard)
    (path,) = asked(double)
    assert "sendInitialEvents=true" in path and "resourceVersionMatch=NotOlderThan" in path
    assert "allowWatchBookmarks=true" in path and "timeoutSeconds=" in path


async def test_where_streaming_lists_are_off_it_pages(double: KubeDouble, opened: Opened) -> None:
    double.streaming_lists = False
    double.put("jobs", job("a"))
    async with following(opened.reader().api) as heard:
        double.put("jobs", job("b"))
        await agrees(double, heard)
        assert heard.errors == []
    first, page, watch = asked(double)
    assert "sendInitialEvents" in first and "limit=500" in page and "resourceVersion=" in watch


async def test_a_server_that_ignores_streaming_lists_is_paged_at_its_first_bookmark(
    double: KubeDouble, opened: Opened
) -> None:
    """As kube-apiserver 1.20: the parameter is ignored, the list has no end, and a bookmark comes in its time."""
    double.knows_streaming_lists, double.bookmark_period = False, 0.2
    double.put("jobs", job("a"))
    async with following(opened.reader().api) as heard:
        double.put("jobs", job("b"))
        await agrees(double, heard)
    first, page, *_ = asked(double)
    assert "sendInitialEvents" in first and "limit=500" in page


async def test_an_old_release_is_paged_from_the_start(
    double: KubeDouble, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(meta.VERSION, "minor", "20+")
    double.knows_streaming_lists = False
    double.put("jobs", job("a"))
    async with watched(opened.reader()) as mirror:
        await until(lambda: "team-a/a" in mirror.of("job"), "the job")
    assert not [path for path in asked(double) if "sendInitialEvents" in path]


async def test_a_410_in_the_stream_is_a_new_list(double: KubeDouble, opened: Opened) -> None:
    double.put("jobs", job("a"))
    async with following(opened.reader().api) as heard:
        double.store.remove(double.served("jobs"), "team-a", "a")
        double.put("jobs", job("b"))
        await agrees(double, heard)
        double.store.remove(double.served("jobs"), "team-a", "b")
        double.store.compact()
        double.cut_watches()
        await agrees(double, heard)
        await until(lambda: heard.lists == 2, "the second list")
    assert len(asked(double)) <= 4, "a 410 must not be asked again and again"


async def test_a_cut_in_mid_line_goes_on_from_the_last_whole_event(double: KubeDouble, opened: Opened) -> None:
    double.put("jobs", job("a"))
    async with following(opened.reader().api) as heard:
        for number in range(3):
            double.put("jobs", job(f"n{number}"))
            await agrees(double, heard)
            held = double.store.version
            double.cut_watches()
            await resumed(double, held)
        await until(lambda: heard.labels[-1] == "live", "it is live again")
        assert heard.lists == 1 and "stale" in heard.labels


async def test_a_clean_end_is_only_a_reconnection(double: KubeDouble, opened: Opened) -> None:
    async with following(opened.reader().api, Timing(silence=5, watch=1, first_delay=0.02)) as heard:
        await until(lambda: len(asked(double)) >= 3, "two reconnections")
        double.put("jobs", job("a"))
        await agrees(double, heard)
        assert heard.lists == 1 and heard.errors == []


async def test_the_versions_of_a_streaming_list_are_not_gone_on_from(double: KubeDouble, opened: Opened) -> None:
    """Its events come in the order of names: the last one's version is older than the list's."""
    double.put("jobs", job("z"))
    double.put("jobs", job("a"))
    version = double.store.version
    async with following(opened.reader().api):
        double.cut_watches()
        await until(lambda: len(asked(double)) == 2, "the reconnection")
    assert f"resourceVersion={version}" in asked(double)[1]


async def test_silence_is_a_dead_link(double: KubeDouble, opened: Opened) -> None:
    async with following(opened.reader().api, Timing(silence=0.3, watch=30, first_delay=0.02)) as heard:
        double.silent.set()
        double.put("jobs", job("a"))
        await until(lambda: any("said nothing" in error.message for error in heard.errors), "the silence is noticed")
        double.silent.clear()
        await agrees(double, heard)


async def test_bookmarks_keep_a_quiet_link_alive_and_move_the_version(double: KubeDouble, opened: Opened) -> None:
    double.bookmark_period = 0.1
    async with following(opened.reader().api, Timing(silence=0.6, watch=30, first_delay=0.02)) as heard:
        double.put("nodes", {"metadata": {"name": "n"}, "spec": {}})
        version = double.store.version
        await asyncio.sleep(0)
        began = time.monotonic()
        await until(lambda: time.monotonic() - began > 0.9, "longer than the silence")
        assert heard.errors == []
        double.cut_watches()
        await until(
            lambda: any(f"resourceVersion={version}" in path for path in asked(double)), "the bookmark's version"
        )
        assert heard.lists == 1


async def test_a_restarted_server_is_listed_again(double: KubeDouble, opened: Opened) -> None:
    double.put("jobs", job("a"))
    async with following(opened.reader().api) as heard:
        refuse = Fault(lambda _, path: "/jobs" in path, code=503, body=b"apiserver is shutting down")
        double.faults.append(refuse)
        double.cut_watches()
        await until(lambda: heard.errors, "the failure")
        double.store.remove(double.served("jobs"), "team-a", "a")
        double.store.compact()
        double.faults.clear()
        await agrees(double, heard)
        await until(lambda: heard.labels[-1] == "live", "it is live again")
        assert heard.errors[-1].code == "unavailable"


async def test_retry_after_is_obeyed(double: KubeDouble, opened: Opened) -> None:
    busy = answer_bytes("err-429-too-many-requests-apf")
    double.faults.append(
        Fault(lambda _, path: "/jobs" in path, code=429, body=busy, headers={"retry-after": "1"}, times=1)
    )
    began = time.monotonic()
    async with following(opened.reader().api) as heard:
        assert time.monotonic() - began >= 1.0
        assert "Too many requests" in heard.errors[0].message


async def test_a_403_for_the_cluster_is_the_callers_business(double: KubeDouble, opened: Opened) -> None:
    with pytest.raises(Forbidden):
        async with following(opened.reader("editor").api):
            pass
    async with following(opened.reader("editor").api, namespace="team-a") as heard:
        double.put("jobs", job("a"))
        double.put("jobs", job("b", "team-b"))
        await until(lambda: set(heard.objects) == {("team-a", "a")}, "only its namespace")


async def test_a_403_in_a_namespace_is_tried_again_later(double: KubeDouble, opened: Opened) -> None:
    heard = Heard()
    api = opened.reader("editor").api
    task = asyncio.create_task(Reflector(api, JOBS, "team-b", heard, QUICK).run())
    await until(lambda: len(heard.errors) >= 2, "two attempts")
    task.cancel()
    assert all(isinstance(error, Forbidden) for error in heard.errors)


@pytest.mark.parametrize(
    "answer", [b"{not json}\n", b'{"type":"ADDED"}\n', b'["ADDED"]\n', b'{"type":"ADDED","object":3}\n']
)
async def test_a_line_that_is_no_event_is_a_new_list(double: KubeDouble, opened: Opened, answer: bytes) -> None:
    double.put("jobs", job("a"))
    double.faults.append(Fault(lambda _, path: "watch=1" in path, code=200, body=answer, times=1))
    async with following(opened.reader().api) as heard:
        await agrees(double, heard)
        assert heard.errors[0].code in ("protocol", "unavailable")


async def test_a_server_that_never_ends_its_list_is_paged(double: KubeDouble, opened: Opened) -> None:
    double.put("jobs", job("a"))
    double.faults.append(Fault(lambda _, path: "sendInitialEvents" in path, code=200, body=b""))
    async with following(opened.reader().api) as heard:
        await agrees(double, heard)
    assert any("limit=500" in path for path in asked(double))


def fold(recorded: list[bytes]) -> dict[Key, str]:
    """What is left after a recorded stream, by the meaning of its events."""
    objects: dict[Key, str] = {}
    for event in map(json.loads, recorded):
        key = key_of(event["object"])
        if event["type"] in ("ADDED", "MODIFIED"):
            objects[key] = event["object"]["metadata"]["resourceVersion"]
        elif event["type"] == "DELETED":
            objects.pop(key, None)
    return objects


STREAMS = {
    "watch-jobs-create-suspend-resume-complete-delete": "jobs",
    "watch-pods-lifecycle": "pods",
    "watch-nodes-cordon-uncordon": "nodes",
    "watch-quota": "resourcequotas",
    "watch-events": "events",
    "watch-fieldselector-pending-leaving-is-DELETED": "pods",
    "watch-bookmark-idle-namespace": "pods",
    "watch-server-timeout-clean-end": "jobs",
    "watch-future-resourceversion": "pods",
    "watch-metadata-only": "jobs",
}


@pytest.mark.parametrize("name", STREAMS)
async def test_recorded_streams_leave_what_their_events_mean(double: KubeDouble, opened: Opened, name: str) -> None:
    recorded = watch_lines(name)
    plural = STREAMS[name]
    empty = b'{"kind":"List","metadata":{"resourceVersion":"5"},"items":[]}'
    double.streaming_lists = False
    double.faults = [
        Fault(
            lambda _, path: "resourceVersion=5" in path, code=200, body=b"".join(x + b"\n" for x in recorded), times=1
        ),
        Fault(lambda _, path: f"/{plural}" in path and "limit=500" in path, code=200, body=empty),
        Fault(lambda _, path: "watch=1" in path and "sendInitial" not in path, silent=True),
    ]
    async with following(opened.reader().api, resource=RESOURCES[plural]) as heard:
        await until(lambda: heard.versions() == fold(recorded), "the stream's outcome")


async def test_the_recorded_streaming_list_is_a_list(double: KubeDouble, opened: Opened) -> None:
    recorded = watch_lines("watch-streaming-list-sendinitialevents")
    double.faults = [
        Fault(
            lambda _, path: "sendInitialEvents" in path, code=200, body=b"".join(x + b"\n" for x in recorded), times=1
        ),
        Fault(lambda _, path: "resourceVersion=" in path, silent=True),
    ]
    async with following(opened.reader().api) as heard:
        assert heard.versions() == fold(recorded) and len(heard.objects) == 35
        await until(lambda: any("resourceVersion=2333" in path for path in asked(double)), "on from the bookmark")


async def test_a_list_that_was_cut_is_not_gone_on_from(double: KubeDouble, opened: Opened) -> None:
    double.put("jobs", job("a"))
    part = b"".join(x + b"\n" for x in watch_lines("watch-streaming-list-sendinitialevents")[:10])
    double.faults = [Fault(lambda _, path: "sendInitialEvents" in path, code=200, body=part, times=1)]
    async with following(opened.reader().api) as heard:
        await agrees(double, heard)
    assert "resourceVersion=" not in asked(double)[1], "its events came in the order of names"


async def test_the_recorded_410_makes_one_new_list(double: KubeDouble, opened: Opened) -> None:
    double.put("jobs", job("a"))
    recorded = b"".join(x + b"\n" for x in watch_lines("watch-too-old-410-in-stream"))
    async with following(opened.reader().api) as heard:
        double.faults = [Fault(lambda _, path: "resourceVersion=" in path, code=200, body=recorded, times=1)]
        double.cut_watches()
        await until(lambda: heard.lists == 2, "the new list")
        await agrees(double, heard)


@given(chunks=st.lists(st.binary(max_size=12), max_size=12), data=st.data())
async def test_lines_are_whole_whatever_the_chunks(chunks: list[bytes], data: st.DataObject) -> None:
    async def content() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    response = httpx.Response(200, content=content())
    found = [line async for line in lines(response)]
    whole = b"".join(chunks)
    assert found == [line for line in whole.split(b"\n")[:-1] if line]


Move = Callable[[KubeDouble, Random], None]


def _add(double: KubeDouble, random: Random) -> None:
    double.put("jobs", job(f"j{random.randrange(6)}", active=random.randrange(3)))


def _remove(double: KubeDouble, random: Random) -> None:
    double.store.remove(double.served("jobs"), "team-a", f"j{random.randrange(6)}")


def _cut(double: KubeDouble, random: Random) -> None:
    double.cut_in_mid_line = random.random() < 0.5
    double.cut_watches()


def _compact(double: KubeDouble, random: Random) -> None:
    double.store.compact()


def _fail(double: KubeDouble, random: Random) -> None:
    code = random.choice([429, 500, 503, 410, 504])
    double.faults.append(
        Fault(lambda _, path: "/jobs" in path, code=code, body=b"", headers={"retry-after": "0"}, times=1)
    )


MOVES: tuple[Move, ...] = (_add, _add, _add, _remove, _remove, _cut, _compact, _fail)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moves=st.lists(st.sampled_from(MOVES), max_size=25), seed=st.integers(0, 10**6), streaming=st.booleans())
async def test_any_order_of_events_cuts_and_lists_ends_in_the_truth(
    double: KubeDouble, tmp_path_factory: pytest.TempPathFactory, moves: list[Move], seed: int, streaming: bool
) -> None:
    random = Random(seed)
    double.store.clear()
    double.faults.clear()
    double.streaming_lists = streaming
    folder = tmp_path_factory.mktemp("kube")
    opened = Opened(double, folder)
    timing = Timing(silence=5, watch=20, first_delay=0.005, longest_delay=0.02)
    try:
        async with following(opened.reader().api, timing) as heard:
            for move in moves:
                move(double, random)
                if random.random() < 0.5:
                    await asyncio.sleep(random.random() * 0.01)
            await agrees(double, heard)
            assert heard.objects.keys() == truth(double).keys()
    finally:
        double.faults.clear()
        await opened.close()


def test_recorded_objects_are_those_of_the_streams() -> None:
    table: dict[str, Any] = {name: watch_lines(name) for name in STREAMS}
    assert sum(len(lines_) for lines_ in table.values()) > 50


async def test_a_slow_server_is_waited_for(double: KubeDouble, opened: Opened) -> None:
    double.put("jobs", job("a"))
    double.faults.append(Fault(lambda _, path: "/jobs" in path, perform=True, answer_after=0.4, times=1))
    async with following(opened.reader().api) as heard:
        assert set(heard.objects) == {("team-a", "a")} and heard.errors == []
