"""``pilothouse jobs``: list jobs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime

from adapters.base import JobFilter, Reader
from adapters.model import JOB_STATUSES, Job
from adapters.units import show_duration, show_size
from console.cli.opening import with_reader
from console.cli.output import Column, emit_rows


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("ids", nargs="*", metavar="ID", help="only these; an array's id brings its elements")
    whose = parser.add_mutually_exclusive_group()
    whose.add_argument("--mine", action="store_true", help="only your own")
    whose.add_argument("--owner", metavar="USER", help="only those of this user")
    parser.add_argument("--queue", help="only those of this queue")
    parser.add_argument("--name", help="only those of this name")
    parser.add_argument("--node", help="only those on this node")
    parser.add_argument("--status", action="append", choices=JOB_STATUSES, default=[], help="may be given repeatedly")
    parser.add_argument("--limit", type=int, metavar="N", help="at most so many")


def run(args: Namespace) -> int:
    wanted = JobFilter(
        owner=args.owner,
        mine=args.mine,
        queue=args.queue,
        statuses=frozenset(args.status),
        ids=tuple(args.ids),
        name=args.name,
        node=args.node,
        limit=args.limit,
    )

    async def show(reader: Reader) -> int:
        jobs = await reader.list_jobs(wanted)
        now = datetime.now(UTC)
        emit_rows(jobs, columns(now), as_lines_of_json=args.json, nothing="No jobs.")
        return 0

    return with_reader(args, show)


def columns(now: datetime) -> list[Column[Job]]:
    """The columns of the table of jobs; elapsed times are those at `now`."""
    return [
        Column("ID", lambda job: job.id, right=True, keep=9),
        Column("STATUS", lambda job: job.status, keep=9),
        Column("TIME", lambda job: elapsed(job, now), right=True, keep=7),
        Column("NAME", lambda job: job.name or "-", keep=8, shrink=12),
        Column("OWNER", lambda job: job.owner or "-", keep=6, shrink=8),
        Column("QUEUE", lambda job: job.queue or "-", keep=6, shrink=8),
        Column("CORES", lambda job: _count(job.cores), right=True, keep=5),
        Column("MEMORY", lambda job: show_size(job.memory_bytes), right=True, keep=3),
        Column("EXIT", lambda job: _count(job.exit_code), right=True, keep=4),
        Column("NODES", lambda job: " ".join(job.node_names) or "-", keep=4, shrink=10),
        Column("REASON", lambda job: job.reason or "-", keep=2, shrink=10),
    ]


def elapsed(job: Job, now: datetime) -> str:
    """How long it has run, or ran; `-` where it has not started or the times are not known."""
    if job.start_time is None:
        return "-"
    end = job.end_time or (None if job.finished else now)
    return show_duration((end - job.start_time).total_seconds() if end else None)


def _count(number: int | None) -> str:
    return "-" if number is None else str(number)
