"""Fetches what a diagnosis needs from a Reader. What cannot be had is left out; the job itself must be readable."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from datetime import datetime
from typing import Literal, TypeVar

from adapters.base import AdapterError, HistoryFilter, JobFilter, Reader, Unsupported
from adapters.model import Job, Node, Queue
from adapters.text import clean_lines
from console.diagnosis.cluster import why_nothing_starts
from console.diagnosis.efficiency import peak_memory
from console.diagnosis.failed import why_failed
from console.diagnosis.findings import Evidence, Finding, unknown
from console.diagnosis.pending import why_pending

_TAIL, _LINE, _MOST = 200, 400, 1_000_000
T = TypeVar("T")


async def diagnose_job(reader: Reader, id: str) -> Finding:
    """Why this job waits or failed. Raises what reading the job raises (NotFound, Unavailable …)."""
    job = await reader.get_job(id)
    if job.status == "pending":
        queues, nodes = await asyncio.gather(_or_empty(reader.list_queues()), _or_empty(reader.list_nodes()))
        return why_pending(job, queues=queues, nodes=nodes, others=await _others(reader, job))
    if job.status in ("failed", "cancelled", "unknown"):
        tails, nodes, like = await asyncio.gather(
            log_tails(reader, id), _or_empty(reader.list_nodes()), _like(reader, job)
        )
        return why_failed(job, tails=tails, nodes=nodes, like=like)
    told = f"It is {job.status}: there is nothing to explain."
    return unknown(job.ref, [Evidence.of("job.status", job.status)], told)


async def diagnose_cluster(reader: Reader, now: datetime) -> Finding:
    """Why nothing starts. A source that cannot be read is itself the answer."""
    try:
        jobs = await reader.list_jobs()
        nodes: Sequence[Node] = await reader.list_nodes()
        queues: Sequence[Queue] = await reader.list_queues()
    except AdapterError as error:
        return why_nothing_starts([], [], [], now=now, failure=error.message)
    return why_nothing_starts(jobs, nodes, queues, now=now)


async def past_jobs(reader: Reader) -> list[Job]:
    """Finished jobs of the accounting history; none where this backend keeps none. Raises what reading it raises."""
    try:
        return list(await reader.history(HistoryFilter()))
    except Unsupported:
        return []


async def job_with_usage(reader: Reader, id: str) -> Job:
    """The job, with what the accounting history alone knows of its use. Raises what reading the job raises."""
    job = await reader.get_job(id)
    if not job.finished or peak_memory(job) is not None:
        return job
    for past in await _or_empty(reader.history(HistoryFilter(ids=(id,)))):
        if past.id == job.id:
            return job._replace(extensions={**job.extensions, **past.extensions})
    return job


async def log_tails(reader: Reader, id: str) -> dict[str, list[str]]:
    """The last lines of both streams, cleaned; a stream that cannot be read is left out."""
    tails: dict[str, list[str]] = {}
    streams: tuple[Literal["stderr", "stdout"], ...] = ("stderr", "stdout")
    for stream in streams:
        data = b""
        try:
            async for chunk in reader.job_logs(id, stream, tail=_TAIL):
                data += chunk.data
                if len(data) > _MOST:
                    break
        except AdapterError:
            continue
        if data:
            tails[stream] = clean_lines(data.rstrip(b"\n"), _LINE)
    return tails


async def _or_empty(asked: Awaitable[Sequence[T]]) -> Sequence[T]:
    """Supporting evidence only: without it the answer rests on the job alone."""
    try:
        return await asked
    except AdapterError:
        return ()


async def _others(reader: Reader, job: Job) -> dict[str, Job]:
    ids = tuple(dependency.id for dependency in job.dependencies)
    if not ids:
        return {}
    found = {other.id: other for other in await _or_empty(reader.list_jobs(JobFilter(ids=ids)))}
    for id in ids:
        if id not in found:
            try:
                found[id] = await reader.get_job(id)
            except AdapterError:
                continue
    return found


async def _like(reader: Reader, job: Job) -> list[Job]:
    """Earlier jobs of the same name and owner."""
    past = await _or_empty(reader.history(HistoryFilter(owner=job.owner, limit=200)))
    return [other for other in past if other.name == job.name]
