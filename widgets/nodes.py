"""The nodes pane: its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adapters.model import Node
from widgets.columns import Column, Moment, Role, chosen, tagged
from widgets.format import UNKNOWN, age, size, slots, span, used
from widgets.pane import Pane
from widgets.table import RowOf

NODE_LETTERS: Mapping[str, str] = {"idle": "I", "busy": "B", "down": "X", "drain": "D", "unknown": "?"}
NODE_ROLES: Mapping[str, Role] = {"idle": "dim", "busy": "ok", "down": "bad", "drain": "warn", "unknown": "info"}


def node_role(node: Node) -> Role:
    return NODE_ROLES.get(node.status, "info")


def node_state(node: Node, moment: Moment) -> str:
    return moment.mark(node.ref) or node.status


def node_beat(node: Node, moment: Moment) -> str:
    """Age of the last heartbeat, by the minute: the healthy case stands still."""
    seconds = span(node.heartbeat_time, moment.now)
    return "<1m" if seconds is not None and seconds < 60 else age(node.heartbeat_time, moment.now)


def node_quota(node: Node, moment: Moment) -> str:
    return UNKNOWN if node.slots_quota is None else str(node.slots_quota)


def quota_role(node: Node) -> Role:
    return "plain" if node.slots_quota is None else "warn"


def memory(node: Node, moment: Moment) -> str:
    if node.memory_bytes_used is None:
        return size(node.memory_bytes_total)
    return f"{size(node.memory_bytes_used)}/{size(node.memory_bytes_total)}"


NODE_COLUMNS: tuple[Column, ...] = (
    Column("letter", "S", 1, 0, lambda node, _: NODE_LETTERS.get(node.status, "?"), node_role),
    Column("status", "STATE", 8, 4, node_state, node_role, grow=1, limit=11),
    Column("slots_used", "SLOTS", 7, 1, lambda node, _: slots(node), right=True),
    Column("name", "NAME", 10, 0, lambda node, _: node.name, lambda node: "strong", grow=2, limit=30),
    Column("slots_quota", "QUOTA", 5, 2, node_quota, quota_role, right=True),
    Column("heartbeat_time", "BEAT", 4, 3, node_beat, right=True, ticks=True),
    Column("cores_used", "CORES", 7, 6, lambda node, _: used(node.cores_used, node.cores_total), right=True),
    Column("memory_bytes_used", "MEMORY", 11, 7, memory, right=True),
    Column("gpus_used", "GPU", 5, 8, lambda node, _: used(node.gpus_used, node.gpu_count), right=True),
    Column("reason", "REASON", 10, 5, lambda node, _: node.reason or "", lambda node: "warn", grow=3),
)


class NodesPane(Pane):
    """Nodes of every cluster shown."""

    def __init__(self, row_of: RowOf, *, several: bool = False, columns: Sequence[str] = ()) -> None:
        every = tagged(NODE_COLUMNS) if several else NODE_COLUMNS
        super().__init__("node", 3, "nodes", chosen(every, columns), row_of, every)
