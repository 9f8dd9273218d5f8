"""What the commands that act on jobs by their ids, and take nothing else, have in common."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from adapters.intents import TargetedIntent
from console.cli.writing import build, change, refs


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("ids", nargs="+", metavar="ID")
    parser.add_argument("--dry-run", action="store_true", help="show what would be sent, and send nothing")


def act(args: Namespace, kind: type[TargetedIntent]) -> int:
    """Carry out one intent on all of the jobs."""
    return change(args, lambda cluster: build(kind, cluster=cluster, refs=refs(cluster, "job", args.ids)))
