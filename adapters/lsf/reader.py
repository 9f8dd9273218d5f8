"""All reads of one LSF cluster, by its commands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Literal

from adapters.base import (
    AdapterError,
    Capabilities,
    HistoryFilter,
    Identity,
    InterestCell,
    Invalid,
    JobFilter,
    LogChunk,
    NotFound,
    ProtocolError,
    WatchItem,
)
from adapters.lsf import capabilities, history, logs
from adapters.lsf.details import enrich
from adapters.lsf.facts import Facts
from adapters.lsf.jobs import INTENT_MARK, JobRows, split_id
from adapters.lsf.listing import own_selection, read_jobs
from adapters.lsf.longform import JobDetail, read_details
from adapters.lsf.metrics import metrics
from adapters.lsf.nodes import nodes
from adapters.lsf.observe import observe
from adapters.lsf.probe import probe
from adapters.lsf.queues import queue
from adapters.lsf.reservations import reservation
from adapters.lsf.session import Session
from adapters.lsf.tables import DESCRIPTIONS, HOSTS, JOB_DETAIL, LOAD, QUEUES, RESERVATIONS, Record
from adapters.lsf.times import Clock
from adapters.lsf.watch import LsfWatch
from adapters.model import FINISHED, ArrayInfo, Job, Metrics, Node, Queue, Ref, Reservation
from adapters.plan import Target
from adapters.text import clean


class LsfReader:
    """Reads one LSF. `Facts` and `Session` are shared with the writer of the same cluster."""

    def __init__(self, session: Session, facts: Facts) -> None:
        self.cluster = session.cluster
        self.session = session
        self.facts = facts

    async def list_jobs(self, filter: JobFilter | None = None) -> Sequence[Job]:
        """Unfinished jobs of everybody and own jobs of the last hours, or what the filter leaves of them.

        Other people's finished jobs are only listed for one owner or by id: LSF's whole memory of finished jobs is
        too much to ask for.
        """
        wanted = filter or JobFilter()
        if wanted.intent_id is not None:
            refs = await self.find_intent(wanted.intent_id)
            if not refs:
                return []
            wanted = JobFilter(ids=tuple(ref.id for ref in refs), limit=wanted.limit)
        jobs = await self._selected(wanted)
        found = [job for job in jobs if _matches(job, wanted, self.session.user)]
        return found if wanted.limit is None else found[: wanted.limit]

    async def _selected(self, wanted: JobFilter) -> Sequence[Job]:
        session, more = self.session, []
        if wanted.queue:
            more += ["-q", _word(wanted.queue)]
        if wanted.node:
            more += ["-m", _word(wanted.node)]
        if wanted.ids:
            return await read_jobs(session, ["-a", *_ids(wanted.ids)])
        if wanted.mine or wanted.owner == session.user:
            return await read_jobs(session, [*own_selection(session), *more])
        if wanted.owner:
            return await read_jobs(session, ["-a", "-u", _word(wanted.owner), *more])
        everybody = await read_jobs(session, ["-u", "all", *more])
        if wanted.statuses and not wanted.statuses & FINISHED:
            return everybody
        own = await read_jobs(session, [*own_selection(session), *more])
        rows = {job.id: job for job in everybody if job.owner != session.user} | {job.id: job for job in own}
        return list(rows.values())

    async def get_job(self, id: str) -> Job:
        """One job with everything LSF tells; from the accounting files where mbatchd has forgotten it."""
        base, index = _parse_id(id)
        session = self.session
        found = await session.table(JOB_DETAIL, ["-a", id])
        now = session.now()
        pairs = [(JobRows(self.cluster, now, session.options.zone).job(record), record) for record in found.records]
        pairs = [pair for pair in pairs if pair[0].id == id or (index is None and pair[0].id.startswith(f"{base}["))]
        if not pairs:
            return await history.forgotten(session, id)
        if len(pairs) > 1:
            return _folded(base, [job for job, _ in pairs])
        job, record = pairs[0]
        detail = await self._long(job.id)
        return enrich(job, record, detail, Clock(now, session.options.zone))

    async def _long(self, id: str) -> JobDetail | None:
        """The long form; without it (it is more costly, and sites may hide it) the row is still worth showing."""
        with suppress(NotFound, ProtocolError):
            details = read_details(await self.session.text(["bjobs", "-l", "-a", id]))
            return next((detail for detail in details if detail.id == id), None)
        return None

    async def list_queues(self) -> Sequence[Queue]:
        found = await self.session.table(QUEUES)
        await self.facts.read_queues()
        return [queue(self.cluster, record, self.facts.queues.get(record["QUEUE_NAME"])) for record in found.records]

    async def list_reservations(self) -> Sequence[Reservation]:
        found = await self.session.table(RESERVATIONS)
        return [reservation(self.cluster, record) for record in found.records]

    async def list_nodes(self) -> Sequence[Node]:
        """Batch hosts with LIM's load; without LIM, or for hosts it does not know, the load is unknown."""
        hosts = (await self.session.table(HOSTS)).records
        loads: Sequence[Record] = ()
        with suppress(AdapterError):
            loads = (await self.session.table(LOAD)).records
        await self.facts.read_lims()
        return nodes(self.cluster, hosts, loads, self.facts.lims)

    async def metrics(self) -> Metrics:
        jobs = await self.list_jobs()
        return metrics(self.cluster, jobs, await self.list_queues(), await self.list_nodes(), self.session.now())

    def job_logs(
        self,
        id: str,
        stream: Literal["stdout", "stderr"] = "stdout",
        tail: int | None = None,
        since: int | None = None,
        follow: bool = False,
    ) -> AsyncIterator[LogChunk]:
        """While it runs what `bpeek` prints, afterwards the output file."""
        return logs.job_logs(self.session, self.get_job, id, stream, tail, since, follow)

    async def history(self, filter: HistoryFilter | None = None) -> Sequence[Job]:
        """Finished jobs from LSF's accounting, by `bacct -l`."""
        return await history.finished(self.session, filter or HistoryFilter(mine=True))

    async def whoami(self) -> Identity:
        """LSF knows people by their Unix account; it does not tell who is an administrator."""
        return Identity(self.session.user)

    async def capabilities(self) -> Capabilities:
        return await capabilities.capabilities(self.session, self.facts)

    async def probe(self) -> tuple[str, ...]:
        """Ask each list once, so that the capabilities know its form; what did not answer, in LSF's words."""
        return await probe(self.session)

    async def observe(self, refs: Sequence[Ref]) -> Mapping[Ref, Target | None]:
        return await observe(self.session, refs)

    async def find_intent(self, intent_id: str) -> Sequence[Ref]:
        """Own jobs whose description holds the intent's id: the job, or the array as a whole."""
        mark = f"{INTENT_MARK}{intent_id}"
        found = await self.session.table(DESCRIPTIONS, own_selection(self.session))
        refs: dict[str, Ref] = {}
        if self.session.dialects[DESCRIPTIONS].tier == "C":
            ids = await self._described(mark)
            jobs: Iterable[Job] = await read_jobs(self.session, ["-a", *ids]) if ids else ()
        else:
            rows = JobRows(self.cluster, self.session.now(), self.session.options.zone)
            jobs = [rows.job(record) for record in found.records if mark in record.get("JOB_DESCRIPTION", "")]
        for job in jobs:
            base = job.array.id if job.array else job.id
            refs.setdefault(base, Ref(self.cluster, "job", base, None if job.array else job.born))
        return list(refs.values())

    async def _described(self, mark: str) -> list[str]:
        """The same where ``-o`` cannot tell descriptions: from the long form of own jobs."""
        try:
            text = await self.session.text(["bjobs", "-l", *own_selection(self.session)])
        except NotFound:
            return []
        return [detail.id for detail in read_details(text) if mark in detail.fields.get("Job Description", "")]

    def watch(self, interest: InterestCell) -> AsyncIterator[WatchItem]:
        return LsfWatch(self.session, self.facts).run(interest)

    async def close(self) -> None:
        """Nothing is held open between two commands."""
        await asyncio.sleep(0)


def _word(text: str) -> str:
    """A name from a person as an argument of its own. Raises Invalid for what LSF would take for an option."""
    if not text or text.startswith("-"):
        raise Invalid(f"{clean(text, 80)!r} is not a name LSF could have.")
    return text


def _parse_id(id: str) -> tuple[str, int | None]:
    found = split_id(id)
    if found is None:
        raise Invalid(f"{clean(id, 80)!r} is not the id of an LSF job.", "An id is a number, or number[index].")
    return found


def _ids(ids: Sequence[str]) -> list[str]:
    for id in ids:
        _parse_id(id)
    return list(ids)


def _matches(job: Job, wanted: JobFilter, user: str) -> bool:
    if wanted.ids and job.id not in wanted.ids and not (job.array and job.array.id in wanted.ids):
        return False
    if (wanted.owner and job.owner != wanted.owner) or (wanted.mine and job.owner != user):
        return False
    if (wanted.queue and job.queue != wanted.queue) or (wanted.node and wanted.node not in job.node_names):
        return False
    return (not wanted.statuses or job.status in wanted.statuses) and (not wanted.name or wanted.name in job.name)


def _folded(base: str, jobs: Sequence[Job]) -> Job:
    """One row for an array that was asked for by its base id: the first element that is not over stands for it."""
    first = next((job for job in jobs if not job.finished), jobs[0])
    indices = sorted(job.array.index or 0 for job in jobs if job.array)
    return first._replace(id=base, array=ArrayInfo(base, range=f"{indices[0]}-{indices[-1]}" if indices else None))
