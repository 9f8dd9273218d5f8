"""Live data of a native cluster: a full list and then the server's events, without a gap between the two.

The stream is opened before the list is asked for, and what it brings meanwhile waits. So nothing that changes during
the list is lost; what the list knew already is the same row again and is not told twice.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from adapters.base import AdapterError, FeedLabel, Interest, InterestCell, SourceState, WatchItem
from adapters.events import Event, EventStream
from adapters.model import Delta, Job, Kind, Node, Queue, Row
from adapters.native.answers import RawRow
from adapters.native.follower import Follower
from adapters.native.mirror import EVENT_OF_KIND, Change, Mirror

PIECE = 2000
FIRST_RETRY = 1.0
LONGEST_RETRY = 30.0
FAILURES_TO_FAILED = 3


class Source(Protocol):
    """What the watch reads from."""

    cluster: str

    async def jobs_of(self, owner: str | None) -> Sequence[Job]: ...
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
                async for item in follower.run():
                    yield item
            finally:
                await follower.close()
            interest = self.cell.current
            self._mirror.forget(kinds - needed(interest))
            self._loaded &= needed(interest)

    def open_stream(self, kinds: frozenset[Kind]) -> EventStream:
        return self._source.stream(sorted(EVENT_OF_KIND[kind] for kind in kinds))

    async def snapshot(self, interest: Interest, kinds: frozenset[Kind], position: str | None) -> list[Delta]:
        """Read everything of `kinds`, in pieces that are one snapshot. Raises AdapterError, then nothing is changed."""
        fresh: dict[Kind, Sequence[Row]] = {}
        services: Sequence[RawRow] = ()
        owner = await self._source.owner_of(interest)
        if "job" in kinds:
            fresh["job"] = await self._source.jobs_of(owner)
        if "queue" in kinds:
            fresh["queue"] = await self._source.list_queues()
        if "node" in kinds:
            fresh["node"], services = await self._source.nodes_and_services()
        self._owner = owner
        self._mirror.note_services(services)
        for kind, found in fresh.items():
            self._mirror.replace(kind, found)
        self._loaded |= kinds
        self._failures = 0
        every = [row for found in fresh.values() for row in found]
        if "metrics" in interest.kinds:
            every.append(self._mirror.metrics(self._now(), kinds))
            kinds |= {"metrics"}
        return self._pieces(every, kinds, position)

    def _pieces(self, every: Sequence[Row], kinds: frozenset[Kind], position: str | None) -> list[Delta]:
        at = self._now()
        return [
            Delta(
                tuple(every[start : start + PIECE]),
                reset=kinds if start == 0 else frozenset(),
                more=start + PIECE < len(every),
                snapshot=True,
                position=position,
                at=at,
            )
            for start in range(0, max(len(every), 1), PIECE)
        ]

    def batch(self, events: Sequence[Event], interest: Interest, kinds: frozenset[Kind]) -> Delta | None:
        """What these events change. Raises ProtocolError for one that cannot be read."""
        read = [self._mirror.read(event) for event in events]
        changes = [change for change in read if change is not None and self._concerns(change, kinds)]
        return self._mirror.apply(changes, events[-1].id, self._now(), totals="metrics" in interest.kinds)

    def _concerns(self, change: Change, kinds: frozenset[Kind]) -> bool:
        if change.kind not in kinds:
            return False
        return self._owner is None or not isinstance(change.row, Job) or change.row.owner == self._owner

    def live(self, kinds: frozenset[Kind]) -> SourceState:
        return SourceState("live", kinds | {"metrics"}, at=self._now())

    def trouble(self, error: AdapterError, kinds: frozenset[Kind], failures: int, retry_in: float) -> SourceState:
        """The state after a failure: stale while there is something to show and it has not lasted, then failed."""
        label: FeedLabel = "stale" if kinds <= self._loaded and failures < FAILURES_TO_FAILED else "failed"
        retry_at = self._now() + timedelta(seconds=retry_in)
        return SourceState(label, kinds | {"metrics"}, error=error, retry_at=retry_at)

    def list_failed(self, error: AdapterError, kinds: frozenset[Kind]) -> tuple[SourceState, float]:
        """The state after a list that failed, and the seconds until the next try."""
        self._failures += 1
        pause = self.pause(self._failures)
        return self.trouble(error, kinds, self._failures, pause), pause

    def pause(self, failures: int) -> float:
        """Seconds until a list is tried again."""
        return min(FIRST_RETRY * 2.0 ** min(failures - 1, 16), LONGEST_RETRY) * (0.5 + 0.5 * self._jitter())
