"""Follows one stream of events for one interest: opens, lists, applies, and copes with losses and resets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Iterator, Sequence
from contextlib import aclosing
from typing import Any, Protocol, TypeVar

from adapters.base import (
    AdapterError,
    Forbidden,
    Interest,
    InterestCell,
    NotFound,
    ProtocolError,
    SourceState,
    Unreachable,
    Unsupported,
    WatchItem,
)
from adapters.events import Event, EventStream, Lost, Opened, StreamItem
from adapters.model import Delta, Kind

T = TypeVar("T")
MOST_AT_ONCE = 1000
BACKLOG = 10_000
PATIENCE = 3.0
"""Seconds after which a list is shown although the stream is not open yet."""


class NoEventsError(Exception):
    """The server has no events for us; the message says why. The watch goes on by polling."""


class Watch(Protocol):
    """What a follower works for (`adapters.native.watch.EventWatch`)."""

    cell: InterestCell

    def open_stream(self, kinds: frozenset[Kind]) -> EventStream: ...
    def snapshot(
        self, interest: Interest, kinds: frozenset[Kind], position: str | None
    ) -> AsyncGenerator[WatchItem, None]: ...
    def batch(self, events: Sequence[Event], interest: Interest, kinds: frozenset[Kind]) -> Delta | None: ...
    def starting(self, kinds: frozenset[Kind]) -> list[SourceState]: ...
    def live(self, kinds: frozenset[Kind]) -> list[SourceState]: ...
    def trouble(self, error: AdapterError, kinds: frozenset[Kind], failures: int, retry_in: float) -> SourceState: ...
    def list_failed(self, error: AdapterError, kinds: frozenset[Kind]) -> tuple[SourceState, float]: ...
    def pause(self, failures: int) -> float: ...


class Follower:
    """One stream, from its opening until the interest needs another one.

    A list is due first, after a reset, after a loss without a position to resume from, after an event that cannot be
    read, and when a person asks. Events that were received before the list is asked for are covered by it; those
    received later wait in the queue and are applied after it.
    """

    def __init__(self, watch: Watch, interest: Interest, kinds: frozenset[Kind]) -> None:
        self._watch = watch
        self._interest = interest
        self._kinds = kinds
        self._stream = watch.open_stream(kinds)
        self._queue: asyncio.Queue[StreamItem] = asyncio.Queue(BACKLOG)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._open = False
        self._was_open = False
        self._must_list = True
        self._list_at: float | None = None
        self._unreadable = 0
        self._loss: Lost | None = None

    async def close(self) -> None:
        """End the stream and everything that waits for it."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _pump(self) -> None:
        async with aclosing(self._stream.items()) as items:
            async for item in items:
                await self._queue.put(item)

    async def run(self) -> AsyncGenerator[WatchItem, None]:
        """Until the interest needs another stream. Raises NoEventsError."""
        pump = self._spawn(self._pump())
        changed = self._spawn(self._watch.cell.changed())
        got = self._spawn(self._queue.get())
        self._list_in(PATIENCE)
        for state in self._watch.starting(self._kinds):
            yield state
        while True:
            due = max(0.0, self._due())
            timeout = due if due < float("inf") else None
            await asyncio.wait({pump, changed, got}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if pump.done():
                pump.result()
            if changed.done():
                before, self._interest = self._interest, changed.result()
                if _needs_another(before, self._interest):
                    return
                if before == self._interest:  # nobody looks elsewhere: a person asks for fresh rows
                    self._must_list = True
                    self._list_in(0.0)
                changed = self._spawn(self._watch.cell.changed())
            if got.done():
                for taken in self._take([got.result(), *self._waiting()]):
                    yield taken
                got = self._spawn(self._queue.get())
            elif self._due() <= 0:
                async with aclosing(self._list()) as listed:
                    async for item in listed:
                        yield item

    def _waiting(self) -> Iterator[StreamItem]:
        """What is in the queue already."""
        for _ in range(MOST_AT_ONCE):
            if self._queue.empty():
                return
            yield self._queue.get_nowait()

    def _list_in(self, seconds: float) -> None:
        self._list_at = asyncio.get_running_loop().time() + seconds

    def _due(self) -> float:
        """Seconds until a list is due; infinite where none is."""
        if not self._must_list or self._list_at is None:
            return float("inf")
        return self._list_at - asyncio.get_running_loop().time()

    async def _list(self) -> AsyncGenerator[WatchItem, None]:
        """A full snapshot, and the state after it."""
        try:
            pieces = self._watch.snapshot(self._interest, self._kinds, self._stream.position)
            async with aclosing(pieces):
                async for piece in pieces:
                    yield piece
        except AdapterError as error:
            state, pause = self._watch.list_failed(error, self._kinds)
            self._list_in(pause)
            yield state
            return
        if self._open:
            self._must_list = False
            for state in self._watch.live(self._kinds):
                yield state
            return
        # Shown, but something may have changed unheard: it is listed again when the stream opens.
        self._list_at = None
        if self._loss is not None:
            yield self._watch.trouble(self._loss.error, self._kinds, 1, self._loss.retry_in)

    def _take(self, items: Sequence[StreamItem]) -> Iterator[WatchItem]:
        """Handle what the stream brought, events in runs."""
        run: list[Event] = []
        for item in items:
            if isinstance(item, Event) and item.kind != "reset":
                run.append(item)
                continue
            yield from self._apply(run)
            run = []
            if isinstance(item, Opened):
                yield from self._opened()
            elif isinstance(item, Lost):
                yield self._lost(item)
            else:
                self._must_list = True
                self._list_in(0.0)
        yield from self._apply(run)

    def _apply(self, run: Sequence[Event]) -> Iterator[WatchItem]:
        if not run or self._must_list:
            return
        try:
            delta = self._watch.batch(run, self._interest, self._kinds)
        except ProtocolError as error:
            self._unreadable += 1
            pause = self._watch.pause(self._unreadable)
            self._must_list = True
            self._list_in(pause)
            yield self._watch.trouble(error, self._kinds, self._unreadable, pause)
            return
        if delta is not None:
            yield delta

    def _opened(self) -> Iterator[WatchItem]:
        self._open = self._was_open = True
        self._loss = None
        if self._must_list:
            self._list_in(0.0)
        else:
            yield from self._watch.live(self._kinds)

    def _lost(self, loss: Lost) -> SourceState:
        if not self._was_open and isinstance(loss.error, Forbidden | NotFound | Unsupported):
            raise NoEventsError(loss.error.message)
        self._open = False
        self._loss = loss
        if self._stream.position is None:
            self._must_list = True
        # While the stream cannot be opened the rows are at least listed now and then.
        if self._must_list and not isinstance(loss.error, Unreachable):
            self._list_in(0.0)
        return self._watch.trouble(loss.error, self._kinds, loss.failures, loss.retry_in)


def _needs_another(before: Interest, after: Interest) -> bool:
    """Whether other rows are looked at; rows in detail need nothing, since events bring all that is known."""
    return (before.kinds, before.owner) != (after.kinds, after.owner)
