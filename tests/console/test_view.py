"""Filter and sort: what is kept up to date change by change is what sorting anew would give."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.model import Delta, Job, Node, Ref
from console.sorting import natural
from console.store import Store
from console.view import Sort, View

ROWS = (
    Job("10", "train[lr=0.1]", "running", queue="gpu", owner="alice", cores=8, node_names=("n1", "n12"), cluster="a"),
    Job("9", "prep", "pending", queue="short", owner="bob", cores=None, reason="Priority", cluster="a"),
    Job("9_2", "array", "failed", queue="gpu", owner="Alice", cores=2, cluster="b"),
    Job("100", "eval", "running", queue="long", owner="carol", cores=64, cluster="a"),
)


def store_of(*rows: Any) -> Store:
    store = Store()
    for cluster in dict.fromkeys(row.cluster for row in rows):
        store.apply(cluster, Delta(tuple(row for row in rows if row.cluster == cluster)))
    return store


def ids(view: View) -> list[str]:
    return [ref.id for ref in view.refs]


def shown(text: str, sort: tuple[Sort, ...] = (Sort("id"),)) -> list[str]:
    view = View("job", text, sort)
    view.rebuild(store_of(*ROWS))
    return ids(view)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["9", "9_2", "10", "100"]),
        ("   ", ["9", "9_2", "10", "100"]),
        ("ALICE", ["9_2", "10"]),
        ("alice gpu", ["9_2", "10"]),
        ("alice running", ["10"]),
        ("owner:bob", ["9"]),
        ("user:bob", ["9"]),
        ("node:n12", ["10"]),
        ("state:running", ["10", "100"]),
        ("!running", ["9", "9_2"]),
        ("!owner:alice", ["9", "100"]),
        ("cores:64", ["100"]),
        ("priority", ["9"]),
        ("lr=0.1", ["10"]),
        ("train[lr", ["10"]),
        ("cluster:b", ["9_2"]),
        ("nothing:here", []),
        ("owner:", ["9", "9_2", "10", "100"]),
        ("!", []),
    ],
)
def test_filters(text: str, expected: list[str]) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ((Sort("id"),), ["9", "9_2", "10", "100"]),
        ((Sort("id", True),), ["100", "10", "9_2", "9"]),
        ((Sort("cores"),), ["9_2", "10", "100", "9"]),
        ((Sort("cores", True),), ["100", "10", "9_2", "9"]),
        ((Sort("status"),), ["9", "10", "100", "9_2"]),
        ((Sort("queue"), Sort("cores", True)), ["10", "9_2", "100", "9"]),
        ((Sort("owner"), Sort("id", True)), ["10", "9_2", "9", "100"]),
        ((Sort("nosuch"),), ["9", "9_2", "10", "100"]),
        ((), ["9", "9_2", "10", "100"]),
    ],
)
def test_sorts(sort: tuple[Sort, ...], expected: list[str]) -> None:
    assert shown("", sort) == expected


def test_fields_of_one_backend_sort_and_mixed_types_do_not_crash() -> None:
    jobs = [
        Job(str(index), cluster="a", extensions={"x": value})
        for index, value in enumerate([3, "a", None, 1.5, True, ("t",), datetime(2026, 1, 1, tzinfo=UTC), float("nan")])
    ]
    view = View("job", sort=(Sort("x"),))
    view.rebuild(store_of(*jobs))
    assert len(view.refs) == len(jobs) and set(ids(view)[-2:]) == {"2", "7"}
    view.set_sort((Sort("x", descending=True),))
    view.rebuild(store_of(*jobs))
    assert set(ids(view)[-2:]) == {"2", "7"}


def test_n_of_m_and_chosen_clusters() -> None:
    view = View("job", "alice", clusters=["a"])
    view.rebuild(store_of(*ROWS))
    assert (view.shown, view.total, view.filtered) == (1, 3, True)


def test_numbers_in_names_count_as_numbers() -> None:
    view = View("node", sort=(Sort("name"),))
    view.rebuild(store_of(*(Node(name, cluster="a") for name in ("n10", "n2", "n1", "m3"))))
    assert ids(view) == ["m3", "n1", "n2", "n10"]
    assert natural("12_3") < natural("12_20") and natural("9") < natural("10") and natural("x") > natural("9")


def test_a_superscript_is_no_number() -> None:
    assert natural("²") and natural("node²") and natural("٣") < natural("٤")


texts = st.sampled_from(["", "a", "owner:u1", "!pending", "q1 u"])
sorts = st.lists(
    st.builds(Sort, st.sampled_from(["id", "owner", "cores", "status", "queue"]), st.booleans()), max_size=3
)


def _job(id: str, name: str, status: Any, queue: str | None, owner: str | None, cores: int | None, at: Any) -> Job:
    return Job(id, name, status, queue=queue, owner=owner, cores=cores, submission_time=at, cluster="a")


jobs = st.builds(
    _job,
    st.sampled_from([str(number) for number in range(25)]),
    st.sampled_from(["a", "b"]),
    st.sampled_from(["pending", "running", "failed"]),
    st.sampled_from(["q1", "q2", None]),
    st.sampled_from(["u1", "u2", None]),
    st.sampled_from([1, 2, None]),
    st.sampled_from([None, datetime(2026, 1, 1, tzinfo=UTC)]),
)
batches = st.lists(
    st.tuples(st.lists(jobs, max_size=8), st.lists(st.sampled_from([str(n) for n in range(25)]), max_size=4)),
    max_size=8,
)


@given(text=texts, sort=sorts, batches=batches)
@settings(max_examples=200, deadline=None)
def test_following_changes_gives_what_sorting_anew_gives(text: str, sort: list[Sort], batches: Any) -> None:
    store = Store()
    cursor = store.cursor("job")
    view, anew = View("job", text, sort), View("job", text, sort)
    view.rebuild(store)
    for upserts, removals in batches:
        store.apply("a", Delta(tuple(upserts), tuple(Ref("a", "job", id) for id in removals)))
        before = list(view.refs)
        told = view.update(store, cursor.take())
        anew.rebuild(store)
        assert view.refs == anew.refs and view.total == anew.total
        assert told == (view.refs != before)


@given(
    text=texts,
    others=st.lists(texts, min_size=1, max_size=4),
    sort=sorts,
    batches=batches,
    many=st.sampled_from([0, 2, 2000]),
)
@settings(max_examples=150, deadline=None)
def test_filters_set_one_after_the_other_give_what_sorting_anew_gives(
    text: str, others: list[str], sort: list[Sort], batches: Any, many: int
) -> None:
    """Aside, with changes before and while it is worked out; `many` is how much is taken over at once."""
    store = Store()
    cursor, view = store.cursor("job"), View("job", text, sort)

    def change(batch: Any) -> None:
        store.apply("a", Delta(tuple(batch[0]), tuple(Ref("a", "job", id) for id in batch[1])))

    async def filter_by(other: str, before: Any, meanwhile: Any) -> None:
        change(before)
        view.set_filter(other)
        aside = asyncio.create_task(view.rebuild_aside(store, cursor))
        await asyncio.sleep(0)
        change(meanwhile)
        await aside
        while len(cursor):  # what was too much to be taken over at once
            await view.rebuild_aside(store, cursor)

    async def all_of_it() -> None:
        for number, other in enumerate(others):
            before, meanwhile = (*batches, *[((), ())] * 8)[2 * number : 2 * number + 2]
            await filter_by(other, before, meanwhile)
            anew = View("job", other, sort)
            anew.rebuild(store)
            assert view.refs == anew.refs and view.total == anew.total

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("console.view.MANY", many)
        asyncio.run(all_of_it())


def test_a_change_elsewhere_in_the_row_moves_nothing() -> None:
    store = store_of(*ROWS)
    cursor, view = store.cursor("job"), View("job", sort=(Sort("owner"),))
    view.rebuild(store)
    refs = view.refs
    store.apply("a", Delta((ROWS[0]._replace(reason="x"),)))
    assert view.update(store, cursor.take()) is False and view.refs is refs


async def test_sorting_aside_takes_over_what_happens_meanwhile() -> None:
    store = Store()
    store.apply("a", Delta(tuple(Job(str(number), owner=f"u{number % 7}", cluster="a") for number in range(20_000))))
    view, cursor = View("job", sort=(Sort("owner"),)), store.cursor("job")
    aside = asyncio.create_task(view.rebuild_aside(store, cursor))
    await asyncio.sleep(0)
    store.apply(
        "a", Delta((Job("5", owner="a", cluster="a"), Job("x", owner="z", cluster="a")), (Ref("a", "job", "6"),))
    )
    await aside
    anew = View("job", sort=(Sort("owner"),))
    anew.rebuild(store)
    assert view.refs == anew.refs and view.total == anew.total == 20_000


async def test_a_filter_set_meanwhile_has_the_last_word() -> None:
    store = store_of(*ROWS)
    view, cursor = View("job"), store.cursor("job")
    aside = asyncio.create_task(view.rebuild_aside(store, cursor))
    await asyncio.sleep(0)
    view.set_filter("bob")
    view.rebuild(store)
    await aside
    assert ids(view) == ["9"]
