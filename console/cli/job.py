"""``pilothouse job ID``: one job with everything the scheduler tells."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from adapters.base import Reader
from console.cli.details import detail_lines
from console.cli.opening import with_reader
from console.cli.output import emit_json


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID")


def run(args: Namespace) -> int:
    async def show(reader: Reader) -> int:
        job = await reader.get_job(args.id)
        if args.json:
            emit_json(job)
        else:
            print(*detail_lines(job), sep="\n")
        return 0

    return with_reader(args, show)
