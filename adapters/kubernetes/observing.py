"""These objects, as they are now: for plans, re-checks and verification."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from adapters.base import Forbidden, NotFound
from adapters.intents import Target
from adapters.kubernetes.client import Api
from adapters.kubernetes.detail import Details
from adapters.kubernetes.discovery import Offer, parse
from adapters.kubernetes.records import Raw
from adapters.kubernetes.resources import RESOURCES
from adapters.kubernetes.rows_nodes import node_row
from adapters.kubernetes.rows_queues import CLUSTERQUEUE, VOLCANO
from adapters.kubernetes.slim import items, part, text
from adapters.kubernetes.slim_more import slim_clusterqueue, slim_node, slim_pod, slim_quota
from adapters.kubernetes.world import World
from adapters.model import Node, Ref
from adapters.text import clean

AT_ONCE = 8
"""Objects read side by side."""


async def observe(api: Api, details: Details, offer: Offer, refs: Sequence[Ref]) -> dict[Ref, Target | None]:
    """Each as a target, None where it is gone or is another object of the same name. Raises AdapterError."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(ref: Ref) -> Target | None:
        async with gate:
            try:
                if ref.kind == "job":
                    return await job_target(details, offer, ref)
                if ref.kind == "node":
                    return await node_target(api, ref)
                return await queue_target(api, offer, ref)
            except NotFound:
                return None

    return dict(zip(refs, await asyncio.gather(*(one(ref) for ref in refs)), strict=True))


async def job_target(details: Details, offer: Offer, ref: Ref) -> Target | None:
    """Raises NotFound."""
    row = await details.row(ref.id, offer)
    if ref.born is not None and row.born != ref.born:
        return None
    values: dict[str, Any] = {
        "walltime_seconds": row.walltime_seconds,
        "suspended": bool(row.extensions.get("suspended")),
        **{name: row.extensions.get(name) for name in ("parallelism", "backoff_limit", "ttl_seconds")},
    }
    return Target(
        ref._replace(born=row.born),
        owner=row.owner,
        state=row.status,
        label=row.name,
        values=values,
        finished=row.finished,
    )


async def read_node(api: Api, name: str, cluster: str) -> tuple[Raw, Node, list[Raw] | None]:
    """A node, its row, and the pods on it: None where they may not be read. Raises NotFound, Forbidden."""
    answer, pods = await asyncio.gather(api.get(RESOURCES["nodes"].path(None, name)), _pods_on(api, name))
    raw = parse(answer.body)
    world = World()
    record = slim_node(raw)
    world.put("nodes", record)
    for pod in pods or ():
        world.put("pods", slim_pod(pod))
    world.know_pods(pods is not None)
    return raw, node_row(record, world, cluster), pods


async def _pods_on(api: Api, node: str) -> list[Raw] | None:
    try:
        listed = await api.get(RESOURCES["pods"].path(None), {"fieldSelector": f"spec.nodeName={node}"})
    except Forbidden:
        return None
    return list(items(parse(listed.body), "items"))


async def node_target(api: Api, ref: Ref) -> Target:
    """Raises NotFound."""
    _, row, _ = await read_node(api, ref.id, ref.cluster)
    return Target(
        ref,
        state=row.status,
        label=row.name,
        values={"slots_quota": row.slots_quota, "unschedulable": bool(row.extensions.get("cordoned"))},
    )


async def queue_target(api: Api, offer: Offer, ref: Ref) -> Target:
    """A queue with its limits as a person names them, so that a new one shows. Raises NotFound."""
    raw = await read_queue(api, offer, ref.id)
    spec = part(raw, "spec")
    values: dict[str, Any] = {}
    if ref.id.startswith(CLUSTERQUEUE) or "/" in ref.id:
        # Told also where it is not set, so that its coming shows when the target is read again.
        values["stop_policy"] = clean(text(spec, "stopPolicy"), 40) or "None"
    if ref.id.startswith(CLUSTERQUEUE):
        for name, _, hard in slim_clusterqueue(raw).limits:
            values[clean(name, 200)] = values[clean(name.rpartition(":")[2], 200)] = hard
    elif ref.id.startswith(VOLCANO):
        values.update({clean(str(name), 200): clean(str(hard), 80) for name, hard in part(spec, "capability").items()})
    elif "/" not in ref.id:
        values.update(await _namespace_limits(api, ref.id))
    state = clean(text(part(raw, "status"), "phase") or text(part(raw, "status"), "state") or "active", 40)
    return Target(ref, state=state, label=clean(ref.id), values=values)


async def _namespace_limits(api: Api, namespace: str) -> dict[str, Any]:
    """Limits of a namespace's quotas: ``quota:resource``, and ``resource`` of those without a scope."""
    try:
        listed = parse((await api.get(RESOURCES["resourcequotas"].path(namespace))).body)
    except Forbidden:
        return {}
    found: dict[str, Any] = {}
    for raw in items(listed, "items"):
        quota = slim_quota(raw)
        for resource, _, hard in quota.limits:
            found[clean(f"{quota.key[1]}:{resource}", 200)] = clean(hard, 80)
            if not quota.scopes:
                found[clean(resource, 200)] = clean(hard, 80)
    return found


async def read_queue(api: Api, offer: Offer, name: str) -> Raw:
    """The object behind a queue's name: a namespace, a LocalQueue, a ClusterQueue or a Volcano Queue.

    Raises NotFound.
    """
    if name.startswith(CLUSTERQUEUE):
        key, namespace, plain = "clusterqueues", None, name.removeprefix(CLUSTERQUEUE)
    elif name.startswith(VOLCANO):
        key, namespace, plain = "volcanoqueues", None, name.removeprefix(VOLCANO)
    elif "/" in name:
        key = "localqueues"
        namespace, _, plain = name.partition("/")
    else:
        return await _namespace(api, name)
    if key not in offer.kinds:
        raise NotFound(f"There is no queue {clean(name, 200)}.", "Its kind does not exist on this cluster.")
    return parse((await api.get(offer.kinds[key].path(namespace, plain))).body)


async def _namespace(api: Api, name: str) -> Raw:
    """A namespace; a person who may not read it still sees its quotas, so a bare stand-in with its name will do."""
    try:
        return parse((await api.get(RESOURCES["namespaces"].path(None, name))).body)
    except Forbidden:
        return {"kind": "Namespace", "metadata": {"name": name}}
