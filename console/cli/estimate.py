"""``pilothouse estimate``: how long a job will wait, with the spread."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime

from adapters.base import Reader
from adapters.model import JobSpec
from console.cli.amounts import count
from console.cli.judged import wait_lines
from console.cli.opening import with_reader
from console.cli.output import emit_json
from console.diagnosis.gather import past_jobs
from console.diagnosis.wait import estimate_wait


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", metavar="ID", help="a pending job, instead of what a new one would ask for")
    parser.add_argument("--queue", help="queue or partition a new job would go to")
    parser.add_argument("--cores", type=count, metavar="N")
    parser.add_argument("--gpus", type=count, metavar="N")


def run(args: Namespace) -> int:
    async def show(reader: Reader) -> int:
        job = await reader.get_job(args.id) if args.id else None
        cores, gpus = (job.cores, job.gpus) if job else (args.cores, args.gpus)
        spec = JobSpec(command=("-",), cores=cores, gpus=gpus)
        queue = job.queue if job else args.queue
        found = estimate_wait(job, queue, spec, await past_jobs(reader), datetime.now(UTC))
        if args.json:
            emit_json(found)
        else:
            print(*wait_lines(found), sep="\n")
        return 0

    return with_reader(args, show)
