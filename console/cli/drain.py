"""``pilothouse drain NODE ... --reason TEXT``: let nothing new start on nodes; what runs goes on."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from adapters.intents import DrainNode
from console.cli.writing import build, change, refs


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("nodes", nargs="+", metavar="NODE")
    parser.add_argument("--reason", required=True, help="what others will see beside the node")
    parser.add_argument("--dry-run", action="store_true", help="show what would be sent, and send nothing")


def run(args: Namespace) -> int:
    return change(
        args,
        lambda cluster: build(DrainNode, cluster=cluster, refs=refs(cluster, "node", args.nodes), reason=args.reason),
    )
