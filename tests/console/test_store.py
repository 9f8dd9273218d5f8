"""The store: what it holds is what the watch said, whatever the pieces and their order."""

from __future__ import annotations

import gc
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from adapters.base import SourceState, Unreachable
from adapters.model import Delta, Job, Metrics, Node, Queue, Ref
from console.feed import pieces
from console.store import KINDS, Store

T0 = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = T0

    def __call__(self) -> datetime:
        return self.now


def job(id: str, status: Any = "running", born: int = 0, cluster: str = "a") -> Job:
    return Job(id, f"job {id}", status, submission_time=T0 + timedelta(seconds=born), cluster=cluster)


def snapshot(*rows: Any, kinds: tuple[Any, ...] = ("job",)) -> Delta:
    return Delta(rows, reset=frozenset(kinds), snapshot=True)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> Store:
    return Store(clock)


def test_a_row_is_found_by_its_ref_and_by_its_id(store: Store) -> None:
    store.apply("a", snapshot(job("1")))
    assert store.row(job("1").ref) == job("1")
    assert store.row(Ref("a", "job", "1")) == job("1")
    assert store.row(job("1", born=9).ref) is None
    assert store.row(Ref("b", "job", "1")) is None
    assert store.find("a", "job", "1") == job("1").ref and store.find("a", "job", "2") is None


def test_an_equal_row_keeps_its_identity(store: Store) -> None:
    first = job("1")
    store.apply("a", snapshot(first))
    cursor = store.cursor("job")
    store.apply("a", snapshot(job("1")))
    assert store.row(first.ref) is first
    assert not cursor.take()


def test_a_snapshot_sweeps_what_it_did_not_bring(store: Store) -> None:
    store.apply("a", snapshot(job("1"), job("2"), Queue("q", cluster="a"), kinds=("job", "queue")))
    store.apply("a", snapshot(job("2")))
    assert [row.id for row in store.rows("job")] == ["2"]
    assert store.count("queue") == 1, "a snapshot of jobs says nothing about queues"


def test_a_snapshot_in_pieces_never_shows_an_empty_table(store: Store) -> None:
    store.apply("a", snapshot(*(job(str(i)) for i in range(4))))
    store.apply("a", Delta((job("0"),), reset=frozenset({"job"}), snapshot=True, more=True))
    assert store.count("job") == 4
    store.apply("a", Delta((job("9"),)))  # a live batch between the pieces does not end the snapshot
    assert store.count("job") == 5
    store.apply("a", Delta((job("1"),), snapshot=True))
    assert sorted(row.id for row in store.rows("job")) == ["0", "1", "9"]


def test_a_row_removed_during_a_snapshot_stays_removed(store: Store) -> None:
    store.apply("a", Delta((job("1"), job("2")), reset=frozenset({"job"}), snapshot=True, more=True))
    store.apply("a", Delta(removals=(Ref("a", "job", "1"),)))
    store.apply("a", Delta((), snapshot=True))
    assert [row.id for row in store.rows("job")] == ["2"]


def test_a_snapshot_begun_anew_forgets_the_pieces_of_before(store: Store) -> None:
    store.apply("a", Delta((job("1"),), reset=frozenset({"job"}), snapshot=True, more=True))
    store.apply("a", snapshot(job("2")))
    assert [row.id for row in store.rows("job")] == ["2"]


def test_an_empty_snapshot_is_loaded_and_empty(store: Store) -> None:
    assert store.state("a", "job").label == "never loaded"
    store.apply("a", snapshot())
    assert store.state("a", "job").loaded and store.count("job") == 0
    assert not store.state("a", "node").loaded


def test_an_id_that_is_used_again_is_another_row(store: Store) -> None:
    cursor = store.cursor("job")
    store.apply("a", snapshot(job("1", "succeeded")))
    cursor.take()
    store.apply("a", Delta((job("1", "pending", born=60),)))
    changes = cursor.take()
    assert changes.gone == {job("1").ref} and changes.added == {job("1", born=60).ref}
    assert store.count("job") == 1
    store.apply("a", Delta(removals=(job("1").ref,)))
    assert store.count("job") == 1, "a removal of the old one does not hit the new one"
    stone = store.tombstone(job("1").ref)
    assert stone is not None and stone.row == job("1", "succeeded")


def test_tombstones_last_some_minutes(store: Store, clock: Clock) -> None:
    store.apply("a", snapshot(job("1")))
    store.apply("a", Delta(removals=(Ref("a", "job", "1"),)))
    assert store.row(job("1").ref) is None
    stone = store.tombstone(job("1").ref)
    assert stone is not None and stone.at == T0
    clock.now += timedelta(minutes=10)
    assert store.tombstone(job("1").ref) is None
    store.apply("a", Delta())
    assert len(store._gone) == 0


def test_tombstones_are_bounded(clock: Clock) -> None:
    store = Store(clock)
    store.apply("a", snapshot(*(job(str(i)) for i in range(6000))))
    store.apply("a", snapshot())
    assert len(store._gone) == 5000


def test_a_row_that_is_back_has_no_tombstone(store: Store) -> None:
    store.apply("a", snapshot(job("1")))
    store.apply("a", snapshot())
    store.apply("a", snapshot(job("1")))
    assert store.tombstone(job("1").ref) is None


def test_a_cursor_sees_each_change_once(store: Store) -> None:
    store.apply("a", snapshot(job("1"), job("2")))
    early, late = store.cursor("job"), store.cursor("job")
    store.apply("a", Delta((job("1", "failed"), Node("n", cluster="a"))))
    changes = early.take()
    assert changes.changed == {job("1").ref} and not changes.membership
    assert changes.before == {job("1").ref: job("1")}
    assert not early.take()
    store.apply("a", Delta((job("3"),), (Ref("a", "job", "2"),)))
    changes = late.take()
    assert changes.changed == {job("1").ref, job("3").ref} and changes.membership
    assert changes.added == {job("3").ref} and changes.gone == {job("2").ref}
    assert changes.before == {job("1").ref: job("1"), job("2").ref: job("2")}


def test_a_cursor_keeps_the_row_of_its_last_look(store: Store) -> None:
    store.apply("a", snapshot(job("1", "pending")))
    cursor = store.cursor("job")
    store.apply("a", Delta((job("1", "running"),)))
    store.apply("a", Delta((job("1", "failed"),)))
    assert cursor.take().before == {job("1").ref: job("1", "pending")}


def test_what_came_and_went_between_two_looks_is_nothing(store: Store) -> None:
    cursor = store.cursor("job")
    store.apply("a", Delta((job("1"),)))
    store.apply("a", Delta(removals=(Ref("a", "job", "1"),)))
    changes = cursor.take()
    assert not changes.changed and not changes.added and not changes.gone


def test_a_forgotten_cursor_costs_nothing(store: Store) -> None:
    cursor = store.cursor("job")
    assert len(store._cursors) == 1
    del cursor
    gc.collect()
    assert len(store._cursors) == 0


def test_revisions_grow_with_row_and_mark(store: Store) -> None:
    store.apply("a", snapshot(job("1")))
    ref = job("1").ref
    assert store.revision_of(ref) == 0
    store.apply("a", Delta((job("1", "failed"),)))
    store.mark(ref, "cancel sent")
    assert store.revision_of(ref) == 2
    before = store.revision
    store.unmark(ref)
    assert store.revision_of(ref) == 3 and store.revision > before


def test_a_mark_goes_with_the_row_or_once_the_row_says_so(store: Store) -> None:
    store.apply("a", snapshot(job("1"), job("2"), job("3")))
    cursor = store.cursor("job")
    for id in "123":
        store.mark(Ref("a", "job", id), "cancel sent", lambda row: row is not None and row.status == "cancelled")  # type: ignore[union-attr]
    assert store.marked(job("1").ref) == "cancel sent"
    assert cursor.take().changed == {job(id).ref for id in "123"}
    store.apply("a", Delta((job("1", "cancelled"), job("2", "pending")), (Ref("a", "job", "3"),)))
    assert [store.marked(Ref("a", "job", id)) for id in "123"] == [None, "cancel sent", None]
    assert list(store.marks().values()) == ["cancel sent"]


def test_a_mark_that_already_holds_is_not_set(store: Store) -> None:
    store.apply("a", snapshot(job("1", "cancelled")))
    store.mark(job("1").ref, "cancel sent", lambda row: row is not None and row.finished)  # type: ignore[union-attr]
    assert store.marked(job("1").ref) is None


def test_the_state_of_a_source(store: Store, clock: Clock) -> None:
    store.note("a", SourceState("connecting"))
    assert {store.state("a", kind).label for kind in KINDS} == {"connecting"}
    assert store.state("a", "job").at is None
    store.apply("a", snapshot(job("1")))
    store.note("a", SourceState("polling", frozenset({"job"}), interval=10.0, calls_per_minute=3.0))
    clock.now += timedelta(seconds=7)
    state = store.state("a", "job")
    assert (state.label, state.interval, state.calls_per_minute) == ("polling", 10.0, 3.0)
    assert state.at is not None and store.now() - state.at == timedelta(seconds=7)
    assert store.state("a", "node").label == "connecting"


def test_a_source_that_fails_keeps_its_rows_and_their_age(store: Store, clock: Clock) -> None:
    store.apply("a", snapshot(job("1")))
    clock.now += timedelta(seconds=30)
    error = Unreachable("no route")
    store.note("a", SourceState("stale", error=error, note="trying again"))
    state = store.state("a", "job")
    assert (state.label, state.error, state.note, state.at, state.loaded) == ("stale", error, "trying again", T0, True)
    assert store.count("job") == 1
    store.note("a", SourceState("live"))
    assert store.state("a", "job").error is None and store.state("a", "job").at == clock.now


def test_clusters_do_not_mix(store: Store) -> None:
    store.apply("a", snapshot(job("1")))
    store.apply("b", snapshot(job("1", "failed", cluster="b")))
    assert store.count("job") == 2 and store.count("job", ["b"]) == 1
    assert store.clusters() == ["a", "b"]
    store.apply("a", snapshot())
    assert [row.cluster for row in store.rows("job")] == ["b"]
    cursor = store.cursor("job")
    store.forget("b")
    assert store.count("job") == 0 and store.clusters() == ["a"] and cursor.take().membership


def test_metrics_are_one_row(store: Store) -> None:
    store.apply("a", snapshot(Metrics(jobs={"running": 1}, cluster="a"), kinds=("metrics",)))
    store.apply("a", Delta((Metrics(jobs={"running": 2}, cluster="a"),)))
    (row,) = store.rows("metrics")
    assert row.jobs == {"running": 2}  # type: ignore[union-attr]


@given(
    ids=st.lists(st.integers(0, 60), max_size=50),
    removed=st.lists(st.integers(0, 60), max_size=10),
    size=st.integers(1, 20),
    reset=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_a_batch_in_pieces_does_the_same(ids: list[int], removed: list[int], size: int, reset: bool) -> None:
    whole, cut = Store(Clock()), Store(Clock())
    delta = Delta(
        tuple(job(str(i)) for i in ids),
        tuple(Ref("a", "job", str(i)) for i in removed),
        reset=frozenset({"job"}) if reset else frozenset(),
        snapshot=reset,
    )
    for store in (whole, cut):
        store.apply("a", snapshot(*(job(str(i)) for i in range(30, 40))))
    whole.apply("a", delta)
    parts = list(pieces(delta, size))
    assert all(len(part.upserts) <= size for part in parts)
    for part in parts:
        cut.apply("a", part)
    assert dict(whole.items("job")) == dict(cut.items("job"))
    assert whole.state("a", "job") == cut.state("a", "job")


IDS = st.sampled_from([str(number) for number in range(8)])
BORN = st.integers(0, 2)
STATUS = st.sampled_from(["pending", "running", "failed"])
JOBS = st.lists(st.builds(job, IDS, STATUS, BORN), max_size=6, unique_by=lambda row: row.id)


class StoreMachine(RuleBasedStateMachine):
    """The store against a plain dict; a cursor's changes replayed onto a copy must give the store."""

    def __init__(self) -> None:
        super().__init__()
        self.store = Store(Clock())
        self.truth: dict[str, Job] = {}
        self.cursor = self.store.cursor("job")
        self.copy: dict[Ref, Job] = {}
        self.seen: set[str] | None = None

    @rule(rows=JOBS)
    def upserts(self, rows: list[Job]) -> None:
        self.store.apply("a", Delta(tuple(rows)))
        self.truth.update({row.id: row for row in rows})
        if self.seen is not None:
            self.seen.update(row.id for row in rows)

    @rule(rows=JOBS, more=st.booleans())
    def snapshots(self, rows: list[Job], more: bool) -> None:
        self.store.apply("a", Delta(tuple(rows), reset=frozenset({"job"}), snapshot=True, more=more))
        self.truth.update({row.id: row for row in rows})
        self.seen = {row.id for row in rows}
        if not more:
            self._sweep()

    @rule(rows=JOBS, more=st.booleans())
    def goes_on(self, rows: list[Job], more: bool) -> None:
        self.store.apply("a", Delta(tuple(rows), snapshot=True, more=more))
        self.truth.update({row.id: row for row in rows})
        if self.seen is not None:
            self.seen.update(row.id for row in rows)
            if not more:
                self._sweep()

    def _sweep(self) -> None:
        assert self.seen is not None
        self.truth = {id: row for id, row in self.truth.items() if id in self.seen}
        self.seen = None

    @rule(id=IDS, born=st.none() | BORN)
    def removes(self, id: str, born: int | None) -> None:
        ref = Ref("a", "job", id) if born is None else job(id, born=born).ref
        self.store.apply("a", Delta(removals=(ref,)))
        if id in self.truth and (born is None or self.truth[id].born == ref.born):
            del self.truth[id]

    @rule()
    def looks(self) -> None:
        changes = self.cursor.take()
        before = dict(self.copy)
        for ref in changes.gone:
            assert changes.before[ref] == self.copy.pop(ref)
        for ref in changes.changed:
            row = self.store.row(ref)
            assert isinstance(row, Job)
            if ref not in changes.added:
                assert changes.before[ref] == before[ref]
            self.copy[ref] = row
        assert self.copy == dict(self.store.items("job"))

    @invariant()
    def holds_the_truth(self) -> None:
        assert {row.id: row for row in self.store.rows("job")} == self.truth
        assert all(row.ref == ref for ref, row in self.store.items("job"))


StoreMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestStoreMachine = StoreMachine.TestCase
