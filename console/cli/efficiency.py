"""``pilothouse efficiency ID``: what a job used of what it asked for, and what to ask for next time."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime

from adapters.base import Reader
from console.cli.judged import efficiency_lines
from console.cli.opening import with_reader
from console.cli.output import emit_json
from console.diagnosis.efficiency import efficiency
from console.diagnosis.gather import job_with_usage


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID")


def run(args: Namespace) -> int:
    async def show(reader: Reader) -> int:
        found = efficiency(await job_with_usage(reader, args.id), datetime.now(UTC))
        if args.json:
            emit_json(found)
        else:
            print(*efficiency_lines(found), sep="\n")
        return 0

    return with_reader(args, show)
