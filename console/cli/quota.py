"""``pilothouse quota NODE N|none``: limit how many slots of a node are used. Nothing that runs is ended."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from adapters.intents import SetNodeQuota
from console.cli.amounts import number_or_none
from console.cli.writing import build, change, refs


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("node", metavar="NODE")
    parser.add_argument("slots", metavar="N|none", type=number_or_none, help="0 pauses the node, none lifts the limit")
    parser.add_argument("--dry-run", action="store_true", help="show what would be sent, and send nothing")


def run(args: Namespace) -> int:
    return change(
        args,
        lambda cluster: build(SetNodeQuota, cluster=cluster, refs=refs(cluster, "node", [args.node]), slots=args.slots),
    )
