"""``pilothouse undrain NODE ...``: let jobs start on nodes again."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from adapters.intents import UndrainNode
from console.cli.writing import build, change, refs


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("nodes", nargs="+", metavar="NODE")
    parser.add_argument("--dry-run", action="store_true", help="show what would be sent, and send nothing")


def run(args: Namespace) -> int:
    return change(args, lambda cluster: build(UndrainNode, cluster=cluster, refs=refs(cluster, "node", args.nodes)))
