"""Snapshots to deltas, for backends that do not tell of changes by themselves.

One fetch is in flight at a time. The interval adapts to what a fetch costs: 20 times its duration, and never below
the source's own or the site's floor. A `CallMeter` counts the calls of the last minute and may cap them; whoever else
calls the backend (a detail view, a write) records its calls in the same meter.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import random
from typing import Any

from adapters.base import AdapterError, FeedLabel, Interest, InterestCell, SourceState, WatchItem
from adapters.model import ROW_TYPES, Delta, Kind, Ref, Row

COST_FACTOR = 20.0
"""A fetch that takes d seconds is repeated after 20 d at the earliest, so that it uses at most 5 % of the time."""
LONGEST_INTERVAL = 600.0
LONGEST_BACKOFF = 300.0
FAILURES_TO_FAILED = 3
MANY_ROWS = 4000
"""From so many rows on they are compared in a thread: 100,000 would stop the console for a tenth of a second."""
COMMAND_CALLS_PER_MINUTE = 6.0
"""The default cap for backends whose every call is a command that loads a shared controller."""

_KIND_OF: dict[type, Kind] = {row_type: kind for kind, row_type in ROW_TYPES.items()}
_KINDS: dict[type[Row], Kind] = {row_type: kind for kind, row_type in ROW_TYPES.items()}
Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Fetched:
    """One complete answer: all rows of the source's kinds, and the backend's time where it tells it.

    `cost` is for how many seconds the backend was kept busy, where that is not how long the fetch took (it waited for
    something that does not answer).
    """

    rows: Sequence[Row]
    at: datetime | None = None
    note: str = ""
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class PollSource:
    """Something that is read again and again as a whole.

    Args:
        kinds: the kinds of rows it brings; no two sources bring the same kind.
        fetch: reads them all. Raises AdapterError.
        interval: seconds between two fetches, if nothing forbids it.
        calls: how many backend calls the next fetch makes, or how to find that out.
        by_interest: a change of whose jobs are looked at, or of the rows in detail, makes its last answer out of date.
    """

    kinds: frozenset[Kind]
    fetch: Callable[[Interest], Awaitable[Fetched]]
    interval: float = 5.0
    calls: int | Callable[[Interest], int] = 1
    by_interest: bool = False

    def cost(self, interest: Interest) -> int:
        """Backend calls of the next fetch."""
        return self.calls(interest) if callable(self.calls) else self.calls


class CallMeter:
    """Counts backend calls over a sliding minute. `limit` None does not cap."""

    def __init__(self, limit: float | None = COMMAND_CALLS_PER_MINUTE, clock: Clock = time.monotonic) -> None:
        self.limit = limit
        self._clock = clock
        self._calls: deque[float] = deque()

    def record(self, calls: int = 1) -> None:
        """Note that so many calls are made now."""
        self._calls.extend([self._clock()] * calls)

    @property
    def rate(self) -> float:
        """Calls of the last 60 seconds."""
        self._forget()
        return float(len(self._calls))

    def wait(self, calls: int = 1) -> float:
        """Seconds until `calls` more stay below the limit; 0.0 where they do now."""
        self._forget()
        if self.limit is None:
            return 0.0
        over = len(self._calls) + calls - int(self.limit)
        if over <= 0 or not self._calls:
            return 0.0
        oldest = self._calls[min(over, len(self._calls)) - 1]
        return max(0.0, oldest + 60.0 - self._clock())

    def _forget(self) -> None:
        horizon = self._clock() - 60.0
        while self._calls and self._calls[0] <= horizon:
            self._calls.popleft()


def diff(old: Mapping[tuple[Kind, str], Row], new: Mapping[tuple[Kind, str], Row]) -> tuple[list[Row], list[Ref]]:
    """Rows that are new or changed, and the names of those that are gone, also of one whose id another has now."""
    upserts = [row for key, row in new.items() if old.get(key) != row]
    removals = []
    for key, row in old.items():
        now = new.get(key)
        if now is row:
            continue
        if now is None or now.ref != row.ref:
            removals.append(row.ref)
    return upserts, removals


def _by_key(rows: Sequence[Row]) -> dict[tuple[Kind, str], Row]:
    return {(_KIND_OF[type(row)], row.id): row for row in rows}


def _compared(
    old: Mapping[tuple[Kind, str], Row], rows: Sequence[Row]
) -> tuple[dict[tuple[Kind, str], Row], list[Row], list[Ref]]:
    """The new rows by key, and what is different about them; for a thread, where there are many."""
    new = _by_key(rows)
    return new, *diff(old, new)


@dataclass(slots=True)
class _Track:
    """How one source fares."""

    source: PollSource
    rows: dict[tuple[Kind, str], Row] = field(default_factory=dict)
    loaded: bool = False
    due: float = 0.0
    last: float | None = None
    pause: float = 0.0
    failures: int = 0
    calls: int = 1


class Poller:
    """Polls sources in turn and yields snapshots, deltas and states.

    Args:
        sources: what to read.
        floor: the site's shortest interval, seconds; also binds a person's "refresh now".
        meter: counts and caps calls; shared with everything else that calls the same backend.
        clock, sleep, now, jitter: time and chance, injected by tests; `jitter` returns 0.0 to 1.0.
    """

    def __init__(
        self,
        sources: Sequence[PollSource],
        *,
        floor: float = 0.0,
        meter: CallMeter | None = None,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
        now: Callable[[], datetime] = utc_now,
        jitter: Callable[[], float] = random,
    ) -> None:
        self.meter = meter or CallMeter(clock=clock)
        self._floor = floor
        self._clock = clock
        self._sleep = sleep
        self._now = now
        self._jitter = jitter
        self._tracks = [_Track(source) for source in sources]

    async def run(self, cell: InterestCell) -> AsyncGenerator[WatchItem, None]:
        """Poll for ever. Ends only when cancelled; expected errors are states."""
        interest = cell.current
        while True:
            wanted = [track for track in self._tracks if track.source.kinds & interest.kinds]
            track = min(wanted, key=lambda t: t.due, default=None)
            delay = self._delay(track, interest) if track else None
            if track is None or delay:
                changed = await self._wait(cell, delay)
                if changed is not None:
                    self._hurry(interest, changed)
                    interest = changed
                continue
            if not track.loaded and not track.failures:
                yield self._state(track, "connecting")
            for item in await self._poll(track, interest):
                yield item

    def _delay(self, track: _Track, interest: Interest) -> float:
        return max(track.due - self._clock(), self.meter.wait(track.source.cost(interest)), 0.0)

    async def _wait(self, cell: InterestCell, seconds: float | None) -> Interest | None:
        """Wait until the time is over (None) or the interest changes or is refreshed."""
        change = asyncio.ensure_future(cell.changed())
        waits: set[asyncio.Future[Any]] = {change}
        if seconds is not None:
            waits.add(asyncio.ensure_future(self._sleep(seconds)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            return change.result() if change.done() else None
        finally:
            for wait in waits:
                wait.cancel()
                with suppress(asyncio.CancelledError):
                    await wait

    def _hurry(self, before: Interest, after: Interest) -> None:
        """A person looks elsewhere or asks for fresh data: what is wanted is due as soon as the floor allows."""
        moved = (before.owner, before.detail) != (after.owner, after.detail)
        for track in self._tracks:
            if before == after or not track.loaded or (moved and track.source.by_interest):
                earliest = 0.0 if track.last is None else track.last + self._floor
                track.due = min(track.due, earliest)

    async def _poll(self, track: _Track, interest: Interest) -> list[WatchItem]:
        track.calls = track.source.cost(interest)
        self.meter.record(track.calls)
        start = self._clock()
        try:
            fetched = await track.source.fetch(interest)
        except AdapterError as error:
            return [self._failed(track, error)]
        duration = self._clock() - start if fetched.cost is None else fetched.cost
        if len(fetched.rows) + len(track.rows) < MANY_ROWS:
            compared = _compared(track.rows, fetched.rows)
        else:
            compared = await asyncio.to_thread(_compared, track.rows, fetched.rows)
        return self._succeeded(track, fetched, duration, *compared)

    def _succeeded(
        self,
        track: _Track,
        fetched: Fetched,
        duration: float,
        rows: dict[tuple[Kind, str], Row],
        upserts: Sequence[Row],
        removals: Sequence[Ref],
    ) -> list[WatchItem]:
        track.pause = max(track.source.interval, self._floor, min(COST_FACTOR * duration, LONGEST_INTERVAL))
        track.last = self._clock()
        track.due = track.last + track.pause
        at = fetched.at or self._now()
        first, track.loaded, track.failures = not track.loaded, True, 0
        items: list[WatchItem] = []
        if first:
            items.append(Delta(upserts=tuple(rows.values()), reset=track.source.kinds, snapshot=True, at=at))
        else:
            if upserts or removals:
                items.append(Delta(upserts=tuple(upserts), removals=tuple(removals), at=at))
        track.rows = rows
        return [*items, self._state(track, "polling", note=fetched.note, at=at)]

    def _failed(self, track: _Track, error: AdapterError) -> SourceState:
        """Keep the last data; try again later and later, with jitter so that many consoles do not call together.

        A backend that says when to come back (`details["retry_after"]`, seconds) is taken at its word.
        """
        track.failures += 1
        base = max(track.source.interval, self._floor, 1.0)
        backoff = max(base, min(base * 2.0 ** min(track.failures, 16), LONGEST_BACKOFF))
        told = error.details.get("retry_after")
        track.pause = float(told) if told is not None else backoff * (0.75 + 0.5 * self._jitter())
        track.last = self._clock()
        track.due = track.last + track.pause
        lost = track.failures >= FAILURES_TO_FAILED or not track.loaded
        return self._state(track, "failed" if lost else "stale", error=error)

    def _state(
        self,
        track: _Track,
        label: FeedLabel,
        *,
        error: AdapterError | None = None,
        note: str = "",
        at: datetime | None = None,
    ) -> SourceState:
        rate = self.meter.rate
        retry = self._now() + timedelta(seconds=max(track.pause, self.meter.wait(track.calls))) if error else None
        interval = max(track.pause, self.meter.wait(track.calls)) if label == "polling" else None
        return SourceState(label, track.source.kinds, interval, error, retry, note, at, rate)
