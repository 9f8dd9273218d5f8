"""``pilothouse history``: finished jobs, from the scheduler's accounting."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime, timedelta

from adapters.base import HistoryFilter, Reader
from console.cli.amounts import count, moment
from console.cli.jobs import columns
from console.cli.opening import with_reader
from console.cli.output import emit_rows

DAYS = 7


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("ids", nargs="*", metavar="ID", help="only these")
    whose = parser.add_mutually_exclusive_group()
    whose.add_argument("--mine", action="store_true", help="only your own")
    whose.add_argument("--owner", metavar="USER", help="only those of this user")
    parser.add_argument("--queue", help="only those of this queue")
    parser.add_argument("--since", type=moment, metavar="TIME", help=f"without it, {DAYS} days ago")
    parser.add_argument("--until", type=moment, metavar="TIME", help="such as 2026-03-01 or 2026-03-01T12:00Z")
    parser.add_argument("--limit", type=count, default=1000, metavar="N", help="at most so many (1000)")


def run(args: Namespace) -> int:
    async def show(reader: Reader) -> int:
        now = datetime.now(UTC)
        since = args.since or (None if args.ids else now - timedelta(days=DAYS))
        wanted = HistoryFilter(args.owner, args.mine, args.queue, since, args.until, tuple(args.ids), args.limit)
        jobs = await reader.history(wanted)
        emit_rows(jobs, columns(now), as_lines_of_json=args.json, nothing="No finished jobs.")
        return 0

    return with_reader(args, show)
