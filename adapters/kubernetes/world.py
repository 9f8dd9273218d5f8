"""What is known of a cluster: slim records by kind, how they belong together, and what changed since the last look.

Filled by lists or by watches, by whichever came; rows are made of it in one place, so that a watch and a fresh list
cannot disagree about what an object means.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import cast

from adapters.kubernetes.records import (
    EventRecord,
    JobRecord,
    Key,
    NodeRecord,
    PodRecord,
    Record,
    WorkloadRecord,
)
from adapters.kubernetes.resources import RESOURCES

SERVICE_CONTROLLERS = frozenset({"ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", "Node"})
"""Pods of these serve; pods of anything else (nobody, a training operator, a Volcano job) are shown as jobs."""


def stands_alone(pod: PodRecord) -> bool:
    """Whether a pod is a row of its own among the jobs."""
    return pod.job_uid is None and not pod.mirror and pod.controller_kind not in SERVICE_CONTROLLERS


def is_workload(pod: PodRecord) -> bool:
    """Whether a pod makes its node busy: not one that runs on every node anyway."""
    return not pod.mirror and pod.controller_kind != "DaemonSet"


@dataclass(slots=True)
class Dirty:
    """What has to be looked at again. `queues` holds namespaces; `queue_objects` says that a queue itself changed."""

    jobs: set[Key] = field(default_factory=set)
    pods: set[Key] = field(default_factory=set)
    nodes: set[str] = field(default_factory=set)
    queues: set[str] = field(default_factory=set)
    queue_objects: bool = False

    def __bool__(self) -> bool:
        return bool(self.jobs or self.pods or self.nodes or self.queues or self.queue_objects)


class World:
    """The tables and their indices. Applying a record that is equal to the one held changes nothing.

    `pods_complete` says that the pods of the whole cluster are known: what a node's pods use is a figure only then.
    """

    def __init__(self) -> None:
        self.tables: dict[str, dict[Key, Record]] = {key: {} for key in RESOURCES}
        self.dirty = Dirty()
        self.pods_complete = False
        self._pods_of: dict[str, set[Key]] = {}
        self._pods_on: dict[str, set[Key]] = {}
        self._events_about: dict[str, set[Key]] = {}
        self._workload_of: dict[str, Key] = {}
        self._job_of: dict[str, Key] = {}

    def put(self, table: str, record: Record) -> None:
        rows = self.tables[table]
        old = rows.get(record.key)
        if old == record:
            return
        rows[record.key] = record
        self._changed(table, old, record)

    def drop(self, table: str, key: Key) -> None:
        old = self.tables[table].pop(key, None)
        if old is not None:
            self._changed(table, old, None)

    def sweep(self, table: str, namespace: str | None, seen: set[Key]) -> None:
        """Drop what a complete list did not bring; `namespace` None is the whole cluster."""
        gone = [key for key in self.tables[table] if key not in seen and (namespace is None or key[0] == namespace)]
        for key in gone:
            self.drop(table, key)

    def know_pods(self, complete: bool) -> None:
        """Say whether the pods of the whole cluster are known."""
        if complete != self.pods_complete:
            self.pods_complete = complete
            self.dirty.nodes.update(name for _, name in self.tables["nodes"])

    def take_dirty(self, limit: int | None = None) -> Dirty:
        """What to look at next. With `limit`, at most so many jobs, pods and nodes each; the rest, and the queues,
        whose figures depend on it, stay for the next time."""
        held = self.dirty
        if limit is None or max(len(held.jobs), len(held.pods), len(held.nodes)) <= limit:
            self.dirty = Dirty()
            return held
        taken = Dirty(set(islice(held.jobs, limit)), set(islice(held.pods, limit)), set(islice(held.nodes, limit)))
        held.jobs -= taken.jobs
        held.pods -= taken.pods
        held.nodes -= taken.nodes
        return taken

    def job(self, key: Key) -> JobRecord | None:
        return cast("JobRecord | None", self.tables["jobs"].get(key))

    def pod(self, key: Key) -> PodRecord | None:
        return cast("PodRecord | None", self.tables["pods"].get(key))

    def node(self, name: str) -> NodeRecord | None:
        return cast("NodeRecord | None", self.tables["nodes"].get(("", name)))

    def pods_of(self, job: JobRecord) -> list[PodRecord]:
        """The pods of a job, oldest first."""
        return self._pods(self._pods_of.get(job.uid, ()))

    def pods_on(self, node: str) -> list[PodRecord]:
        """The pods bound to a node, in no order."""
        table = self.tables["pods"]
        return [cast("PodRecord", table[key]) for key in self._pods_on.get(node, ())]

    def _pods(self, keys: Iterable[Key]) -> list[PodRecord]:
        table = self.tables["pods"]
        found = [cast("PodRecord", table[key]) for key in keys]
        return found if len(found) < 2 else sorted(found, key=_age)

    def event_about(self, uid: str) -> EventRecord | None:
        """The latest event about an object."""
        table = self.tables["events"]
        found = [cast("EventRecord", table[key]) for key in self._events_about.get(uid, ())]
        return max(found, key=lambda one: (one.told.at is not None, one.told.at, one.key), default=None)

    def workload_of(self, uid: str) -> WorkloadRecord | None:
        key = self._workload_of.get(uid)
        return cast("WorkloadRecord | None", self.tables["workloads"].get(key)) if key is not None else None

    def _changed(self, table: str, old: Record | None, new: Record | None) -> None:
        if table == "pods":
            self._pod_changed(cast("PodRecord | None", old), cast("PodRecord | None", new))
        elif table == "jobs":
            self._job_changed(cast("JobRecord | None", old), cast("JobRecord | None", new))
        elif table == "nodes":
            self.dirty.nodes.update(record.key[1] for record in (old, new) if record is not None)
        elif table == "events":
            for one in (old, new):
                if one is not None:
                    event = cast("EventRecord", one)
                    _relate(self._events_about, event.about, event.key, one is new)
                    self._job_dirty(event.about)
        elif table == "workloads":
            self._workload_changed(cast("WorkloadRecord | None", old), cast("WorkloadRecord | None", new))
        else:
            self._queue_changed(table, [record.key for record in (old, new) if record is not None])

    def _pod_changed(self, old: PodRecord | None, new: PodRecord | None) -> None:
        for pod in (old, new):
            if pod is None:
                continue
            if pod.job_uid is not None:
                _relate(self._pods_of, pod.job_uid, pod.key, pod is new)
                self._job_dirty(pod.job_uid)
            elif stands_alone(pod):
                self.dirty.pods.add(pod.key)
            if pod.node is not None:
                _relate(self._pods_on, pod.node, pod.key, pod is new)
                self.dirty.nodes.add(pod.node)

    def _job_changed(self, old: JobRecord | None, new: JobRecord | None) -> None:
        if old is not None and self._job_of.get(old.uid) == old.key:
            del self._job_of[old.uid]
        if new is not None:
            self._job_of[new.uid] = new.key
        self.dirty.jobs.update(record.key for record in (old, new) if record is not None)

    def _workload_changed(self, old: WorkloadRecord | None, new: WorkloadRecord | None) -> None:
        if old is not None and old.job_uid is not None and self._workload_of.get(old.job_uid) == old.key:
            del self._workload_of[old.job_uid]
        if new is not None and new.job_uid is not None:
            self._workload_of[new.job_uid] = new.key
        for record in (old, new):
            if record is not None and record.job_uid is not None:
                self._job_dirty(record.job_uid)

    def _queue_changed(self, table: str, keys: Iterable[Key]) -> None:
        if table == "namespaces":
            self.dirty.queues.update(name for _, name in keys)
        elif table in ("resourcequotas", "limitranges"):
            self.dirty.queues.update(namespace for namespace, _ in keys)
        else:
            self.dirty.queue_objects = True

    def _job_dirty(self, uid: str) -> None:
        key = self._job_of.get(uid)
        if key is not None:
            self.dirty.jobs.add(key)


def _relate(index: dict[str, set[Key]], name: str, key: Key, present: bool) -> None:
    if present:
        index.setdefault(name, set()).add(key)
    elif name in index:
        index[name].discard(key)
        if not index[name]:
            del index[name]


def _age(pod: PodRecord) -> tuple[float, Key]:
    return (pod.created.timestamp() if pod.created is not None else 0.0, pod.key)
