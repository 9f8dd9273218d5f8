"""Lists of jobs: which ones are asked for, and how they become rows."""

from __future__ import annotations

from collections.abc import Sequence

from adapters.lsf.jobs import JobRows
from adapters.lsf.session import Session
from adapters.lsf.tables import JOBS
from adapters.model import Job


def own_selection(session: Session) -> list[str]:
    """Options that select own jobs, those of the last hours included."""
    return ["-a", "-u", session.user] if session.options.user else ["-a"]


async def jobs_by_id(session: Session, selection: Sequence[str], without: str | None = None) -> dict[str, Job]:
    """Jobs of one bjobs call, made in a thread while the answer is decoded; those of owner `without` left out."""
    rows = JobRows(session.cluster, session.now(), session.options.zone, without=without)
    await session.table(JOBS, selection, rows)
    return rows.jobs


async def read_jobs(session: Session, selection: Sequence[str]) -> list[Job]:
    """The same as a list."""
    return list((await jobs_by_id(session, selection)).values())
