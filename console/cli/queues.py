"""``pilothouse queues``: list queues."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from adapters.base import Reader
from adapters.model import Queue
from adapters.units import show_duration
from console.cli.opening import with_reader
from console.cli.output import Column, emit_rows

COLUMNS: list[Column[Queue]] = [
    Column("NAME", lambda queue: queue.name, keep=9, shrink=12),
    Column("STATUS", lambda queue: queue.status, keep=9),
    Column("RUNNING", lambda queue: _count(queue.running_jobs), right=True, keep=7),
    Column("PENDING", lambda queue: _count(queue.pending_jobs), right=True, keep=7),
    Column("NODES", lambda queue: _count(queue.node_count), right=True, keep=5),
    Column("MAX TIME", lambda queue: show_duration(queue.max_walltime_seconds), right=True, keep=5),
]


def configure(parser: ArgumentParser) -> None:
    """It takes no arguments of its own."""


def run(args: Namespace) -> int:
    async def show(reader: Reader) -> int:
        emit_rows(await reader.list_queues(), COLUMNS, as_lines_of_json=args.json, nothing="No queues.")
        return 0

    return with_reader(args, show)


def _count(number: int | None) -> str:
    return "-" if number is None else str(number)
