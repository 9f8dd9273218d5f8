"""The watch where a server has no events for us: everything is read again from time to time."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Protocol

from adapters.base import Interest, InterestCell, WatchItem
from adapters.model import Job, Metrics, Node, Queue, Row
from adapters.polling import CallMeter, Fetched, Poller, PollSource

JOBS_EVERY = 5.0
REST_EVERY = 10.0
CALLS_PER_MINUTE = 120.0
"""The native server answers from its own tables, so a poll is cheap; the cap only stops a runaway."""


class Source(Protocol):
    """What is polled."""

    async def jobs_of(self, owner: str | None) -> Sequence[Job]: ...
    async def list_queues(self) -> Sequence[Queue]: ...
    async def list_nodes(self) -> Sequence[Node]: ...
    async def metrics(self) -> Metrics: ...
    async def owner_of(self, interest: Interest) -> str | None: ...


def polled(
    source: Source,
    cell: InterestCell,
    note: str,
    *,
    floor: float,
    clock: Callable[[], float],
    sleep: Callable[[float], Awaitable[None]],
) -> AsyncGenerator[WatchItem, None]:
    """Snapshots and differences, for ever. `note` says why it is not live."""

    async def jobs(interest: Interest) -> Fetched:
        return fetched(await source.jobs_of(await source.owner_of(interest)))

    async def queues(interest: Interest) -> Fetched:
        return fetched(await source.list_queues())

    async def nodes(interest: Interest) -> Fetched:
        return fetched(await source.list_nodes())

    async def metrics(interest: Interest) -> Fetched:
        return fetched([await source.metrics()])

    def fetched(rows: Sequence[Row]) -> Fetched:
        return Fetched(rows, note=note)

    sources = [
        PollSource(frozenset({"job"}), jobs, JOBS_EVERY, by_interest=True),
        PollSource(frozenset({"queue"}), queues, REST_EVERY),
        PollSource(frozenset({"node"}), nodes, REST_EVERY, calls=2),
        PollSource(frozenset({"metrics"}), metrics, REST_EVERY, calls=4),
    ]
    meter = CallMeter(CALLS_PER_MINUTE, clock)
    return Poller(sources, floor=floor, meter=meter, clock=clock, sleep=sleep).run(cell)
