"""One job with everything the server tells: its pods, its events, its labels; and the elements of Indexed jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adapters.base import AdapterError, Forbidden, NotFound
from adapters.kubernetes.client import Api
from adapters.kubernetes.discovery import Offer, parse
from adapters.kubernetes.reasons import pod_wait, words
from adapters.kubernetes.records import JobRecord, PodRecord, Raw
from adapters.kubernetes.resources import RESOURCES
from adapters.kubernetes.rows import Memory
from adapters.kubernetes.rows_jobs import job_id, job_row, pod_id, pod_row
from adapters.kubernetes.slim import (
    KUEUE_JOB_UID,
    conditions,
    items,
    key_of,
    part,
    slim_job,
    slim_workload,
    text,
    uid_of,
)
from adapters.kubernetes.slim_more import slim, slim_pod
from adapters.kubernetes.world import World
from adapters.model import ArrayInfo, Job, Ref
from adapters.text import clean

JOB_UID_LABEL = "batch.kubernetes.io/controller-uid"
MOST_EVENTS, MOST_PODS, LONGEST_VALUE = 50, 200, 500


@dataclass(frozen=True, slots=True)
class Named:
    """A job's id taken apart: ``namespace/name`` or ``namespace/pod/name``."""

    namespace: str
    name: str
    is_pod: bool = False


def parse_job_id(id: str, namespace: str) -> Named:
    """A bare name is one in the kubeconfig's namespace."""
    parts = id.split("/")
    if len(parts) == 3 and parts[1] == "pod":
        return Named(parts[0], parts[2], True)
    if len(parts) == 2:
        return Named(parts[0], parts[1])
    return Named(namespace, id)


class Details:
    """Reads of single jobs."""

    def __init__(self, api: Api, cluster: str, memory: Memory) -> None:
        self._api = api
        self._cluster = cluster
        self._memory = memory

    def named(self, id: str) -> Named:
        return parse_job_id(id, self._api.config.namespace)

    def full_id(self, id: str) -> str:
        named = self.named(id)
        return (pod_id if named.is_pod else job_id)((named.namespace, named.name))

    async def raw(self, id: str) -> Raw:
        """The object of a job. Raises NotFound."""
        named = self.named(id)
        kind = RESOURCES["pods" if named.is_pod else "jobs"]
        if not named.name or not named.namespace or "/" in named.name:
            raise NotFound(f"There is no job {clean(id, 200)}.", "A job is namespace/name or namespace/pod/name.")
        return parse((await self._api.get(kind.path(named.namespace, named.name))).body)

    async def job(self, id: str, offer: Offer) -> Job:
        """The row with pods, events, labels and conditions. Raises NotFound."""
        raw = await self._raw_or_remembered(id)
        if isinstance(raw, Job):
            return raw
        named = self.named(id)
        pods, events = await asyncio.gather(self.pods_of(raw, named), self._events(raw))
        row = await self._row(raw, pods, events, offer, named.is_pod)
        return row._replace(extensions={**row.extensions, **_more(raw, pods, events)})

    async def row(self, id: str, offer: Offer) -> Job:
        """The row with what tells its state, in as few requests as can be: events only say why. Raises NotFound."""
        raw = await self._raw_or_remembered(id)
        if isinstance(raw, Job):
            return raw
        named = self.named(id)
        needs_pods = not named.is_pod and slim_job(raw).active > 0
        return await self._row(raw, await self.pods_of(raw, named) if needs_pods else [], [], offer, named.is_pod)

    async def _raw_or_remembered(self, id: str) -> Raw | Job:
        try:
            return await self.raw(id)
        except NotFound:
            held = self._memory.get(self.full_id(id), self._api.now())
            if held is not None:
                return held
            raise

    async def _row(self, raw: Raw, pods: Sequence[Raw], events: Sequence[Raw], offer: Offer, is_pod: bool) -> Job:
        if is_pod:
            return pod_row(slim_pod(raw), self._cluster)
        world = World()
        record = slim_job(raw)
        world.put("jobs", record)
        for pod in pods:
            world.put("pods", slim_pod(pod))
        for event in events:
            held = slim("events", event)
            if text(event, "reason") == "FailedCreate" and held is not None:
                world.put("events", held)
        if record.kueue_queue and "workloads" in offer.kinds:
            await self._add_workload(world, record, offer)
        return job_row(record, world, self._cluster)

    async def _add_workload(self, world: World, record: JobRecord, offer: Offer) -> None:
        kind = offer.kinds["workloads"]
        try:
            found = parse(
                (await self._api.get(kind.path(record.key[0]), {"labelSelector": f"{KUEUE_JOB_UID}={record.uid}"})).body
            )
        except AdapterError:
            return
        for item in items(found, "items"):
            world.put("workloads", slim_workload(item))

    async def pods_of(self, raw: Raw, named: Named) -> list[Raw]:
        """The pods of a job, oldest first; the pod itself where it stands alone. Empty where they may not be read."""
        if named.is_pod:
            return [raw]
        params = {"labelSelector": _selector(raw)}
        try:
            found = parse((await self._api.get(RESOURCES["pods"].path(named.namespace), params)).body)
        except Forbidden:
            return []
        pods = [pod for pod in items(found, "items") if _is_made_by(uid_of(raw), pod)]
        return sorted(pods, key=lambda pod: (text(part(pod, "metadata"), "creationTimestamp"), key_of(pod)))

    async def pods(self, id: str) -> list[Raw]:
        """The pods whose output is the job's. Raises NotFound."""
        named = self.named(id)
        return await self.pods_of(await self.raw(id), named)

    async def _events(self, raw: Raw) -> list[Raw]:
        """What happened to an object lately, oldest first; empty where events may not be read."""
        namespace, name = key_of(raw)
        params = {"fieldSelector": f"involvedObject.name={name},involvedObject.uid={uid_of(raw)}"}
        try:
            found = items(parse((await self._api.get(RESOURCES["events"].path(namespace), params)).body), "items")
        except AdapterError:
            return []
        return sorted(found, key=lambda event: text(event, "lastTimestamp") or text(event, "eventTime"))

    async def jobs_with(self, params: Mapping[str, str], namespaces: Sequence[str] | None) -> list[Ref]:
        """Jobs that a selector finds, in the whole cluster or in these namespaces."""
        kind = RESOURCES["jobs"]
        places: Sequence[str | None] = list(namespaces) if namespaces is not None else [None]
        try:
            bodies = [await self._api.get(kind.path(place), params) for place in places]
        except Forbidden:
            bodies = [await self._api.get(kind.path(self._api.config.namespace), params)]
        found = [item for answer in bodies for item in items(parse(answer.body), "items")]
        return [Ref(self._cluster, "job", job_id(key_of(item)), uid_of(item) or None) for item in found]


def _selector(job: Raw) -> str:
    """A Job's own selector of its pods as a query. The label alone would miss the pods of Jobs with `manualSelector`,
    and those of servers that name the label otherwise (before 1.27)."""
    told = part(part(job, "spec"), "selector")
    terms = [f"{name}={value}" for name, value in part(told, "matchLabels").items()]
    for one in items(told, "matchExpressions"):
        key, operator, values = text(one, "key"), text(one, "operator"), one.get("values")
        listed = ",".join(map(str, values)) if isinstance(values, list) else ""
        forms = {"In": f"{key} in ({listed})", "NotIn": f"{key} notin ({listed})", "Exists": key}
        terms.append(forms.get(operator, f"!{key}"))
    return ",".join(terms) or f"{JOB_UID_LABEL}={uid_of(job)}"


def _is_made_by(uid: str, pod: Raw) -> bool:
    """Whether this Job made the pod: a selector may find those of others too."""
    return any(
        one.get("controller") is True and one.get("uid") == uid
        for one in items(part(pod, "metadata"), "ownerReferences")
    )


def _more(raw: Raw, pods: Sequence[Raw], events: Sequence[Raw]) -> dict[str, Any]:
    """What only the detail of a job has."""
    metadata = part(raw, "metadata")
    annotations = {
        clean(str(name), 200): clean(str(value), LONGEST_VALUE)
        for name, value in list(part(metadata, "annotations").items())[:MOST_EVENTS]
        if name != "kubectl.kubernetes.io/last-applied-configuration"
    }
    container = next(iter(items(_pod_spec(raw), "containers")), {})
    command = [*(container.get("command") or ()), *(container.get("args") or ())]
    found: dict[str, Any] = {
        "command": tuple(clean(str(word), LONGEST_VALUE) for word in command[:MOST_EVENTS]),
        "cwd": clean(text(container, "workingDir"), LONGEST_VALUE),
        "labels": {clean(str(name), 200): clean(str(value), 200) for name, value in part(metadata, "labels").items()},
        "annotations": annotations,
        "conditions": tuple(
            clean(f"{name}={text(item, 'status')} {text(item, 'reason')}: {text(item, 'message')}", LONGEST_VALUE)
            for name, item in conditions(raw).items()
        ),
        "pod_list": tuple(_pod_line(slim_pod(pod)) for pod in pods[-MOST_PODS:]),
        "events": tuple(_event_line(event) for event in events[-MOST_EVENTS:]),
    }
    return {name: value for name, value in found.items() if value}


def _pod_spec(raw: Raw) -> Raw:
    """The pod's specification within a Job or a pod."""
    spec = part(raw, "spec")
    return part(part(spec, "template"), "spec") if "template" in spec else spec


def _pod_line(pod: PodRecord) -> str:
    wait = words(pod_wait(pod)) if not pod.over and not pod.running else ""
    ended = words(pod.ended) if pod.ended is not None and pod.phase == "Failed" else ""
    parts = [pod.key[1], pod.phase, pod.node or "", wait or ended]
    return clean("  ".join(part for part in parts if part), LONGEST_VALUE)


def _event_line(event: Raw) -> str:
    at = text(event, "lastTimestamp") or text(event, "eventTime") or text(part(event, "metadata"), "creationTimestamp")
    count = event.get("count")
    times = f" (x{count})" if isinstance(count, int) and count > 1 else ""
    return clean(f"{at} {text(event, 'reason')}{times}: {text(event, 'message')}", LONGEST_VALUE)


def element_rows(parent: Job, world: World, cluster: str) -> list[Job]:
    """The elements of an Indexed job, as far as they have pods: one row an index, made of its latest pod."""
    if parent.array is None or parent.array.range is None:
        return []
    named = parse_job_id(parent.id, "")
    record = world.job((named.namespace, named.name))
    if record is None:
        return []
    latest: dict[int, PodRecord] = {}
    for pod in world.pods_of(record):
        if pod.completion_index is not None:
            latest[pod.completion_index] = pod
    rows = []
    for index, pod in sorted(latest.items()):
        row = pod_row(pod, cluster)
        rows.append(row._replace(owner=row.owner or parent.owner, array=ArrayInfo(parent.id, index=index)))
    return rows
