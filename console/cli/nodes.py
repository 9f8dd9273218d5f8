"""``pilothouse nodes``: list nodes."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from adapters.base import Reader
from adapters.model import NODE_STATUSES, Node
from adapters.units import show_size
from console.cli.opening import with_reader
from console.cli.output import Column, emit_rows


def used_of(used: int | None, total: int | None) -> str:
    """``used/total`` with `-` for what is not known."""
    return f"{'-' if used is None else used}/{'-' if total is None else total}"


COLUMNS: list[Column[Node]] = [
    Column("NAME", lambda node: node.name, keep=9, shrink=12),
    Column("STATUS", lambda node: node.status, keep=9),
    Column("SLOTS", lambda node: used_of(node.slots_used, node.slots_total), right=True, keep=8),
    Column("QUOTA", lambda node: "-" if node.slots_quota is None else str(node.slots_quota), right=True, keep=7),
    Column("CORES", lambda node: used_of(node.cores_used, node.cores_total), right=True, keep=6),
    Column("MEMORY", lambda node: f"{show_size(node.memory_bytes_used)}/{show_size(node.memory_bytes_total)}", True, 4),
    Column("GPUS", lambda node: used_of(node.gpus_used, node.gpu_count), right=True, keep=3),
    Column("FEATURES", lambda node: " ".join(node.features) or "-", keep=1, shrink=10),
    Column("REASON", lambda node: node.reason or "-", keep=2, shrink=10),
]


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--status", action="append", choices=NODE_STATUSES, default=[], help="may be given repeatedly")


def run(args: Namespace) -> int:
    async def show(reader: Reader) -> int:
        nodes = [node for node in await reader.list_nodes() if not args.status or node.status in args.status]
        emit_rows(nodes, COLUMNS, as_lines_of_json=args.json, nothing="No nodes.")
        return 0

    return with_reader(args, show)
