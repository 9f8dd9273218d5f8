"""Queues as rows of the model: namespaces with their quotas, Kueue's and Volcano's queues where there are any.

Names: ``team-a`` is a namespace, ``team-a/user-queue`` a Kueue LocalQueue, ``clusterqueue:gpu`` a Kueue ClusterQueue,
``volcano:research`` a Volcano Queue. A Kubernetes name holds neither "/" nor ":".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from adapters.kubernetes.quantity import QuantityError, ceil_cores, quantity
from adapters.kubernetes.reasons import words
from adapters.kubernetes.records import LimitRangeRecord, NamespaceRecord, QueueRecord, QuotaRecord
from adapters.kubernetes.world import World
from adapters.model import Queue, QueueStatus, ResourceSpec
from adapters.text import clean

CLUSTERQUEUE, VOLCANO = "clusterqueue:", "volcano:"
EXTENSIONS = {
    "uid": "the object's own id",
    "kind": "what it is in the API: Namespace, LocalQueue, ClusterQueue or Queue",
    "quota": "what is used and what is allowed, by resource",
    "tightest": "the limit that is nearest to being reached",
    "phase": "the namespace's phase",
    "cluster_queue": "the ClusterQueue that a LocalQueue draws from",
    "cohort": "the cohort a ClusterQueue may borrow from",
    "stop_policy": "whether it is stopped: Hold keeps what runs, HoldAndDrain evicts it",
    "state": "the state that Volcano tells",
    "weight": "its share among Volcano's queues",
    "reason": "why it does not start jobs",
}


def namespace_row(
    name: str,
    world: World,
    cluster: str,
    counts: Mapping[str, int],
    quotas: list[QuotaRecord],
    limits: list[LimitRangeRecord],
) -> Queue:
    """The row of a namespace. `counts` are its jobs by status."""
    record = cast("NamespaceRecord | None", world.tables["namespaces"].get(("", name)))
    phase = record.phase if record is not None else ""
    status: QueueStatus = "draining" if phase == "Terminating" else "active"
    found: dict[str, Any] = {
        "uid": record.uid if record is not None else None,
        "kind": "Namespace",
        "phase": clean(phase, 40) or None,
        "quota": _quota_table(quotas) or None,
        "tightest": _tightest([limit for quota in quotas if not quota.scopes for limit in quota.limits]),
    }
    return Queue(
        name=clean(name),
        status=status,
        running_jobs=counts.get("running", 0),
        pending_jobs=counts.get("pending", 0),
        default_resources=_defaults(limits),
        cluster=cluster,
        extensions={key: value for key, value in found.items() if value is not None},
    )


def _defaults(limits: list[LimitRangeRecord]) -> ResourceSpec:
    for record in limits:
        asked = record.defaults
        if any(part is not None for part in asked):
            cores = ceil_cores(asked.cpu) if asked.cpu is not None else None
            return ResourceSpec(cores=cores, memory_bytes=asked.memory, gpus=asked.gpus)
    return ResourceSpec()


def _quota_table(quotas: list[QuotaRecord]) -> dict[str, str]:
    """``name: resource`` -> ``used/hard``; the quota's scope beside its name."""
    table = {}
    for quota in sorted(quotas):
        scope = f" ({clean(quota.scopes, 120)})" if quota.scopes else ""
        for resource, used, hard in quota.limits:
            table[clean(f"{quota.key[1]}{scope}: {resource}", 240)] = clean(f"{used or '-'}/{hard}", 80)
    return table


def _tightest(limits: list[tuple[str, str, str]]) -> str | None:
    """The limit that is used most, in words; units are mixed (``110100m`` of ``140``), so the values are compared."""
    shares = [(share, limit) for limit in limits if (share := _share(limit[1], limit[2])) is not None]
    if not shares:
        return None
    share, (resource, used, hard) = max(shares)
    return clean(f"{resource} {used}/{hard} ({float(share):.0%})", 120)


def _share(used: str, hard: str) -> float | None:
    try:
        limit = quantity(hard)
        return float(quantity(used) / limit) if limit else 1.0
    except QuantityError:
        return None


def localqueue_row(queue: QueueRecord, cluster: str, counts: Mapping[str, int]) -> Queue:
    """The row of a Kueue LocalQueue; its jobs are counted where we see them."""
    return Queue(
        name=clean(f"{queue.key[0]}/{queue.key[1]}", 300),
        status=_kueue_status(queue),
        running_jobs=counts.get("running", 0),
        pending_jobs=max(counts.get("pending", 0), queue.pending or 0),
        cluster=cluster,
        extensions=_extensions(queue, "LocalQueue"),
    )


def clusterqueue_row(queue: QueueRecord, cluster: str) -> Queue:
    """The row of a Kueue ClusterQueue, with Kueue's own counts of workloads."""
    return Queue(
        name=clean(f"{CLUSTERQUEUE}{queue.key[1]}", 300),
        status=_kueue_status(queue),
        running_jobs=queue.running,
        pending_jobs=queue.pending,
        cluster=cluster,
        extensions=_extensions(queue, "ClusterQueue"),
    )


def volcanoqueue_row(queue: QueueRecord, cluster: str) -> Queue:
    """The row of a Volcano Queue, with Volcano's own counts of pod groups."""
    states: dict[str, QueueStatus] = {"Open": "active", "Closed": "inactive", "Closing": "draining"}
    return Queue(
        name=clean(f"{VOLCANO}{queue.key[1]}", 300),
        status=states.get(queue.state, "unknown"),
        running_jobs=queue.running,
        pending_jobs=queue.pending,
        cluster=cluster,
        extensions=_extensions(queue, "Queue"),
    )


def _kueue_status(queue: QueueRecord) -> QueueStatus:
    if queue.stop == "HoldAndDrain":
        return "draining"
    if queue.stop == "Hold" or queue.active is False:
        return "inactive"
    return "active" if queue.active else "unknown"


def _extensions(queue: QueueRecord, kind: str) -> dict[str, Any]:
    quota = {clean(name, 200): clean(f"{used or '-'}/{hard}", 80) for name, used, hard in queue.limits}
    found: dict[str, Any] = {
        "uid": queue.uid,
        "kind": kind,
        "quota": quota or None,
        "tightest": _tightest(list(queue.limits)),
        "cluster_queue": clean(queue.parent, 200) if queue.parent and kind == "LocalQueue" else None,
        "cohort": clean(queue.cohort, 200) if queue.cohort else None,
        "stop_policy": clean(queue.stop, 40) if queue.stop not in ("", "None") else None,
        "state": clean(queue.state, 40) or None,
        "weight": queue.weight,
        "reason": words(queue.told) if queue.active is False else None,
    }
    return {key: value for key, value in found.items() if value is not None}
