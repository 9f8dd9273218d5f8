"""Objects as they are now: for planning, re-check and verification alike."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from adapters.base import NotFound
from adapters.lsf.jobs import split_id
from adapters.lsf.listing import read_jobs
from adapters.lsf.nodes import node
from adapters.lsf.queues import queue
from adapters.lsf.session import Session
from adapters.lsf.tables import HOSTS, QUEUES, RESERVATIONS, Record
from adapters.model import Job, Ref
from adapters.plan import Target
from adapters.text import clean

IDS_PER_CALL = 150
"""More ids in one bjobs call are a burden on mbatchd."""
ARRAY = "array"
"""The state of an array as a whole, while any of its elements is not over."""


async def observe(session: Session, refs: Sequence[Ref]) -> Mapping[Ref, Target | None]:
    """Each object as it is now; None where it is gone or its id belongs to another one."""
    found: dict[Ref, Target | None] = dict.fromkeys(refs)
    jobs = [ref for ref in refs if ref.kind == "job" and split_id(ref.id)]
    if jobs:
        by_id = await jobs_by_base(session, [ref.id for ref in jobs])
        found |= {ref: _job_target(ref, by_id) for ref in jobs}
    for kind, table in (("node", HOSTS), ("queue", QUEUES), ("reservation", RESERVATIONS)):
        wanted = [ref for ref in refs if ref.kind == kind and _NAME.match(ref.id)]
        if not wanted:
            continue
        selection = [] if kind == "reservation" else sorted({ref.id for ref in wanted})
        records = await _records(session, table.key, selection)
        found |= {ref: _named_target(session, ref, records.get(ref.id)) for ref in wanted}
    return found


_NAME = re.compile(r"^[^-\s]\S*$")


async def jobs_by_base(session: Session, ids: Sequence[str]) -> dict[str, list[Job]]:
    """Base id -> the job, or the elements of the array that were asked for."""
    unique = list(dict.fromkeys(ids))
    found: dict[str, list[Job]] = {}
    for start in range(0, len(unique), IDS_PER_CALL):
        jobs = await read_jobs(session, ["-a", *unique[start : start + IDS_PER_CALL]])
        session.note_read(jobs)
        for job in jobs:
            found.setdefault(job.array.id if job.array else job.id, []).append(job)
    return found


def job_target(job: Job) -> Target:
    """One job, with the values a modification may change."""
    values = {
        "name": job.name,
        "queue": job.queue,
        "cores": job.cores,
        "memory_bytes": job.memory_bytes,
        "walltime_seconds": job.walltime_seconds,
        "account": job.extensions.get("project"),
        "raw_status": job.raw_status,
    }
    return Target(job.ref, job.owner, job.status, job.name, values=values, finished=job.finished)


def _job_target(ref: Ref, by_id: Mapping[str, list[Job]]) -> Target | None:
    base, index = split_id(ref.id) or ("", None)
    jobs = by_id.get(base, [])
    one = next((job for job in jobs if job.id == ref.id), None)
    if one is not None:
        return None if ref.born is not None and ref.born != one.born else job_target(one)
    if index is not None or not jobs:
        return None
    over = all(job.finished for job in jobs)
    state = jobs[0].status if over else ARRAY
    born = jobs[0].born if ref.born is None else ref.born
    if ref.born is not None and ref.born not in {job.born for job in jobs}:
        return None
    name = jobs[0].name.rpartition("[")[0] or jobs[0].name
    states = sorted({job.raw_status for job in jobs if not job.finished})
    return Target(ref._replace(born=born), jobs[0].owner, state, name, values={"states": states}, finished=over)


async def _records(session: Session, key: str, names: Sequence[str]) -> dict[str, Record]:
    """Records by name. LSF fails as a whole for one unknown name, so then all are read."""
    table = {"HOST_NAME": HOSTS, "QUEUE_NAME": QUEUES, "RSVID": RESERVATIONS}[key]
    try:
        rows = await session.table(table, names)
        complete = len(rows.records) >= len(names)
    except NotFound:
        complete = False
    if names and not complete:
        rows = await session.table(table)
    return {record[key]: record for record in rows.records}


def _named_target(session: Session, ref: Ref, record: Record | None) -> Target | None:
    if record is None:
        return None
    if ref.kind == "node":
        host = node(session.cluster, record, None, None)
        return Target(ref, None, host.status, host.name, values={"slots_quota": host.slots_quota})
    if ref.kind == "queue":
        row = queue(session.cluster, record)
        return Target(ref, None, row.status, row.name, values={"raw_status": row.extensions.get("raw_status", "")})
    return Target(ref, clean(record.get("USER", "")) or None, "active", ref.id)
