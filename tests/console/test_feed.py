"""The feed: a failure is a state, whatever the watch does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import pytest

from adapters.base import InterestCell, SourceState, Unreachable, WatchItem
from adapters.model import Delta, Job
from console.feed import PIECE, Feed
from console.store import Store
from tests.console.waiting import until

Script = list[Any]


class ScriptedReader:
    """A double of a Reader: each watch yields its script; an exception in it is raised, and its end ends the watch."""

    cluster = "a"

    def __init__(self, *scripts: Script) -> None:
        self.scripts = list(scripts)
        self.watches = 0
        self.closed = 0

    async def watch(self, interest: InterestCell) -> AsyncIterator[WatchItem]:
        self.watches += 1
        script = self.scripts.pop(0) if self.scripts else [asyncio.Event()]
        try:
            for item in script:
                if isinstance(item, BaseException):
                    raise item
                if isinstance(item, asyncio.Event):
                    await item.wait()
                    continue
                yield item
        finally:
            self.closed += 1


def job(id: str) -> Job:
    return Job(id, cluster="a", status="running")


def snapshot(*ids: str) -> Delta:
    return Delta(tuple(job(id) for id in ids), reset=frozenset({"job"}), snapshot=True)


@pytest.fixture
async def run() -> AsyncIterator[Callable[..., tuple[Store, list[float]]]]:
    tasks: list[asyncio.Task[None]] = []

    def start(reader: ScriptedReader) -> tuple[Store, list[float]]:
        store, pauses = Store(), []

        async def sleep(seconds: float) -> None:
            pauses.append(seconds)
            await asyncio.sleep(0)

        feed = Feed(reader, InterestCell(), store, sleep=sleep)  # type: ignore[arg-type]
        tasks.append(asyncio.create_task(feed.run()))
        return store, pauses

    yield start
    for task in tasks:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_what_the_watch_says_is_in_the_store(run: Any) -> None:
    store, _ = run(ScriptedReader([SourceState("connecting"), snapshot("1"), SourceState("live"), asyncio.Event()]))
    await until(lambda: store.state("a", "job").label == "live")
    assert store.count("job") == 1


@pytest.mark.parametrize("failure", [Unreachable("no route"), ZeroDivisionError("a fault"), None])
async def test_a_watch_that_fails_or_ends_is_a_state_and_begun_anew(run: Any, failure: Any) -> None:
    reader = ScriptedReader([snapshot("1"), failure] if failure else [snapshot("1")], [asyncio.Event()])
    store, pauses = run(reader)
    await until(lambda: reader.watches == 2)
    state = store.state("a", "job")
    assert state.label == "stale" and state.error is not None and state.retry_at is not None
    assert store.count("job") == 1 and pauses == [1.0]
    assert reader.closed == 1


async def test_before_any_data_it_is_failed(run: Any) -> None:
    store, _ = run(ScriptedReader([Unreachable("no route")]))
    await until(lambda: store.state("a", "job").label == "failed")
    assert str(store.state("a", "job").error) == "no route" and not store.state("a", "job").loaded


async def test_the_pause_doubles_up_to_half_a_minute_and_data_resets_it(run: Any) -> None:
    reader = ScriptedReader(*([[Unreachable("x")]] * 7), [snapshot("1"), Unreachable("x")], [asyncio.Event()])
    _, pauses = run(reader)
    await until(lambda: reader.watches == 9)
    assert pauses == [1, 2, 4, 8, 16, 30, 30, 1]


async def test_a_big_batch_lets_others_work_in_between(run: Any) -> None:
    ids = [str(number) for number in range(3 * PIECE)]
    go = asyncio.Event()
    store, _ = run(ScriptedReader([go, snapshot(*ids), asyncio.Event()]))
    seen: set[int] = set()
    go.set()
    while store.count("job") < len(ids):
        seen.add(store.count("job"))
        await asyncio.sleep(0)
    assert PIECE in seen and 2 * PIECE in seen and store.state("a", "job").loaded


async def test_cancelling_closes_the_watch() -> None:
    reader = ScriptedReader([snapshot("1"), asyncio.Event()])
    store = Store()
    task = asyncio.create_task(Feed(reader, InterestCell(), store).run())  # type: ignore[arg-type]
    await until(lambda: store.count("job") == 1)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert reader.closed == 1
