"""Pods, nodes, quotas and queues to slim records; `SLIMMERS` is the table over all kinds."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from sys import intern
from typing import Any

from adapters.kubernetes.quantity import whole
from adapters.kubernetes.records import NodeRecord, PodRecord, QueueRecord, QuotaRecord, Raw, Record, Told
from adapters.kubernetes.slim import (
    KUEUE_LABEL,
    VOLCANO_ANNOTATION,
    Slimmer,
    amount,
    conditions,
    image_of,
    items,
    joined,
    key_of,
    number,
    owner_of,
    part,
    pod_requests,
    slim_event,
    slim_job,
    slim_limitrange,
    slim_namespace,
    slim_workload,
    text,
    time,
    told,
    uid_of,
)

INDEX_ANNOTATION = "batch.kubernetes.io/job-completion-index"
MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
DRAIN_ANNOTATION = "pilothouse/drain-reason"
_DULL_LABELS = ("beta.kubernetes.io/", "kubernetes.io/", "node.kubernetes.io/exclude", "pilothouse/")
_PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")
MOST_LABELS = 24


def slim_pod(raw: Raw) -> PodRecord:
    metadata, spec, status = part(raw, "metadata"), part(raw, "spec"), part(raw, "status")
    annotations, labels = part(metadata, "annotations"), part(metadata, "labels")
    controller = next((item for item in items(metadata, "ownerReferences") if item.get("controller") is True), None)
    of_job = controller is not None and _is_batch_job(controller)
    containers = _containers(status)
    scheduled = conditions(raw).get("PodScheduled")
    node = text(spec, "nodeName")
    return PodRecord(
        key=key_of(raw),
        uid=uid_of(raw),
        created=time(metadata, "creationTimestamp"),
        deleted=time(metadata, "deletionTimestamp"),
        job_uid=text(controller, "uid") if of_job else None,
        controller=f"{text(controller, 'kind')}/{text(controller, 'name')}" if controller is not None else None,
        controller_kind=intern(text(controller, "kind")) if controller is not None else None,
        mirror=MIRROR_ANNOTATION in annotations,
        owner=owner_of(metadata),
        volcano_queue=text(annotations, VOLCANO_ANNOTATION) or None,
        kueue_queue=text(labels, KUEUE_LABEL) or None,
        completion_index=_index(annotations),
        node=intern(node) if node else None,
        phase=intern(text(status, "phase")),
        status=Told(text(status, "reason"), text(status, "message")),
        unscheduled=told(scheduled) if scheduled is not None and scheduled.get("status") == "False" else None,
        start=time(status, "startTime"),
        asks=pod_requests(spec),
        deadline=number(spec, "activeDeadlineSeconds"),
        image=image_of(spec),
        priority_class=text(spec, "priorityClassName") or None,
        **containers,
    )


def _is_batch_job(reference: Mapping[str, Any]) -> bool:
    return reference.get("kind") == "Job" and text(reference, "apiVersion").partition("/")[0] == "batch"


def _index(annotations: Mapping[str, Any]) -> int | None:
    value = text(annotations, INDEX_ANNOTATION)
    return int(value) if value.isdecimal() and len(value) < 10 else None


def _containers(status: Mapping[str, Any]) -> dict[str, Any]:
    """What the containers of a pod tell: the first that waits, the worst that ended, when they began and ended."""
    states = [(item, part(item, "state")) for item in items(status, "initContainerStatuses")]
    main = [(item, part(item, "state")) for item in items(status, "containerStatuses")]
    waiting = next((part(state, "waiting") for _, state in states + main if part(state, "waiting")), None)
    ended = [part(state, "terminated") for _, state in states + main if part(state, "terminated")]
    worst = max(ended, key=_badness, default=None)
    begun: list[datetime] = [
        at for _, state in main for name in ("running", "terminated") if (at := time(part(state, name), "startedAt"))
    ]
    finished = [at for _, state in main if (at := time(part(state, "terminated"), "finishedAt"))]
    return {
        "waiting": told(waiting) if waiting is not None else None,
        "ended": told(worst, "finishedAt") if worst is not None else None,
        "exit_code": number(worst, "exitCode"),
        "running": any(part(state, "running") for _, state in main),
        "started": min(begun, default=None),
        "finished": max(finished, default=None) if len(finished) == len(main) else None,
        "restarts": sum(number(item, "restartCount") or 0 for item, _ in states + main),
    }


def _badness(terminated: Mapping[str, Any]) -> int:
    return abs(number(terminated, "exitCode") or 0)


def slim_node(raw: Raw) -> NodeRecord:
    metadata, spec, status = part(raw, "metadata"), part(raw, "spec"), part(raw, "status")
    found = conditions(raw)
    ready = found.get("Ready")
    allocatable = part(status, "allocatable")
    return NodeRecord(
        key=key_of(raw),
        uid=uid_of(raw),
        unschedulable=spec.get("unschedulable") is True,
        ready=text(ready, "status") if ready is not None else None,
        told=told(ready) if ready is not None else Told(),
        heartbeat=time(ready, "lastHeartbeatTime") if ready is not None else None,
        pressures=tuple(name for name in _PRESSURES if part(found, name).get("status") == "True"),
        taints=tuple(_taint(item) for item in items(spec, "taints")),
        offers=amount(allocatable),
        pods=whole(allocatable.get("pods")),
        labels=_labels(part(metadata, "labels")),
        drain_reason=text(part(metadata, "annotations"), DRAIN_ANNOTATION) or None,
        version=text(part(status, "nodeInfo"), "kubeletVersion"),
    )


def _taint(item: Mapping[str, Any]) -> str:
    value = text(item, "value")
    return intern(f"{text(item, 'key')}{'=' + value if value else ''}:{text(item, 'effect')}")


def _labels(labels: Mapping[str, Any]) -> tuple[str, ...]:
    """What tells one node from another: roles, zones, models; not what every node has."""
    shown = []
    for name, value in sorted(labels.items()):
        if name.startswith("node-role.kubernetes.io/"):
            shown.append(f"role={name.partition('/')[2]}")
        elif not name.startswith(_DULL_LABELS):
            shown.append(f"{name.rpartition('/')[2]}={value}" if value else name)
    return tuple(intern(one) for one in shown[:MOST_LABELS])


def slim_quota(raw: Raw) -> QuotaRecord:
    spec, status = part(raw, "spec"), part(raw, "status")
    used = part(status, "used")
    limits = tuple((name, str(used.get(name, "")), str(hard)) for name, hard in sorted(part(spec, "hard").items()))
    terms = [
        f"{text(item, 'scopeName')} {text(item, 'operator')} {joined(map(str, item.get('values') or ()))}".strip()
        for item in items(part(spec, "scopeSelector"), "matchExpressions")
    ]
    return QuotaRecord(key_of(raw), uid_of(raw), limits, joined([*map(str, spec.get("scopes") or ()), *terms]))


def slim_localqueue(raw: Raw) -> QueueRecord:
    spec, status = part(raw, "spec"), part(raw, "status")
    active, said = _active(raw)
    return QueueRecord(
        key_of(raw), uid_of(raw), text(spec, "stopPolicy"), "", active, said,
        pending=number(status, "pendingWorkloads"), running=number(status, "admittedWorkloads"),
        parent=text(spec, "clusterQueue") or None,
    )  # fmt: skip


def slim_clusterqueue(raw: Raw) -> QueueRecord:
    spec, status = part(raw, "spec"), part(raw, "status")
    active, said = _active(raw)
    used = {
        (text(flavor, "name"), text(resource, "name")): str(resource.get("total", ""))
        for flavor in items(status, "flavorsUsage")
        for resource in items(flavor, "resources")
    }
    limits = tuple(
        (
            f"{text(flavor, 'name')}:{name}",
            used.get((text(flavor, "name"), name), ""),
            str(resource.get("nominalQuota", "")),
        )
        for group in items(spec, "resourceGroups")
        for flavor in items(group, "flavors")
        for resource in items(flavor, "resources")
        for name in (text(resource, "name"),)
    )
    return QueueRecord(
        key_of(raw), uid_of(raw), text(spec, "stopPolicy"), "", active, said,
        pending=number(status, "pendingWorkloads"), running=number(status, "admittedWorkloads"),
        cohort=text(spec, "cohortName") or text(spec, "cohort") or None, limits=limits,
    )  # fmt: skip


def _active(raw: Raw) -> tuple[bool | None, Told]:
    item = conditions(raw).get("Active")
    return (item.get("status") == "True", told(item)) if item is not None else (None, Told())


def slim_volcanoqueue(raw: Raw) -> QueueRecord:
    spec, status = part(raw, "spec"), part(raw, "status")
    allocated = part(status, "allocated")
    limits = tuple(
        (name, str(allocated.get(name, "")), str(hard)) for name, hard in sorted(part(spec, "capability").items())
    )
    return QueueRecord(
        key_of(raw), uid_of(raw), state=text(status, "state"), pending=number(status, "pending"),
        running=number(status, "running"), parent=text(spec, "parent") or None, limits=limits,
        weight=number(spec, "weight"),
    )  # fmt: skip


def slim(key: str, raw: Raw) -> Record | None:
    """The record of an object of kind `key`; None for one that is not what the API says it is, so that a single
    odd object (of a broken webhook, or a hostile one) does not keep the others from being shown."""
    try:
        record = SLIMMERS[key](raw)
    except (TypeError, ValueError, AttributeError, KeyError, OverflowError):
        return None
    return record if record.key[1] else None


SLIMMERS: Mapping[str, Slimmer] = {
    "jobs": slim_job,
    "pods": slim_pod,
    "nodes": slim_node,
    "namespaces": slim_namespace,
    "resourcequotas": slim_quota,
    "limitranges": slim_limitrange,
    "events": slim_event,
    "localqueues": slim_localqueue,
    "clusterqueues": slim_clusterqueue,
    "workloads": slim_workload,
    "volcanoqueues": slim_volcanoqueue,
}
