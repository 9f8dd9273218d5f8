"""A recorded feed as a cluster to look at."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from adapters.base import (
    Capabilities,
    HistoryFilter,
    Identity,
    Interest,
    InterestCell,
    Invalid,
    JobFilter,
    LogChunk,
    NotFound,
    SourceState,
    Unsupported,
    WatchItem,
)
from adapters.intents import INTENTS, Target
from adapters.model import Delta, Job, Metrics, Node, Queue, Ref, Row
from adapters.replay.playback import Playback
from adapters.text import clean

PIECE = 2000
NO_WRITES = "This is a recording: nothing can be changed in it."


def utc_now() -> datetime:
    return datetime.now(UTC)


class ReplayReader:
    """Implements `adapters.base.Reader` over a recording.

    Args:
        file: made by `adapters.replay.record`.
        speed: how much faster than it was recorded; 0.0 stands still at `at`.
        at: seconds into the recording at which it begins.
        clock, sleep, now: time, injected by tests. With `now` giving the time of the recording, nothing is moved.
    """

    def __init__(
        self,
        cluster: str,
        file: Path,
        *,
        speed: float = 1.0,
        at: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self.cluster = cluster
        self._sleep = sleep
        self._now = now
        self._play = Playback(file, cluster, speed=speed, at=at, clock=clock, now=now)

    async def close(self) -> None:
        """Nothing is open."""

    # -- rows --------------------------------------------------------------------------------------------------------

    async def list_jobs(self, filter: JobFilter | None = None) -> Sequence[Job]:
        wanted = filter or JobFilter()
        if wanted.intent_id is not None:
            return []
        owner = self._me() if wanted.mine else wanted.owner
        return [job for job in self._play.jobs() if _matches(job, wanted, owner)][: wanted.limit]

    async def get_job(self, id: str) -> Job:
        job = next((job for job in self._play.jobs() if job.id == id), None)
        if job is None:
            raise NotFound(f"The recording has no job {clean(id, 100)} at this time.")
        return job

    async def list_queues(self) -> Sequence[Queue]:
        return [row for row in self._play.rows() if isinstance(row, Queue)]

    async def list_nodes(self) -> Sequence[Node]:
        return [row for row in self._play.rows() if isinstance(row, Node)]

    async def metrics(self) -> Metrics:
        """The totals that were recorded, else those of the rows."""
        rows = self._play.rows()
        recorded = next((row for row in rows if isinstance(row, Metrics)), None)
        return recorded or totals(rows, self.cluster, self._now())

    async def history(self, filter: HistoryFilter | None = None) -> Sequence[Job]:
        wanted = filter or HistoryFilter()
        owner = self._me() if wanted.mine else wanted.owner
        found = [
            job
            for job in self._play.jobs()
            if job.finished
            and (owner is None or job.owner == owner)
            and (wanted.queue is None or job.queue == wanted.queue)
            and (not wanted.ids or job.id in wanted.ids)
            and (wanted.since is None or (job.end_time is not None and job.end_time >= wanted.since))
            and (wanted.until is None or (job.end_time is not None and job.end_time <= wanted.until))
        ]
        return sorted(found, key=lambda job: str(job.end_time), reverse=True)[: wanted.limit]

    async def job_logs(
        self,
        id: str,
        stream: Literal["stdout", "stderr"] = "stdout",
        tail: int | None = None,
        since: int | None = None,
        follow: bool = False,
    ) -> AsyncGenerator[LogChunk, None]:
        if stream not in ("stdout", "stderr"):
            raise Invalid(f"A job has stdout and stderr, not {clean(stream, 40)}.")
        job = await self.get_job(id)
        data = self._play.log(id, stream)
        if data is None:
            raise Unsupported(f"The recording has no {stream} of job {clean(id, 100)}.")
        start = _start(data, tail, since)
        yield LogChunk(stream, data[start:], start, len(data), at_end=job.finished)
        sent = len(data)
        while follow and not job.finished:
            pause = self._play.until_next()
            if pause is None:
                return
            await self._sleep(max(pause, 0.05))
            job = await self.get_job(id)
            data = self._play.log(id, stream) or b""
            if len(data) > sent or job.finished:
                yield LogChunk(stream, data[sent:], sent, len(data), at_end=job.finished)
                sent = len(data)

    # -- who and what ------------------------------------------------------------------------------------------------

    async def whoami(self) -> Identity:
        recorded = self._play.header.identity
        return Identity(recorded.name, recorded.role, operator=False)

    def _me(self) -> str:
        return self._play.header.identity.name

    async def capabilities(self) -> Capabilities:
        header = self._play.header
        recorded = f"{header.recorded:%Y-%m-%d %H:%M} UTC"
        return replace(
            header.capabilities,
            backend=f"recording of {header.capabilities.backend}, {recorded}",
            supported=frozenset(),
            unsupported=dict.fromkeys(INTENTS, NO_WRITES),
            notes=(f"Recorded on {recorded} from {header.cluster}.",),
        )

    async def observe(self, refs: Sequence[Ref]) -> Mapping[Ref, Target | None]:
        rows = {(row.ref.kind, row.id): row for row in self._play.rows()}
        return {ref: _target(ref, rows.get((ref.kind, ref.id))) for ref in refs}

    async def find_intent(self, intent_id: str) -> Sequence[Ref]:
        return []

    # -- live --------------------------------------------------------------------------------------------------------

    async def watch(self, interest: InterestCell) -> AsyncGenerator[WatchItem, None]:
        """What the recording says, at its times."""
        yield SourceState("connecting")
        wanted: Interest | None = interest.current
        queue = self._play.follow()
        try:
            while True:
                if wanted is not None:
                    shown = wanted
                    items = await self._begin(shown)
                    queue.clear()  # what led to this snapshot
                    for item in items:
                        yield item
                more = self._play.advance(PIECE)
                while queue:
                    kept = self._of_interest(queue.popleft(), shown)
                    if kept is not None:
                        yield kept
                if more:
                    wanted = None
                    await asyncio.sleep(0)
                    continue
                if self._play.over:
                    yield self._ended()
                wanted = await self._wait(interest, self._play.until_next())
        finally:
            self._play.unfollow(queue)

    def _ended(self) -> SourceState:
        last = self._play.states()
        label = last[-1].label if last else "live"
        return SourceState(label, note="The recording has ended.", at=self._now())

    async def _wait(self, cell: InterestCell, pause: float | None) -> Interest | None:
        """Wait for the next line (None), or for another interest."""
        changed = asyncio.ensure_future(cell.changed())
        waits: list[asyncio.Future[object]] = [changed]  # type: ignore[list-item]
        if pause is not None:
            waits.append(asyncio.ensure_future(self._sleep(pause)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            return changed.result() if changed.done() else None
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    async def _begin(self, interest: Interest) -> list[WatchItem]:
        """Everything as it is now, as one snapshot, and the states that hold."""
        more = True
        while more:
            more = self._play.advance(PIECE)
            await asyncio.sleep(0)
        every = [row for row in self._play.rows() if _interests(row, interest, self._me())]
        pieces: list[WatchItem] = [
            Delta(
                tuple(every[start : start + PIECE]),
                reset=interest.kinds if start == 0 else frozenset(),
                more=start + PIECE < len(every),
                snapshot=True,
                at=self._now(),
            )
            for start in range(0, max(len(every), 1), PIECE)
        ]
        return pieces + (list(self._play.states()) or [SourceState("live", at=self._now())])

    def _of_interest(self, item: Delta | SourceState, interest: Interest) -> WatchItem | None:
        if isinstance(item, SourceState):
            return item
        upserts = tuple(row for row in item.upserts if _interests(row, interest, self._me()))
        removals = tuple(ref for ref in item.removals if ref.kind in interest.kinds)
        if not upserts and not removals and not item.snapshot:
            return None
        return replace(item, upserts=upserts, removals=removals, reset=item.reset & interest.kinds)


def _interests(row: Row, interest: Interest, me: str) -> bool:
    if row.ref.kind not in interest.kinds:
        return False
    return interest.owner == "all" or not isinstance(row, Job) or row.owner == me


def _matches(job: Job, wanted: JobFilter, owner: str | None) -> bool:
    return (
        (owner is None or job.owner == owner)
        and (wanted.queue is None or job.queue == wanted.queue)
        and (wanted.name is None or job.name == wanted.name)
        and (wanted.node is None or wanted.node in job.node_names)
        and (not wanted.statuses or job.status in wanted.statuses)
        and (not wanted.ids or job.id in wanted.ids or (job.array is not None and job.array.id in wanted.ids))
    )


def _start(data: bytes, tail: int | None, since: int | None) -> int:
    """Where the last `tail` lines, or what follows byte `since`, begin."""
    if since is not None:
        return min(since, len(data))
    if tail is None:
        return 0
    lines = data.splitlines(keepends=True)
    return len(data) - sum(map(len, lines[-tail:])) if tail else len(data)


def _target(ref: Ref, row: Row | None) -> Target | None:
    if row is None or (ref.born is not None and row.ref.born != ref.born):
        return None
    if isinstance(row, Job):
        return Target(row.ref, row.owner, row.status, row.name, finished=row.finished)
    if isinstance(row, Metrics):
        return None
    return Target(row.ref, None, row.status, row.name)


def totals(rows: Sequence[Row], cluster: str, at: datetime) -> Metrics:
    """Totals of the rows, for a recording that has none."""
    jobs: dict[str, int] = {}
    nodes: dict[str, int] = {}
    for row in rows:
        if isinstance(row, Job):
            jobs[row.status] = jobs.get(row.status, 0) + 1
        elif isinstance(row, Node):
            nodes[row.status] = nodes.get(row.status, 0) + 1
    queues = {r.name: (r.pending_jobs or 0, r.running_jobs or 0) for r in rows if isinstance(r, Queue)}
    return Metrics(jobs, nodes, queues, at=at, cluster=cluster)
