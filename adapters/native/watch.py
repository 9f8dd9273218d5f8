"""Live data of a native cluster: a full list and then the server's events, without a gap between the two.

The stream is opened before the list is asked for, and what it brings meanwhile waits. So nothing that changes during
the list is lost; what the list knew already is the same row again and is not told twice.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from datetime import datetime, timedelta
from typing import Protocol

from adapters.base import (
    AdapterError,
    FeedLabel,
    Forbidden,
    Interest,
    InterestCell,
    NotFound,
    SourceState,
    Unsupported,
    WatchItem,
)
from adapters.events import Event, EventStream
from adapters.model import Delta, Job, Kind, Node, Queue, Row
from adapters.native.answers import RawRow
from adapters.native.follower import Follower
from adapters.native.mirror import EVENT_OF_KIND, Change, Mirror

READ_ORDER: tuple[Kind, ...] = ("queue", "node", "job")
TOTALS: frozenset[Kind] = frozenset({"metrics"})
FIRST_RETRY = 1.0
LONGEST_RETRY = 30.0
FAILURES_TO_FAILED = 3


class Source(Protocol):
    """What the watch reads from."""

    cluster: str

    def job_pages(self, owner: str | None) -> AsyncGenerator[list[Job], None]: ...
    async def list_queues(self) -> Sequence[Queue]: ...
    async def nodes_and_services(self) -> tuple[Sequence[Node], Sequence[RawRow]]: ...
    async def owner_of(self, interest: Interest) -> str | None: ...
    def stream(self, kinds: Sequence[str]) -> EventStream: ...


def needed(interest: Interest) -> frozenset[Kind]:
    """The kinds that must be read for an interest: totals are made of all three."""
    if "metrics" in interest.kinds:
        return frozenset(EVENT_OF_KIND)
    return interest.kinds & frozenset(EVENT_OF_KIND)


class EventWatch:
    """One run of the watch over events: what is held, how it is read, and how failures are told.

    Args:
        now: the clock of what is yielded.
        jitter: 0.0 to 1.0, spreads the retries of a list.
    """

    def __init__(
        self, source: Source, cell: InterestCell, now: Callable[[], datetime], jitter: Callable[[], float]
    ) -> None:
        self.cell = cell
        self._source = source
        self._now = now
        self._jitter = jitter
        self._mirror = Mirror(source.cluster)
        self._owner: str | None = None
        self._loaded: frozenset[Kind] = frozenset()
        self._denied: dict[Kind, SourceState] = {}
        self._failures = 0

    async def run(self) -> AsyncGenerator[WatchItem, None]:
        """For ever. Raises NoEventsError where the server has no events for us."""
        interest = self.cell.current
        while True:
            kinds = needed(interest)
            if not kinds:
                interest = await self.cell.changed()
                continue
            follower = Follower(self, interest, kinds)
            try:
                async with aclosing(follower.run()) as items:
                    async for item in items:
                        yield item
            finally:
                await follower.close()
            interest = self.cell.current
            self._mirror.forget(kinds - needed(interest))
            self._loaded &= needed(interest)

    def open_stream(self, kinds: frozenset[Kind]) -> EventStream:
        return self._source.stream(sorted(EVENT_OF_KIND[kind] for kind in kinds))

    async def snapshot(
        self, interest: Interest, kinds: frozenset[Kind], position: str | None
    ) -> AsyncGenerator[WatchItem, None]:
        """Read everything of `kinds`, one snapshot a kind: what is few first, then jobs page by page.

        A kind that is not for us, or that this server has not, is a state of its own and keeps nobody from the rest.
        Raises AdapterError for what is wrong with all of it.
        """
        self._owner = await self._source.owner_of(interest)
        self._denied = {}
        for kind in (each for each in READ_ORDER if each in kinds):
            try:
                async with aclosing(self._snapshot_of(kind, position)) as pieces:
                    async for piece in pieces:
                        yield piece
            except (Forbidden, NotFound, Unsupported) as error:
                self._denied[kind] = SourceState("failed", frozenset({kind}), error=error)
        if "metrics" in interest.kinds:
            totals = self._mirror.metrics(self._now(), kinds)
            yield self._piece((totals,), TOTALS, position, more=False)
        self._loaded |= kinds - self._denied.keys()
        self._failures = 0

    async def _snapshot_of(self, kind: Kind, position: str | None) -> AsyncGenerator[Delta, None]:
        reset = frozenset({kind})
        self._mirror.begin(kind)
        async with aclosing(self._pages_of(kind)) as pages:
            async for page in pages:
                self._mirror.add(page)
                yield self._piece(page, reset, position, more=True)
                reset = frozenset()
        self._mirror.end()
        yield self._piece((), reset, position, more=False)

    def _piece(self, rows: Sequence[Row], reset: frozenset[Kind], position: str | None, *, more: bool) -> Delta:
        return Delta(tuple(rows), reset=reset, more=more, snapshot=True, position=position, at=self._now())

    async def _pages_of(self, kind: Kind) -> AsyncGenerator[Sequence[Row], None]:
        if kind == "queue":
            yield await self._source.list_queues()
        elif kind == "node":
            nodes, services = await self._source.nodes_and_services()
            self._mirror.note_services(services)
            yield nodes
        else:
            async with aclosing(self._source.job_pages(self._owner)) as pages:
                async for page in pages:
                    yield page

    def batch(self, events: Sequence[Event], interest: Interest, kinds: frozenset[Kind]) -> Delta | None:
        """What these events change. Raises ProtocolError for one that cannot be read."""
        read = [self._mirror.read(event) for event in events]
        changes = [change for change in read if change is not None and self._concerns(change, kinds)]
        return self._mirror.apply(changes, events[-1].id, self._now(), totals="metrics" in interest.kinds)

    def _concerns(self, change: Change, kinds: frozenset[Kind]) -> bool:
        if change.kind not in kinds:
            return False
        return self._owner is None or not isinstance(change.row, Job) or change.row.owner == self._owner

    def starting(self, kinds: frozenset[Kind]) -> list[SourceState]:
        """Connecting, for the kinds of which there is nothing to show yet."""
        missing = kinds - self._loaded
        return [SourceState("connecting", missing | TOTALS)] if missing else []

    def live(self, kinds: frozenset[Kind]) -> list[SourceState]:
        """Live, but for the kinds that could not be read."""
        shown: frozenset[Kind] = (kinds | TOTALS) - self._denied.keys()
        return [SourceState("live", shown, at=self._now()), *self._denied.values()]

    def trouble(self, error: AdapterError, kinds: frozenset[Kind], failures: int, retry_in: float) -> SourceState:
        """The state after a failure: stale while there is something to show and it has not lasted, then failed."""
        label: FeedLabel = "stale" if kinds <= self._loaded and failures < FAILURES_TO_FAILED else "failed"
        retry_at = self._now() + timedelta(seconds=retry_in)
        return SourceState(label, kinds | TOTALS, error=error, retry_at=retry_at)

    def list_failed(self, error: AdapterError, kinds: frozenset[Kind]) -> tuple[SourceState, float]:
        """The state after a list that failed, and the seconds until the next try."""
        self._failures += 1
        pause = self.pause(self._failures)
        return self.trouble(error, kinds, self._failures, pause), pause

    def pause(self, failures: int) -> float:
        """Seconds until a list is tried again."""
        return min(FIRST_RETRY * 2.0 ** min(failures - 1, 16), LONGEST_RETRY) * (0.5 + 0.5 * self._jitter())
