"""What the node modal says about its node, as text."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from textual.content import Content

from adapters.model import Node
from adapters.text import clean
from widgets.format import UNKNOWN, age, fit, size, slots_with_quota, used
from widgets.nodes import NODE_LETTERS, NODE_ROLES

COLOURS: Mapping[str, str] = {
    "ok": "$success", "info": "$accent", "warn": "$warning", "bad": "$error", "dim": "$text-muted", "strong": "bold",
    "plain": "",
}  # fmt: skip
LOAD_FIRST = ("r1m", "r15s", "r15m", "ut", "1m", "cpu")


def load(node: Node, limit: int = 3) -> str:
    """The load as the backend gives it: a number, or the first few of its indices."""
    value = node.extensions.get("load", node.extensions.get("cpu_load"))
    if value is None:
        return UNKNOWN
    if not isinstance(value, Mapping):
        return clean(str(value), 40)
    names = [n for n in LOAD_FIRST if n in value] + sorted(str(n) for n in value if n not in LOAD_FIRST)
    return "  ".join(f"{clean(name, 12)} {clean(str(value[name]), 12)}" for name in names[:limit]) or UNKNOWN


def node_content(node: Node, mark: str | None, now: datetime, width: int) -> Content:
    """Five lines in two columns."""
    beat = age(node.heartbeat_time, now)
    quota = "no limit" if node.slots_quota is None else str(node.slots_quota)
    state = f"{NODE_LETTERS.get(node.status, '?')} {node.status}" + (f", {mark}" if mark else "")
    memory = used_sizes(node)
    rows = [
        (("State", state, COLOURS[NODE_ROLES.get(node.status, "info")]), ("Slots", slots_with_quota(node), "bold")),
        (("Heartbeat", beat if beat in (UNKNOWN, "now") else f"{beat} ago", ""), ("Quota", quota, "")),
        (("Load", load(node), ""), ("Cores", used(node.cores_used, node.cores_total), "")),
        (("Reason", node.reason or UNKNOWN, ""), ("Memory", memory, "")),
        (("Features", ", ".join(node.features) or UNKNOWN, ""), ("GPUs", used(node.gpus_used, node.gpu_count), "")),
    ]
    right = min(28, width // 3)
    left = max(0, width - right - 1)
    return Content("\n").join(
        Content.assemble(*_pair(*first, left), " ", *_pair(*second, right)) for first, second in rows
    )


def used_sizes(node: Node) -> str:
    if node.memory_bytes_used is None:
        return size(node.memory_bytes_total)
    return f"{size(node.memory_bytes_used)}/{size(node.memory_bytes_total)}"


def _pair(label: str, value: str, style: str, width: int) -> tuple[tuple[str, str], tuple[str, str]]:
    return (fit(label, min(11, width)), "dim"), (fit(clean(value), max(0, width - 11)), style)
