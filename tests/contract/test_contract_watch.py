"""The watching half of the contract, over every adapter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest

from adapters.base import Delta, Interest, InterestCell, Reader, SourceState, Unavailable, Unreachable
from adapters.model import Ref, Row
from tests.contract.harness import Harness

DEADLINE = 30.0


class Mirror:
    """Folds the batches of a watch, as the design says a batch means, and notes every breach of its rules."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], Row] = {}
        self.states: list[SourceState] = []
        self.loaded: set[str] = set()
        self.breaches: list[str] = []
        self._sweep: dict[str, set[str]] = {}

    def take(self, item: Delta | SourceState) -> None:
        if isinstance(item, SourceState):
            self.states.append(item)
            return
        if item.reset and not item.snapshot:
            self.breaches.append("a reset in a batch that is no snapshot")
        for kind in item.reset:
            self._sweep[kind] = set()
        self._remove(item.removals)
        for row in item.upserts:
            kind = row.ref.kind
            if kind not in self.loaded and kind not in self._sweep:
                self.breaches.append(f"a {kind} before the first snapshot of its kind")
            self.rows[kind, row.id] = row
            if kind in self._sweep:
                self._sweep[kind].add(row.id)
        if item.snapshot and not item.more:
            for kind, seen in self._sweep.items():
                self.rows = {key: row for key, row in self.rows.items() if key[0] != kind or key[1] in seen}
                self.loaded.add(kind)
            self._sweep.clear()

    def _remove(self, removals: tuple[Ref, ...]) -> None:
        for ref in removals:
            held = self.rows.get((ref.kind, ref.id))
            if held is not None and (ref.born is None or held.ref.born == ref.born):
                del self.rows[ref.kind, ref.id]

    def of(self, kind: str) -> dict[str, Row]:
        return {key[1]: row for key, row in self.rows.items() if key[0] == kind}


@asynccontextmanager
async def watching(reader: Reader, cell: InterestCell) -> AsyncIterator[Mirror]:
    mirror = Mirror()

    async def follow() -> None:
        async for item in reader.watch(cell):
            mirror.take(item)

    task = asyncio.create_task(follow())
    try:
        yield mirror
        if task.done():
            task.result()
            pytest.fail("the watch ended by itself")
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def fresh_rows(reader: Reader, deadline: float) -> dict[str, dict[str, Row]]:
    """What lists say now; a list may meet the same broken network as the watch and is then asked again."""
    while True:
        try:
            return {
                "job": {job.id: job for job in await reader.list_jobs()},
                "queue": {queue.id: queue for queue in await reader.list_queues()},
                "node": {node.id: node for node in await reader.list_nodes()},
            }
        except (Unavailable, Unreachable):
            assert asyncio.get_running_loop().time() < deadline
            await asyncio.sleep(0.05)


async def until_equal(mirror: Mirror, reader: Reader, cell: InterestCell, push: bool) -> None:
    """Wait until what is watched is what a fresh list says; names the first differences if it never is."""
    deadline = asyncio.get_running_loop().time() + DEADLINE
    while True:
        fresh = await fresh_rows(reader, deadline)
        wrong = [
            f"{kind} {id}: fresh {fresh[kind].get(id)} watched {mirror.of(kind).get(id)}"
            for kind in fresh
            for id in sorted(fresh[kind].keys() | mirror.of(kind).keys())
            if steady(fresh[kind].get(id)) != steady(mirror.of(kind).get(id))
        ]
        if not wrong and {"job", "queue", "node"} <= mirror.loaded:
            return
        if asyncio.get_running_loop().time() > deadline:
            pytest.fail("\n".join(["the watch does not agree with a fresh list:", *wrong[:3]]))
        if not push:  # where changes arrive by themselves, they must
            cell.refresh()
        await asyncio.sleep(0.1)


def steady(row: Row | None) -> object:
    """A row without what moves by itself from second to second (load, heartbeat)."""
    if row is None:
        return None
    return [
        (name, getattr(row, name))
        for name in row._fields
        if name not in {"heartbeat_time", "extensions", "memory_bytes_used"}
    ]


@pytest.mark.parametrize("seed", [1, 2])
async def test_the_watch_equals_a_fresh_list_after_changes_and_cuts(harness: Harness, seed: int) -> None:
    await harness.populate()
    random = Random(seed)
    push = (await harness.reader.capabilities()).push
    cell = InterestCell()
    async with watching(harness.reader, cell) as mirror:
        await until_equal(mirror, harness.reader, cell, push)
        for _ in range(4):
            for _ in range(random.randint(1, 4)):
                await harness.change(random)
            if random.random() < 0.7:
                await harness.cut(random)
            await harness.change(random)
            await until_equal(mirror, harness.reader, cell, push)
        assert mirror.breaches == []


async def test_a_watch_says_how_it_fares(harness: Harness) -> None:
    await harness.populate()
    cell = InterestCell()
    push = (await harness.reader.capabilities()).push
    async with watching(harness.reader, cell) as mirror:
        await until_equal(mirror, harness.reader, cell, push)
        deadline = asyncio.get_running_loop().time() + DEADLINE
        while not {state.label for state in mirror.states} & {"live", "polling"}:
            assert asyncio.get_running_loop().time() < deadline, mirror.states
            await asyncio.sleep(0.05)
        last = mirror.states[-1]
        assert last.label == ("live" if push else "polling")
        assert last.error is None and (push or last.interval)


async def test_the_interest_may_change_while_it_runs(harness: Harness) -> None:
    await harness.populate()
    cell = InterestCell(Interest(kinds=frozenset({"queue"})))
    push = (await harness.reader.capabilities()).push
    async with watching(harness.reader, cell) as mirror:
        deadline = asyncio.get_running_loop().time() + DEADLINE
        while "queue" not in mirror.loaded:
            assert asyncio.get_running_loop().time() < deadline
            await asyncio.sleep(0.05)
        cell.set(Interest())
        await until_equal(mirror, harness.reader, cell, push)
