"""The jobs pane: its columns. A state is a letter, a word and a colour, so that each alone is enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adapters.model import Job
from widgets.columns import Column, Moment, Role, chosen, tagged
from widgets.format import UNKNOWN, coarse, duration, number, size, span
from widgets.pane import Pane
from widgets.table import RowOf

JOB_LETTERS: Mapping[str, str] = {
    "pending": "P", "running": "R", "succeeded": "D", "failed": "F", "cancelled": "C", "suspended": "S",
    "unknown": "?",
}  # fmt: skip
JOB_ROLES: Mapping[str, Role] = {
    "pending": "warn", "running": "ok", "succeeded": "dim", "failed": "bad", "cancelled": "dim", "suspended": "info",
    "unknown": "info",
}  # fmt: skip


def job_role(job: Job) -> Role:
    return JOB_ROLES.get(job.status, "info")


def job_state(job: Job, moment: Moment) -> str:
    """What is on its way for the job, else its state; an unknown one in the backend's own word."""
    mark = moment.mark(job.ref)
    if mark:
        return mark
    return job.raw_status if job.status == "unknown" and job.raw_status else job.status


def job_time(job: Job, moment: Moment) -> str:
    """How long it ran, runs, or has waited since submission."""
    if job.status == "pending":
        return coarse(span(job.submission_time, moment.now))
    if job.start_time is None:
        return UNKNOWN
    if job.finished:
        return duration(span(job.start_time, job.end_time))
    return coarse(span(job.start_time, moment.now))


def job_where(job: Job, moment: Moment) -> str:
    """Where it runs or ran; for others the reason why not; for a failure what is known of it."""
    names = ",".join(job.node_names[:4]) + (f",+{len(job.node_names) - 4}" if len(job.node_names) > 4 else "")
    if job.status == "failed":
        code = f"exit {job.exit_code}" if job.exit_code is not None else ""
        return "  ".join(part for part in (code, job.reason or "", names) if part)
    if job.status in ("running", "succeeded"):
        return names or (job.reason or "")
    return job.reason or names


JOB_COLUMNS: tuple[Column, ...] = (
    Column("letter", "S", 1, 0, lambda job, _: JOB_LETTERS.get(job.status, "?"), job_role),
    Column("status", "STATE", 9, 3, job_state, job_role, grow=1, limit=11),
    Column("id", "ID", 8, 0, lambda job, _: job.id, grow=1, limit=14),
    Column("time", "TIME", 7, 1, job_time, right=True, ticks=True),
    Column("name", "NAME", 14, 0, lambda job, _: job.name or UNKNOWN, lambda job: "strong", grow=4, limit=40),
    Column("owner", "OWNER", 8, 2, lambda job, _: job.owner or UNKNOWN, grow=1, limit=14),
    Column("queue", "QUEUE", 8, 4, lambda job, _: job.queue or UNKNOWN, grow=1, limit=14),
    Column("cores", "CORES", 5, 6, lambda job, _: number(job.cores), right=True),
    Column("memory_bytes", "MEM", 6, 7, lambda job, _: size(job.memory_bytes), right=True),
    Column("gpus", "GPU", 3, 8, lambda job, _: number(job.gpus), right=True),
    Column("where", "NODES / REASON", 13, 5, job_where, lambda job: "bad" if job.status == "failed" else "dim", grow=6),
)


class JobsPane(Pane):
    """Jobs of every cluster shown."""

    def __init__(self, row_of: RowOf, *, several: bool = False, columns: Sequence[str] = ()) -> None:
        every = tagged(JOB_COLUMNS) if several else JOB_COLUMNS
        super().__init__("job", 1, "jobs", chosen(every, columns), row_of, every)
