"""What a job waits for: other jobs' ends. A dependency that can no longer be met is said, and the job stays."""

from __future__ import annotations

import sqlite3

from adapters.local.database import Tx
from adapters.local.problem import Problem

MET, OPEN, NEVER = 1, 0, -1


def verdict(kind: str, state: str, started: bool) -> int:
    """Whether a dependency of `kind` on a job in raw state `state` is met, still open, or can never be met."""
    final = state in ("DONE", "EXIT")
    if kind == "after":
        return MET if started else NEVER if final else OPEN
    if not final:
        return OPEN
    if kind == "afterany":
        return MET
    return MET if (state == "DONE") == (kind == "afterok") else NEVER


def add(tx: Tx, job_id: int, depends: list[tuple[int, str]]) -> None:
    """Store the dependencies of a new job. Raises Problem 422 for a job that is not known."""
    for on_job, kind in depends:
        other = tx.one("SELECT state, started FROM jobs WHERE id = ?", on_job)
        if other is None or on_job == job_id:
            raise Problem(422, f"the job depends on job {on_job}, which is not known")
        met = verdict(kind, other["state"], other["started"] is not None)
        tx.insert("dependencies", job=job_id, on_job=on_job, kind=kind, met=met)
    if depends:
        count(tx, job_id)


def count(tx: Tx, job_id: int) -> None:
    """Bring the job's counts of open and of hopeless dependencies up to date."""
    tx.run(
        "UPDATE jobs SET waits = (SELECT count(*) FROM dependencies WHERE job = ?1 AND met = 0),"
        " never = (SELECT count(*) FROM dependencies WHERE job = ?1 AND met = -1) WHERE id = ?1",
        job_id,
    )


def reason(tx: Tx, job: sqlite3.Row) -> str | None:
    """Why a job's dependencies keep it from starting, None if they do not."""
    if not job["waits"] and not job["never"]:
        return None
    order = "ORDER BY met, on_job LIMIT 1"
    row = tx.one(f"SELECT on_job, kind, met FROM dependencies WHERE job = ? AND met < 1 {order}", job["id"])
    if row is None:
        return None
    if row["met"] == NEVER:
        return f"Can never start: {row['kind']} of job {row['on_job']} can no longer be met"
    return f"Waiting for job {row['on_job']} ({row['kind']})"
