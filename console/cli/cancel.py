"""``pilothouse cancel ID ...``: end jobs, or take them out of the queue."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from adapters.intents import CancelJob
from console.cli.writing import build, change, refs


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("ids", nargs="+", metavar="ID")
    parser.add_argument("--signal", metavar="NAME", help="such as INT or KILL, instead of the scheduler's usual way")
    parser.add_argument("--dry-run", action="store_true", help="show what would be sent, and send nothing")


def run(args: Namespace) -> int:
    signal = args.signal.upper().removeprefix("SIG") if args.signal else None
    return change(
        args, lambda cluster: build(CancelJob, cluster=cluster, refs=refs(cluster, "job", args.ids), signal=signal)
    )
