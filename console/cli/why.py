"""``pilothouse why [ID]``: why a job waits or failed; without an id, why nothing starts on the cluster."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime

from adapters.base import Reader
from console.cli.judged import finding_lines
from console.cli.opening import with_reader
from console.cli.output import emit_json
from console.diagnosis.gather import diagnose_cluster, diagnose_job

DESCRIPTION = """Why a job waits or failed; without an id, why nothing starts on the cluster.

The answer quotes the fields and log lines it rests on, and is `not known` rather than a guess."""


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", metavar="ID", help="a job; without it, the cluster as a whole")


def run(args: Namespace) -> int:
    async def show(reader: Reader) -> int:
        now = datetime.now(UTC)
        found = await diagnose_job(reader, args.id) if args.id else await diagnose_cluster(reader, now)
        if args.json:
            emit_json(found)
        else:
            print(*finding_lines(found), sep="\n")
        return 0

    return with_reader(args, show)
