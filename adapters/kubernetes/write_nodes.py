"""Writes on nodes: drain, undrain, and what Kubernetes has instead of a quota of slots.

A drain is a cordon and then one eviction a pod. As with kubectl, pods of DaemonSets and mirror pods stay, and so do
pods that nothing would make anew: kubectl refuses those without --force, here the plan names them. Evictions respect
disruption budgets; a pod that one protects is tried again for a while.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from adapters.base import Forbidden, Unsupported
from adapters.intents import Change, DrainNode, HttpRequest, Intent, SetNodeQuota, Target, TargetedIntent
from adapters.kubernetes.access import Right
from adapters.kubernetes.drafts import JSON_BODY, Desk, Draft, patch, pointer, step
from adapters.kubernetes.observing import read_node
from adapters.kubernetes.records import PodRecord, Raw
from adapters.kubernetes.resources import RESOURCES
from adapters.kubernetes.rows_jobs import pod_id, pod_row
from adapters.kubernetes.slim import items, part, uid_of
from adapters.kubernetes.slim_more import DRAIN_ANNOTATION, slim_pod
from adapters.model import Node, Ref
from adapters.text import clean

MOST_NAMED = 5
EVICTION = "policy/v1"
"""The version of an eviction; servers of 1.22 and later know it."""


@dataclass(slots=True)
class Sorted:
    """The pods of a node by what a drain does with them."""

    evicted: list[tuple[PodRecord, Raw]] = field(default_factory=list)
    daemons: list[str] = field(default_factory=list)
    bare: list[str] = field(default_factory=list)
    local_data: list[str] = field(default_factory=list)


def sort_pods(pods: list[Raw]) -> Sorted:
    """Sort as kubectl drain does. Pods that are over stay too: only their logs are left of them."""
    found = Sorted()
    for raw in pods:
        pod = slim_pod(raw)
        name = f"{pod.key[0]}/{pod.key[1]}"
        if pod.over or pod.mirror or pod.deleted is not None:
            continue
        if pod.controller_kind == "DaemonSet":
            found.daemons.append(name)
        elif pod.controller_kind is None:
            found.bare.append(name)
        else:
            found.evicted.append((pod, raw))
            if any("emptyDir" in volume for volume in items(part(raw, "spec"), "volumes")):
                found.local_data.append(name)
    found.evicted.sort(key=lambda pair: pair[0].key)
    return found


def _named(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return clean(", ".join(sorted(names)[:MOST_NAMED]) + more, 600)


async def _looked_at(desk: Desk, intent: Intent) -> list[tuple[Target, Raw, Node, list[Raw] | None]]:
    """Each node as it is now. Raises NotFound, Forbidden."""
    await desk.must_be_allowed(Right("patch", "", "nodes"))
    found = []
    for ref in cast(TargetedIntent, intent).refs:
        raw, row, pods = await read_node(desk.api, ref.id, desk.cluster)
        values = {"slots_quota": row.slots_quota, "unschedulable": bool(row.extensions.get("cordoned"))}
        found.append((Target(ref, state=row.status, label=row.name, values=values), raw, row, pods))
    return found


def cordon(desk: Desk, name: str, raw: Raw, wanted: bool, reason: str | None) -> HttpRequest:
    """Let nothing new start on a node, or let it again; the reason is kept as an annotation."""
    ops: list[Mapping[str, Any]] = [{"op": "add", "path": "/spec/unschedulable", "value": wanted}]
    annotations = part(part(raw, "metadata"), "annotations")
    where = pointer("metadata", "annotations", DRAIN_ANNOTATION)
    if wanted and reason is not None:
        if not annotations:
            ops.append({"op": "add", "path": "/metadata/annotations", "value": {}})
        ops.append({"op": "add", "path": where, "value": reason})
    elif not wanted and DRAIN_ANNOTATION in annotations:
        ops.append({"op": "remove", "path": where})
    return patch(desk.api.prefix + RESOURCES["nodes"].path(None, name), uid_of(raw), ops)


async def plan_drain(desk: Desk, intent: Intent) -> Draft:
    wanted = cast(DrainNode, intent)
    draft = Draft(undo="Undrain it; pods that were evicted do not come back to it.")
    for target, raw, row, pods in await _looked_at(desk, intent):
        name = target.ref.id
        draft.add(
            step(cordon(desk, name, raw, True, wanted.reason), target, f"Cordon {clean(name, 200)}"),
            Change(target.ref, "status", row.status, "drain"),
        )
        if desk.evict and pods is None:
            raise Forbidden(
                f"The pods on {clean(name, 200)} may not be read, so none can be evicted.",
                "Ask for the right to list pods in the cluster, or let the profile drain without evictions (evict).",
            )
        if desk.evict and pods is not None:
            await _evictions(desk, draft, name, sort_pods(pods))
    return draft


async def _evictions(desk: Desk, draft: Draft, node: str, pods: Sorted) -> None:
    for pod, _ in pods.evicted:
        await desk.must_be_allowed(Right("create", "", "pods", pod.key[0], "eviction"))
        row = pod_row(pod, desk.cluster)
        ref = Ref(desk.cluster, "job", pod_id(pod.key), pod.uid)
        target = Target(ref, owner=row.owner, state=row.status, label=row.name, values={"node": node})
        draft.add(
            step(
                eviction(desk, pod),
                target,
                f"Evict {clean('/'.join(pod.key), 200)} ({clean(pod.controller or '', 120)})",
            ),
            Change(ref, "node", clean(node), "-"),
        )
    if pods.evicted:
        draft.warnings.append(
            f"{len(pods.evicted)} pods are evicted from {clean(node)}: what they have not saved is lost."
        )
    if pods.local_data:
        draft.warnings.append(f"These lose data that lies on the node (emptyDir): {_named(pods.local_data)}.")
    if pods.daemons:
        draft.warnings.append(f"Pods of DaemonSets stay: {_named(pods.daemons)}.")
    if pods.bare:
        draft.warnings.append(
            f"These stay, as nothing would make them anew: {_named(pods.bare)}. Cancel them if they must go."
        )


def eviction(desk: Desk, pod: PodRecord) -> HttpRequest:
    """An eviction of this very pod (else 409); refused with 429 while a disruption budget protects it."""
    namespace, name = pod.key
    body = {
        "apiVersion": EVICTION,
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": namespace},
        "deleteOptions": {"preconditions": {"uid": pod.uid}},
    }
    path = desk.api.prefix + RESOURCES["pods"].path(namespace, name, "eviction")
    return HttpRequest("POST", path, JSON_BODY, json.dumps(body).encode())


async def plan_undrain(desk: Desk, intent: Intent) -> Draft:
    draft = Draft(undo="Drain it.")
    for target, raw, row, _ in await _looked_at(desk, intent):
        _uncordon(desk, draft, target, raw, row)
    return draft


def _uncordon(desk: Desk, draft: Draft, target: Target, raw: Raw, row: Node) -> None:
    name = target.ref.id
    after = "down" if row.status == "down" else "idle"
    draft.add(
        step(cordon(desk, name, raw, False, None), target, f"Uncordon {clean(name, 200)}"),
        Change(target.ref, "status", row.status, after),
    )
    own = "node.kubernetes.io/unschedulable"
    taints = [taint for taint in row.extensions.get("taints", ()) if not str(taint).startswith(own)]
    if taints:
        draft.warnings.append(f"{clean(name)} keeps its taints: {clean(', '.join(map(str, taints)), 300)}.")


async def plan_set_node_quota(desk: Desk, intent: Intent) -> Draft:
    """0 pauses a node (a cordon without evictions), None lets it start pods again; nothing else exists."""
    slots = cast(SetNodeQuota, intent).slots
    if slots not in (0, None):
        raise Unsupported(
            "A node's limit of pods is the kubelet's own (maxPods, in its configuration): it cannot be set from here.",
            "0 pauses the node (cordon), clearing the quota undoes that; limit a namespace by its quota instead.",
        )
    draft = Draft(undo="Clear the quota." if slots == 0 else "Set the quota to 0.")
    for target, raw, row, _ in await _looked_at(desk, intent):
        name = target.ref.id
        if slots is None:
            _uncordon(desk, draft, target, raw, row)
        else:
            draft.add(step(cordon(desk, name, raw, True, None), target, f"Cordon {clean(name, 200)}"))
        draft.changes.append(
            Change(
                target.ref,
                "slots_quota",
                "-" if row.slots_quota is None else str(row.slots_quota),
                "0" if slots == 0 else "-",
            )
        )
    return draft
