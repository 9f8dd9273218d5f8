"""Polling: snapshots to deltas, intervals, floors, caps and failures, on a clock that the tests hold."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import Delta, Interest, InterestCell, SourceState, Unavailable, WatchItem
from adapters.model import Job, Kind, Node, Row
from adapters.polling import CallMeter, Fetched, Poller, PollSource, diff


class Time:
    """A clock that jumps to the next sleeper when everybody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = 0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self._count += 1
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.now + seconds, self._count, future))
        await future

    async def advance(self) -> None:
        """Let everything run until it sleeps, then wake the earliest sleeper."""
        for _ in range(20):
            await asyncio.sleep(0)
        while self._sleepers:
            due, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                self.now = max(self.now, due)
                future.set_result(None)
                return


class Backend:
    """Rows to be fetched, what a fetch costs, and when it was called."""

    def __init__(self, time: Time, rows: list[Row], cost: float = 0.0) -> None:
        self.time, self.rows, self.cost = time, rows, cost
        self.calls: list[float] = []
        self.interests: list[Interest] = []
        self.errors = 0
        self.in_flight = 0

    async def fetch(self, interest: Interest) -> Fetched:
        assert self.in_flight == 0
        self.in_flight += 1
        self.calls.append(self.time.now)
        self.interests.append(interest)
        await asyncio.sleep(0)
        self.time.now += self.cost
        self.in_flight -= 1
        if self.errors:
            self.errors -= 1
            raise Unavailable("slurmctld does not answer")
        return Fetched(list(self.rows))


def source(backend: Backend, kind: Kind = "job", interval: float = 5.0, calls: int = 1, by: bool = False) -> PollSource:
    return PollSource(frozenset({kind}), backend.fetch, interval, calls, by)


def poller(time: Time, *sources: PollSource, floor: float = 0.0, limit: float | None = None) -> Poller:
    meter = CallMeter(limit, time)
    return Poller(sources, floor=floor, meter=meter, clock=time, sleep=time.sleep, jitter=lambda: 0.5)


async def take(items: AsyncIterator[WatchItem], time: Time, count: int) -> list[WatchItem]:
    """The next `count` items, with time passing as needed."""
    taken: list[WatchItem] = []
    while len(taken) < count:
        step = asyncio.ensure_future(anext(items))
        while not step.done():
            await time.advance()
        taken.append(step.result())
    return taken


async def test_a_snapshot_comes_first_then_only_what_changed() -> None:
    time = Time()
    backend = Backend(time, [Job("1", status="pending", cluster="c"), Job("2", cluster="c")])
    async with aclosing(poller(time, source(backend)).run(InterestCell())) as items:
        connecting, snapshot, state = await take(items, time, 3)
        assert isinstance(connecting, SourceState) and connecting.label == "connecting"
        assert isinstance(snapshot, Delta) and snapshot.snapshot and snapshot.reset == {"job"}
        assert [row.id for row in snapshot.upserts] == ["1", "2"]
        assert isinstance(state, SourceState) and (state.label, state.interval) == ("polling", 5.0)
        backend.rows = [Job("1", status="running", cluster="c")]
        (delta,) = await take(items, time, 1)
        assert isinstance(delta, Delta) and not delta.snapshot
        assert delta.upserts == (Job("1", status="running", cluster="c"),)
        assert [ref.id for ref in delta.removals] == ["2"]


async def test_an_unchanged_answer_is_a_state_and_no_delta() -> None:
    time = Time()
    backend = Backend(time, [Job("1", cluster="c")])
    async with aclosing(poller(time, source(backend)).run(InterestCell())) as items:
        await take(items, time, 3)
        again = await take(items, time, 3)
        assert all(isinstance(item, SourceState) and item.label == "polling" and item.at for item in again)


async def test_the_interval_follows_the_cost() -> None:
    time = Time()
    backend = Backend(time, [], cost=2.0)
    async with aclosing(poller(time, source(backend)).run(InterestCell())) as items:
        state = (await take(items, time, 3))[-1]
        assert isinstance(state, SourceState) and state.interval == 40.0
        await take(items, time, 1)
    assert backend.calls[1] - backend.calls[0] == 42.0


async def test_the_floor_of_the_site_binds_a_refresh_too() -> None:
    time = Time()
    backend = Backend(time, [])
    cell = InterestCell()
    async with aclosing(poller(time, source(backend, interval=60.0), floor=30.0).run(cell)) as items:
        await take(items, time, 3)
        cell.refresh()
        await take(items, time, 1)
    assert backend.calls[1] - backend.calls[0] == 30.0


async def test_a_refresh_without_a_floor_fetches_at_once() -> None:
    time = Time()
    backend = Backend(time, [])
    cell = InterestCell()
    async with aclosing(poller(time, source(backend, interval=60.0)).run(cell)) as items:
        await take(items, time, 3)
        cell.refresh()
        await take(items, time, 1)
    assert backend.calls[1] == backend.calls[0]


async def test_errors_keep_the_data_then_fail_and_back_off() -> None:
    time = Time()
    backend = Backend(time, [Job("1", cluster="c")])
    async with aclosing(poller(time, source(backend)).run(InterestCell())) as items:
        await take(items, time, 3)
        backend.errors = 4
        states = [cast(SourceState, item) for item in await take(items, time, 4)]
        assert [state.label for state in states] == ["stale", "stale", "failed", "failed"]
        assert all(state.error is not None and state.retry_at is not None for state in states)
        gaps = [b - a for a, b in zip(backend.calls[1:], backend.calls[2:], strict=False)]
        assert gaps == [10.0, 20.0, 40.0]
        (state,) = await take(items, time, 1)
        assert isinstance(state, SourceState) and state.label == "polling" and state.error is None


async def test_a_source_that_never_answered_is_failed_at_once() -> None:
    time = Time()
    backend = Backend(time, [])
    backend.errors = 1
    async with aclosing(poller(time, source(backend)).run(InterestCell())) as items:
        _, state = await take(items, time, 2)
        assert isinstance(state, SourceState) and state.label == "failed"
        snapshot, _ = await take(items, time, 2)
        assert isinstance(snapshot, Delta) and snapshot.snapshot


async def test_calls_a_minute_are_capped_over_all_sources() -> None:
    time = Time()
    jobs, nodes = Backend(time, []), Backend(time, [])
    watched = poller(time, source(jobs, interval=1.0), source(nodes, "node", interval=1.0, calls=2), limit=6)
    async with aclosing(watched.run(InterestCell())) as items:
        await take(items, time, 60)
    made = sorted([*jobs.calls, *nodes.calls, *nodes.calls])
    assert len(made) > 24
    for start in made:
        assert len([at for at in made if start <= at < start + 60.0]) <= 6


async def test_a_source_may_say_what_its_next_fetch_costs() -> None:
    time = Time()
    backend = Backend(time, [])
    costs = iter((3, 3, 1, 1, 1, 1))
    poll = PollSource(frozenset({"job"}), backend.fetch, 1.0, lambda interest: next(costs))
    async with aclosing(poller(time, poll, limit=3).run(InterestCell())) as items:
        await take(items, time, 3)
        (state,) = await take(items, time, 1)
    assert isinstance(state, SourceState) and state.calls_per_minute == 1.0
    assert backend.calls[1] - backend.calls[0] == 60.0


async def test_waiting_for_what_does_not_answer_is_no_cost() -> None:
    time = Time()
    calls: list[float] = []

    async def fetch(interest: Interest) -> Fetched:
        calls.append(time.now)
        time.now += 20.0
        return Fetched([], cost=0.1)

    async with aclosing(poller(time, PollSource(frozenset({"job"}), fetch, 5.0)).run(InterestCell())) as items:
        await take(items, time, 4)
    assert calls[1] - calls[0] == 25.0


async def test_a_backend_that_says_when_to_come_back_is_believed() -> None:
    time = Time()
    calls: list[float] = []

    async def fetch(interest: Interest) -> Fetched:
        calls.append(time.now)
        raise Unavailable("busy", details={"retry_after": 120})

    async with aclosing(poller(time, PollSource(frozenset({"job"}), fetch, 1.0)).run(InterestCell())) as items:
        await take(items, time, 3)
    assert calls[1] - calls[0] == 120.0


async def test_only_what_is_looked_at_is_fetched() -> None:
    time = Time()
    jobs, nodes = Backend(time, []), Backend(time, [Node("n1", cluster="c")])
    cell = InterestCell(Interest(kinds=frozenset({"job"})))
    async with aclosing(poller(time, source(jobs), source(nodes, "node")).run(cell)) as items:
        await take(items, time, 6)
        assert nodes.calls == []
        cell.set(Interest(kinds=frozenset({"node"})))
        taken = await take(items, time, 3)
        assert any(isinstance(item, Delta) and item.reset == {"node"} for item in taken)


async def test_looking_at_other_rows_asks_again_only_where_it_matters() -> None:
    time = Time()
    jobs, nodes = Backend(time, []), Backend(time, [])
    cell = InterestCell()
    watched = poller(time, source(jobs, interval=50, by=True), source(nodes, "node", interval=50))
    async with aclosing(watched.run(cell)) as items:
        await take(items, time, 6)
        cell.set(Interest(owner="mine"))
        await take(items, time, 1)
        assert (len(jobs.calls), len(nodes.calls)) == (2, 1)
        assert jobs.interests[-1].owner == "mine"


async def test_nothing_of_interest_waits_for_a_change() -> None:
    time = Time()
    jobs = Backend(time, [])
    cell = InterestCell(Interest(kinds=frozenset()))
    async with aclosing(poller(time, source(jobs)).run(cell)) as items:
        step = asyncio.ensure_future(anext(items))
        for _ in range(5):
            await time.advance()
        assert not step.done() and jobs.calls == []
        cell.set(Interest())
        item = await step
        assert isinstance(item, SourceState)


async def test_what_is_no_adapter_error_is_a_bug_and_shows() -> None:
    time = Time()

    async def broken(interest: Interest) -> Fetched:
        raise ZeroDivisionError

    async with aclosing(poller(time, PollSource(frozenset({"job"}), broken)).run(InterestCell())) as items:
        await take(items, time, 1)
        with pytest.raises(ZeroDivisionError):
            await take(items, time, 1)


def test_the_meter_forgets_after_a_minute() -> None:
    time = Time()
    meter = CallMeter(3, time)
    meter.record(2)
    time.now += 10
    meter.record()
    assert (meter.rate, meter.wait()) == (3.0, 50.0)
    assert meter.wait(3) == 60.0
    time.now += 50
    assert (meter.rate, meter.wait(2)) == (1.0, 0.0)
    assert CallMeter(None, time).wait(100) == 0.0


ROWS = st.dictionaries(
    st.sampled_from("123456"),
    st.builds(lambda state, born: (state, born), st.sampled_from(["pending", "running"]), st.sampled_from([1, 2])),
)


@given(ROWS, ROWS)
def test_a_diff_applied_to_the_old_rows_gives_the_new(before: dict[str, tuple], after: dict[str, tuple]) -> None:
    def rows(spec: dict[str, tuple]) -> dict[tuple[Kind, str], Row]:
        made = [Job(id, status=state, cluster="c", extensions={"uid": born}) for id, (state, born) in spec.items()]
        return {("job", job.id): job for job in made}

    old, new = rows(before), rows(after)
    upserts, removals = diff(old, new)
    held = dict(old)
    for row in upserts:
        held[row.ref.kind, row.id] = row
    for ref in removals:
        if (found := held.get((ref.kind, ref.id))) is not None and found.ref == ref:
            del held[ref.kind, ref.id]
    assert held == new
    assert all(old.get((row.ref.kind, row.id)) != row for row in upserts)
