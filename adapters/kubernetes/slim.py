"""API objects to slim records. Tolerant of absent and null fields (bookmarks carry ``containers: null``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from sys import intern
from typing import Any

from adapters.kubernetes.quantity import nano, whole
from adapters.kubernetes.records import (
    Amount,
    EventRecord,
    JobRecord,
    Key,
    LimitRangeRecord,
    NamespaceRecord,
    Raw,
    Record,
    Told,
    WorkloadRecord,
)

OWNER_ANNOTATION = "pilothouse/owner"
INTENT_LABEL = "pilothouse/intent-id"
OWNER_LABELS = ("user", "owner", "app.kubernetes.io/created-by")
"""Kubernetes has no owner of a job: ours is an annotation, others are the labels that sites commonly set."""
KUEUE_LABEL = "kueue.x-k8s.io/queue-name"
KUEUE_JOB_UID = "kueue.x-k8s.io/job-uid"
VOLCANO_ANNOTATION = "scheduling.volcano.sh/queue-name"
_NOTHING: Mapping[str, Any] = {}
# Parsed JSON holds dicts and nothing else; asking for dict is ten times as quick as asking for Mapping, and these four
# are called a hundred times an object.


def part(raw: Any, name: str) -> Mapping[str, Any]:
    """A mapping within an object; empty where it is absent, null or something else."""
    value = raw.get(name) if isinstance(raw, dict) else None
    return value if isinstance(value, dict) else _NOTHING


def items(raw: Any, name: str) -> list[Mapping[str, Any]]:
    """The mappings of a list within an object."""
    value = raw.get(name) if isinstance(raw, dict) else None
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text(raw: Any, name: str) -> str:
    value = raw.get(name) if isinstance(raw, dict) else None
    return value if isinstance(value, str) else ""


def number(raw: Any, name: str) -> int | None:
    value = raw.get(name) if isinstance(raw, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def time(raw: Any, name: str) -> datetime | None:
    """A timestamp (RFC 3339) in UTC; None where it is absent or none."""
    value = raw.get(name) if isinstance(raw, dict) else None
    if not isinstance(value, str):
        return None
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        return None
    return parsed.astimezone(UTC) if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def key_of(raw: Raw) -> Key:
    metadata = part(raw, "metadata")
    return intern(text(metadata, "namespace")), text(metadata, "name")


def uid_of(raw: Raw) -> str:
    return text(part(raw, "metadata"), "uid")


def conditions(raw: Any) -> dict[str, Mapping[str, Any]]:
    return {text(item, "type"): item for item in items(part(raw, "status"), "conditions")}


def told(item: Any, at: str = "lastTransitionTime") -> Told:
    return Told(intern(text(item, "reason")), text(item, "message"), time(item, at))


def holds(found: Mapping[str, Mapping[str, Any]], name: str) -> Told | None:
    """The condition of that type if it is true."""
    item = found.get(name)
    return told(item) if item is not None and item.get("status") == "True" else None


def owner_of(metadata: Mapping[str, Any]) -> str | None:
    annotated = text(part(metadata, "annotations"), OWNER_ANNOTATION)
    labels = part(metadata, "labels")
    found = annotated or next((value for name in OWNER_LABELS if (value := text(labels, name))), "")
    return intern(found) if found else None


@lru_cache(maxsize=1024)
def is_gpu(name: str) -> bool:
    """Whether a resource is a kind of GPU: nvidia.com/gpu, amd.com/gpu, gpu.intel.com/i915, nvidia.com/mig-1g.5gb."""
    return name.endswith("/gpu") or name.startswith(("gpu.", "nvidia.com/mig-")) or "/gpu-" in name


def amount(resources: Mapping[str, Any]) -> Amount:
    """A resource list (requests, allocatable) as an amount."""
    if not resources:
        return NOTHING_ASKED
    gpus = [whole(value) or 0 for name, value in resources.items() if is_gpu(name)]
    return Amount(nano(resources.get("cpu")), whole(resources.get("memory")), sum(gpus) if gpus else None)


NOTHING_ASKED = Amount()


def add(one: Amount, other: Amount) -> Amount:
    if one is NOTHING_ASKED or other is NOTHING_ASKED:
        return other if one is NOTHING_ASKED else one
    return Amount(*(b if a is None else a if b is None else a + b for a, b in zip(one, other, strict=True)))


def most(one: Amount, other: Amount) -> Amount:
    if one is NOTHING_ASKED or other is NOTHING_ASKED:
        return other if one is NOTHING_ASKED else one
    return Amount(*(b if a is None else a if b is None else max(a, b) for a, b in zip(one, other, strict=True)))


def _requests(container: Mapping[str, Any]) -> Amount:
    """What a container asks for; a limit without a request is the request (as the API defaults it)."""
    resources = part(container, "resources")
    limits = part(resources, "limits")
    return amount({**limits, **part(resources, "requests")} if limits else part(resources, "requests"))


def pod_requests(spec: Mapping[str, Any]) -> Amount:
    """What a pod takes of a node, by the scheduler's rule: containers and sidecars together, or the largest init
    container beside the sidecars started before it; a pod-level request wins; then the runtime's overhead."""
    running = NOTHING_ASKED
    for container in items(spec, "containers"):
        running = add(running, _requests(container))
    sidecars, start = NOTHING_ASKED, NOTHING_ASKED
    for container in items(spec, "initContainers"):
        asked = _requests(container)
        if container.get("restartPolicy") == "Always":
            sidecars = add(sidecars, asked)
            start = most(start, sidecars)
        else:
            start = most(start, add(sidecars, asked))
    needed = most(add(running, sidecars), start)
    whole_pod = amount(part(part(spec, "resources"), "requests"))
    if whole_pod is not NOTHING_ASKED:
        needed = Amount(*(own if own is not None else sum_ for own, sum_ in zip(whole_pod, needed, strict=True)))
    return add(needed, amount(part(spec, "overhead")))


def image_of(spec: Mapping[str, Any]) -> str:
    return intern(next((text(container, "image") for container in items(spec, "containers")), ""))


def slim_job(raw: Raw) -> JobRecord:
    metadata, spec, status = part(raw, "metadata"), part(raw, "spec"), part(raw, "status")
    found = conditions(raw)
    pod = part(part(spec, "template"), "spec")
    annotations = part(part(part(spec, "template"), "metadata"), "annotations")
    source = next((item for item in items(metadata, "ownerReferences") if item.get("controller") is True), None)
    parallelism = number(spec, "parallelism")
    return JobRecord(
        key=key_of(raw),
        uid=uid_of(raw),
        created=time(metadata, "creationTimestamp"),
        deleted=time(metadata, "deletionTimestamp"),
        owner=owner_of(metadata),
        source=f"{text(source, 'kind')}/{text(source, 'name')}" if source else None,
        kueue_queue=text(part(metadata, "labels"), KUEUE_LABEL) or None,
        volcano_queue=text(annotations, VOLCANO_ANNOTATION) or None,
        parallelism=1 if parallelism is None else parallelism,
        completions=number(spec, "completions"),
        indexed=spec.get("completionMode") == "Indexed",
        deadline=number(spec, "activeDeadlineSeconds"),
        backoff_limit=number(spec, "backoffLimit"),
        ttl=number(spec, "ttlSecondsAfterFinished"),
        suspend=spec.get("suspend") is True,
        managed_by=text(spec, "managedBy") or None,
        asks=pod_requests(pod),
        image=image_of(pod),
        priority_class=text(pod, "priorityClassName") or None,
        start=time(status, "startTime"),
        completion=time(status, "completionTime"),
        active=number(status, "active") or 0,
        ready=number(status, "ready") or 0,
        succeeded=number(status, "succeeded") or 0,
        failed=number(status, "failed") or 0,
        terminating=number(status, "terminating") or 0,
        completed_indexes=text(status, "completedIndexes"),
        failed_indexes=text(status, "failedIndexes"),
        complete=holds(found, "Complete"),
        failure=holds(found, "Failed"),
        ending=holds(found, "FailureTarget") or holds(found, "SuccessCriteriaMet"),
        suspended=holds(found, "Suspended"),
        reported=bool(status),
        finalizers=tuple(str(item) for item in metadata.get("finalizers") or ()),
    )


def slim_namespace(raw: Raw) -> NamespaceRecord:
    return NamespaceRecord(key_of(raw), uid_of(raw), text(part(raw, "status"), "phase"))


def slim_limitrange(raw: Raw) -> LimitRangeRecord:
    for item in items(part(raw, "spec"), "limits"):
        if item.get("type") == "Container":
            defaults = {**part(item, "default"), **part(item, "defaultRequest")}
            return LimitRangeRecord(key_of(raw), uid_of(raw), amount(defaults))
    return LimitRangeRecord(key_of(raw), uid_of(raw))


def slim_event(raw: Raw) -> EventRecord:
    series = part(raw, "series")
    at = time(series, "lastObservedTime") or time(raw, "lastTimestamp") or time(raw, "eventTime")
    said = Told(intern(text(raw, "reason")), text(raw, "message"), at)
    return EventRecord(key_of(raw), uid_of(raw), text(part(raw, "involvedObject"), "uid"), said)


def slim_workload(raw: Raw) -> WorkloadRecord:
    metadata = part(raw, "metadata")
    found = conditions(raw)
    job_uid = text(part(metadata, "labels"), KUEUE_JOB_UID) or next(
        (text(item, "uid") for item in items(metadata, "ownerReferences") if item.get("kind") == "Job"), ""
    )
    waiting = found.get("QuotaReserved") or found.get("Admitted")
    return WorkloadRecord(
        key=key_of(raw),
        uid=uid_of(raw),
        job_uid=job_uid or None,
        admitted=holds(found, "Admitted") is not None,
        active=part(raw, "spec").get("active") is not False,
        told=told(waiting) if waiting is not None else Told(),
    )


Slimmer = Callable[[Raw], Record]


def joined(parts: Iterable[str]) -> str:
    return ", ".join(one for one in parts if one)
