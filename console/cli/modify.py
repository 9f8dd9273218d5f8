"""``pilothouse modify ID ...``: change what jobs ask for. Only what is named is changed."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from adapters.intents import ModifyJob
from console.cli.amounts import count, duration, size
from console.cli.writing import build, change, refs


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("ids", nargs="+", metavar="ID")
    parser.add_argument("--name", help="another name")
    parser.add_argument("--queue", help="another queue or partition")
    parser.add_argument("--nodes", type=count, metavar="N")
    parser.add_argument("--cores", type=count, metavar="N")
    parser.add_argument("--memory", type=size, metavar="SIZE", help="such as 4GB (decimal) or 4GiB (binary)")
    parser.add_argument("--walltime", type=duration, metavar="TIME", help="HH:MM, HH:MM:SS, or such as 90m, 2d")
    parser.add_argument("--priority", type=int, metavar="N", help="as the scheduler counts it")
    parser.add_argument("--account", help="another account or project")
    parser.add_argument("--dry-run", action="store_true", help="show what would be sent, and send nothing")


def run(args: Namespace) -> int:
    changes = {
        "name": args.name,
        "queue": args.queue,
        "nodes": args.nodes,
        "cores": args.cores,
        "memory_bytes": args.memory,
        "walltime_seconds": args.walltime,
        "priority": args.priority,
        "account": args.account,
    }
    return change(
        args, lambda cluster: build(ModifyJob, cluster=cluster, refs=refs(cluster, "job", args.ids), **changes)
    )
