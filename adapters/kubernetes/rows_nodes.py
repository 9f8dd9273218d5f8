"""Nodes as rows of the model: what can be allocated, and what the pods bound to them ask for."""

from __future__ import annotations

from typing import Any

from adapters.kubernetes.quantity import ceil_cores, floor_cores, show_cpu
from adapters.kubernetes.reasons import words
from adapters.kubernetes.records import Amount, NodeRecord, PodRecord
from adapters.kubernetes.world import World, is_workload
from adapters.model import Node, NodeStatus, share
from adapters.text import clean

EXTENSIONS = {
    "uid": "the object's own id",
    "cordoned": "no new pod is placed here (spec.unschedulable)",
    "ready": "what the kubelet last said about itself: True, False or Unknown",
    "taints": "what a pod must tolerate to be placed here",
    "pressure": "what the node runs short of",
    "cpu": "CPU asked for by its pods, of what can be allocated, exactly",
    "pods": "pods bound here, of what the kubelet takes",
    "kubelet": "the kubelet's version",
    "drain_reason": "why it was drained, as the person who did it wrote",
}


def node_row(node: NodeRecord, world: World, cluster: str) -> Node:
    """The row of a node. Slots are pods: the kubelet's limit is the total, a cordoned node has a quota of 0."""
    bound = [pod for pod in world.pods_on(node.key[1]) if not pod.over]
    used = _used(bound) if world.pods_complete else None
    return Node(
        name=clean(node.key[1]),
        status=_status(node, bound, world.pods_complete),
        cores_total=floor_cores(node.offers.cpu) if node.offers.cpu is not None else None,
        cores_used=_cores_used(used.cpu or 0, node.offers.cpu) if used is not None else None,
        memory_bytes_total=node.offers.memory,
        memory_bytes_used=used.memory if used is not None else None,
        gpu_count=node.offers.gpus or 0,
        gpus_used=used.gpus if used is not None else None,
        slots_used=len(bound) if used is not None else None,
        slots_quota=0 if node.unschedulable else None,
        slots_total=node.pods,
        features=tuple(clean(label, 120) for label in node.labels),
        reason=share(_reason(node, world.pods_complete)),
        heartbeat_time=node.heartbeat,
        cluster=cluster,
        extensions=_extensions(node, used, len(bound)),
    )


def _used(bound: list[PodRecord]) -> Amount:
    """What the pods on a node ask for together."""
    return Amount(
        sum(pod.asks.cpu or 0 for pod in bound),
        sum(pod.asks.memory or 0 for pod in bound),
        sum(pod.asks.gpus or 0 for pod in bound),
    )


def _status(node: NodeRecord, bound: list[PodRecord], complete: bool) -> NodeStatus:
    if node.ready is None:
        return "unknown"
    if node.ready != "True":
        return "down"
    if node.unschedulable:
        return "drain"
    if any(is_workload(pod) for pod in bound):
        return "busy"
    return "idle" if complete else "unknown"


def _cores_used(used: int, offered: int | None) -> int:
    """Rounded up, but not above the whole cores of a node that offers a fraction more than it is asked for."""
    if offered is not None and used <= offered:
        return min(ceil_cores(used), floor_cores(offered))
    return ceil_cores(used)


def _reason(node: NodeRecord, complete: bool) -> str | None:
    parts = [] if complete else ["what runs here may not be read"]
    if node.ready != "True" and (node.told.reason or node.told.message):
        parts.append(words(node.told))
    if node.unschedulable:
        parts.append(clean(node.drain_reason, 300) if node.drain_reason else "cordoned")
    parts += [f"{pressure}" for pressure in node.pressures]
    own = "node.kubernetes.io/"
    parts += [f"taint {clean(taint, 120)}" for taint in node.taints if not taint.startswith(own)]
    return clean("; ".join(parts), 400) or None


def _extensions(node: NodeRecord, used: Amount | None, pods: int) -> dict[str, Any]:
    offered = show_cpu(node.offers.cpu) if node.offers.cpu is not None else "?"
    found: dict[str, Any] = {
        "uid": node.uid,
        "cordoned": True if node.unschedulable else None,
        "ready": clean(node.ready, 40) if node.ready is not None else None,
        "taints": tuple(clean(taint, 200) for taint in node.taints) or None,
        "pressure": ", ".join(node.pressures) or None,
        "cpu": f"{show_cpu(used.cpu or 0)}/{offered}" if used is not None else None,
        "pods": f"{pods}/{node.pods if node.pods is not None else '?'}" if used is not None else None,
        "kubelet": clean(node.version, 60) or None,
        "drain_reason": clean(node.drain_reason, 300) if node.drain_reason else None,
    }
    return {name: value for name, value in found.items() if value is not None}
