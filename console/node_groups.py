"""Which nodes serve which queue, and what a map of them says. No widget is drawn here."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from adapters.model import NODE_STATUSES, Node, Queue, Ref
from adapters.text import clean
from console.sorting import natural
from console.store import Store
from widgets.node_map import MapCell, MapGroup, share_sign
from widgets.nodes import NODE_ROLES

SIGNS: Mapping[str, str] = {"idle": "·", "drain": "D", "down": "X", "unknown": "?"}
"""The sign of a state; a busy node shows how much of it is used instead."""
ALL = frozenset({"all", "ALL"})  # how LSF writes "every host" in a queue


def used_share(node: Node) -> float | None:
    """How much of what may be used is used, from 0 to 1: of slots, or of cores where slots are not told."""
    total, used = node.slots_total, node.slots_used
    if total is not None and node.slots_quota is not None:
        total = min(total, node.slots_quota)
    if not total or used is None:
        total, used = node.cores_total, node.cores_used
    return min(1.0, used / total) if total and used is not None else None


def cell_of(node: Node) -> MapCell:
    if node.status == "busy":
        return MapCell(node.ref, share_sign(used_share(node)), NODE_ROLES["busy"])
    return MapCell(node.ref, SIGNS.get(node.status, "?"), NODE_ROLES.get(node.status, "info"))


def groups(store: Store, clusters: Iterable[str]) -> list[MapGroup]:
    """The nodes of each queue of each cluster; a node that serves several queues is shown in each of them.

    Which nodes a queue has is told by the queue (`hosts`: the native scheduler, LSF) or by the node (`partitions`:
    Slurm). Nodes of no queue, and all of them where nothing tells, come last.
    """
    names = list(clusters)
    made: list[MapGroup] = []
    for cluster in names:
        nodes = sorted((n for n in store.rows("node", [cluster]) if isinstance(n, Node)), key=lambda n: natural(n.name))
        queues = sorted(
            (q for q in store.rows("queue", [cluster]) if isinstance(q, Queue)), key=lambda q: natural(q.name)
        )
        members = _members(nodes, queues)
        prefix = f"{clean(cluster, 30)}/" if len(names) > 1 else ""
        placed: set[Ref] = set()
        for queue in queues:
            if found := members.get(queue.name):
                placed.update(node.ref for node in found)
                made.append(_group(f"{prefix}{clean(queue.name, 40)}", found, queue))
        if rest := [node for node in nodes if node.ref not in placed]:
            made.append(_group(f"{prefix}{'in no queue' if placed else 'all nodes'}", rest))
    return made


def _members(nodes: Iterable[Node], queues: Iterable[Queue]) -> Mapping[str, list[Node]]:
    hosts = {queue.name: frozenset(map(str, queue.extensions.get("hosts") or ())) for queue in queues}
    everywhere = [name for name, found in hosts.items() if found & ALL]
    of_host: dict[str, list[str]] = defaultdict(list)
    for name, found in hosts.items():
        for host in found - ALL:
            of_host[host].append(name)
    members: dict[str, list[Node]] = defaultdict(list)
    for node in nodes:
        partitions = map(str, node.extensions.get("partitions") or ())
        for name in dict.fromkeys((*partitions, *of_host.get(node.name, ()), *everywhere)):
            members[name].append(node)
    return members


def _group(title: str, nodes: list[Node], queue: Queue | None = None) -> MapGroup:
    states = Counter(node.status for node in nodes)
    facts = [f"{len(nodes)} nodes", *(f"{states[status]} {status}" for status in NODE_STATUSES if states[status])]
    known = [(n.slots_used, n.slots_total) for n in nodes if n.slots_used is not None and n.slots_total]
    if known:
        facts.append(f"slots {sum(used for used, _ in known)}/{sum(total for _, total in known)}")
    if queue is not None:
        facts += [f"{n} {word}" for n, word in ((queue.running_jobs, "running"), (queue.pending_jobs, "pending")) if n]
        facts += [queue.status] if queue.status != "active" else []
    return MapGroup(title, ", ".join(facts), tuple(cell_of(node) for node in nodes))
