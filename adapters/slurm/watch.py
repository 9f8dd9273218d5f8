"""The live data of a Slurm cluster: two sources on the poller, nodes and jobs, at most six calls a minute.

Nodes and partitions come by one `sinfo`, quotas by `scontrol show reservation`; jobs by one `squeue`. On releases that
have it, `squeue --only-job-state` stands in between two full lists where a full list is dear. slurmrestd offers the
same; `Feed` knows only what both can do.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol

from adapters.base import Interest, InterestCell, WatchItem
from adapters.model import Job, Kind, Queue, Row, share
from adapters.polling import COST_FACTOR, CallMeter, Fetched, Poller, PollSource
from adapters.slurm import lists
from adapters.slurm.calls import SlurmCalls
from adapters.slurm.facts import Facts
from adapters.slurm.ids import parse_id
from adapters.slurm.lists import JobMemory
from adapters.slurm.nodes import NodeList, with_counts
from adapters.slurm.states import job_status
from adapters.slurm.table import Tokens, fields_of
from adapters.slurm.totals import totals
from adapters.text import clean

JOBS_EVERY = 15.0
NODES_EVERY = 60.0
"""Seconds: four calls a minute for jobs and two for nodes with reservations make the six of the default."""
OLDEST_LIST = 120.0
"""Seconds after which a full list is read although no state has changed: reasons and estimates have."""
TICK_FIELDS = ("JobArrayID", "State")
_OWN = "Own jobs only: the counts of partitions need everybody's."


class Source(Protocol):
    """What a feed reads. `counted`: the poller has told the meter of this call."""

    cluster: str

    async def nodes(self, *, counted: bool = True) -> NodeList: ...
    async def jobs(self, *, mine: bool) -> list[Job]: ...
    async def elements(self, arrays: Sequence[str]) -> list[Job]:
        """The elements of arrays, unfolded."""
        ...

    async def ticks(self) -> bool:
        """Whether `states` can be had."""
        ...

    async def states(self) -> Mapping[str, str]:
        """Raw state by `tick_key`, at next to no cost for the controller."""
        ...


class CommandSource:
    """A cluster by its commands."""

    def __init__(self, calls: SlurmCalls, facts: Facts, *, me: str | None = None) -> None:
        self.cluster = calls.options.cluster
        self._calls = calls
        self._facts = facts
        self._me = me
        self._memory = JobMemory(self.cluster)

    async def nodes(self, *, counted: bool = True) -> NodeList:
        reservations = await lists.read_reservations(self._calls, counted=counted)
        return await lists.read_nodes(self._calls, counted=counted, reservations=reservations)

    async def jobs(self, *, mine: bool) -> list[Job]:
        arguments = (("-u", self._me) if self._me else ("--me",)) if mine else ()
        return await lists.read_jobs(self._calls, *arguments, memory=self._memory, counted=True)

    async def elements(self, arrays: Sequence[str]) -> list[Job]:
        return await lists.read_jobs(self._calls, "-r", "-j", ",".join(arrays))

    async def ticks(self) -> bool:
        return (await self._facts.version()).has_job_state_only

    async def states(self) -> dict[str, str]:
        """The option takes no `-a` and no `--me`."""
        tokens = Tokens.fresh()
        answer = await self._calls.read(
            "squeue", "-h", "--only-job-state", "-t", "all", "-O", tokens.long_format(TICK_FIELDS), counted=True
        )
        rows = (fields_of(record, len(TICK_FIELDS), "squeue") for record in tokens.records(answer, "squeue"))
        return {tick_key(clean(shown, 256)): clean(state, 64) for shown, state in rows}


def watch(
    source: Source,
    meter: CallMeter,
    cell: InterestCell,
    *,
    floor: float = 0.0,
    intervals: tuple[float, float] = (JOBS_EVERY, NODES_EVERY),
) -> AsyncIterator[WatchItem]:
    """Poll for ever; see `adapters.polling.Poller` for intervals, back-off and states. `intervals`: seconds between
    two reads of jobs and of nodes, if nothing forbids it."""
    return Poller(sources(Feed(source), intervals), meter=meter, floor=floor).run(cell)


def sources(feed: Feed, intervals: tuple[float, float] = (JOBS_EVERY, NODES_EVERY)) -> tuple[PollSource, ...]:
    """Nodes first: the rows of partitions, which come with the jobs, need them."""
    return (
        PollSource(frozenset[Kind]({"node"}), feed.nodes, intervals[1], calls=2),
        PollSource(frozenset[Kind]({"job", "queue", "metrics"}), feed.jobs, intervals[0], by_interest=True),
    )


class Feed:
    """What the two sources of a watch share: the last nodes and partitions, and the last full list of jobs."""

    def __init__(self, source: Source, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._source = source
        self._clock = clock
        self._nodes: NodeList | None = None
        self._list: list[Job] = []
        self._list_owner: str | None = None
        self._list_at = 0.0
        self._list_cost = 0.0

    async def nodes(self, interest: Interest) -> Fetched:
        self._nodes = await self._source.nodes()
        return Fetched(self._nodes.nodes)

    async def jobs(self, interest: Interest) -> Fetched:
        mine = interest.owner == "mine"
        if self._nodes is None:
            self._nodes = await self._source.nodes(counted=False)
        jobs = await self._current(mine)
        elements = await self._expanded(interest)
        summed = await asyncio.to_thread(self._summed, self._nodes, jobs, mine)
        return Fetched([*jobs, *elements, *summed], note=_OWN if mine else "")

    def _summed(self, found: NodeList, jobs: Sequence[Job], mine: bool) -> list[Row]:
        """Partitions with their counts, and the totals; in a thread, since there may be 100,000 jobs to count."""
        queues: Sequence[Queue] = found.partitions if mine else with_counts(found.partitions, jobs)
        return [*queues, totals(self._source.cluster, jobs, queues, found.nodes, at=datetime.now(UTC))]

    async def _current(self, mine: bool) -> list[Job]:
        owner = "mine" if mine else "all"
        if owner == self._list_owner and not mine and await self._tick_will_do():
            ticked = await self._tick()
            if ticked is not None:
                return ticked
        start = self._clock()
        self._list = await self._source.jobs(mine=mine)
        self._list_at = self._clock()
        self._list_cost = self._list_at - start
        self._list_owner = owner
        return self._list

    async def _tick_will_do(self) -> bool:
        """Whether a full list would cost too much now, and states alone can be had."""
        age = self._clock() - self._list_at
        dear = self._list_cost * COST_FACTOR > JOBS_EVERY
        return dear and age < OLDEST_LIST and await self._source.ticks()

    async def _tick(self) -> list[Job] | None:
        """The last list with the states of now, without jobs that are gone; None where new jobs have come and a full
        list may be read again."""
        states = await self._source.states()
        known = {tick_key(job.id) for job in self._list}
        new = any(key not in known for key in states)
        if new and self._clock() - self._list_at >= COST_FACTOR * self._list_cost:
            return None
        present = ((job, states.get(tick_key(job.id))) for job in self._list)
        self._list = [_with_state(job, state) for job, state in present if state is not None]
        return self._list

    async def _expanded(self, interest: Interest) -> list[Job]:
        """The elements of folded arrays that are looked at in detail."""
        folded = [ref.id for ref in interest.detail if ref.kind == "job" and "_[" in ref.id]
        if not folded:
            return []
        known = {job.id for job in self._list}
        found = await self._source.elements(list(dict.fromkeys(parse_id(id).base for id in folded)))
        return [job for job in found if job.id not in known]


def tick_key(shown: str) -> str:
    """What names a job in both answers. The tick shows a folded array without its throttle and cut short, so only its
    number counts: ``29_[3-49%3]`` is ``29_[``."""
    base, folded, _ = shown.partition("_[")
    return base + folded


def _with_state(job: Job, raw: str) -> Job:
    """The job in its new state; times and reason of before are no longer true and go. A folded row may stand for
    several records in different states and keeps its own until the next full list."""
    if raw == job.raw_status or "_[" in job.id:
        return job
    return job._replace(status=job_status(raw), raw_status=share(raw) or "", reason=None)
