"""Rows of the model out of a World: all of them once, and then those that changed.

A job that vanishes before it ended is remembered as cancelled for a while, in a `Memory` that the watch and fresh lists
share: Kubernetes itself forgets a deleted job at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import cast

from adapters.kubernetes.records import Key, LimitRangeRecord, QueueRecord, QuotaRecord
from adapters.kubernetes.rows_jobs import job_id, job_row, pod_id, pod_row
from adapters.kubernetes.rows_nodes import node_row
from adapters.kubernetes.rows_queues import clusterqueue_row, localqueue_row, namespace_row, volcanoqueue_row
from adapters.kubernetes.world import Dirty, World, stands_alone
from adapters.model import Job, Kind, Metrics, Node, Queue, Ref, Row

REMEMBERED = timedelta(minutes=15)


class Memory:
    """Jobs that were deleted before they ended, as cancelled rows, each until its time is over."""

    def __init__(self, keep: timedelta = REMEMBERED) -> None:
        self._keep = keep
        self._rows: dict[str, tuple[Job, datetime]] = {}

    def add(self, row: Job, now: datetime) -> None:
        for id in [id for id, (_, until) in self._rows.items() if now >= until]:
            del self._rows[id]
        self._rows[row.id] = (row, now + self._keep)

    def forget(self, id: str) -> None:
        self._rows.pop(id, None)

    def get(self, id: str, now: datetime) -> Job | None:
        held = self._rows.get(id)
        return held[0] if held is not None and now < held[1] else None

    def rows(self, now: datetime) -> list[Job]:
        return [row for row, until in self._rows.values() if now < until]


@dataclass(slots=True)
class Changes:
    """Rows that are new or different, and names of rows that are gone."""

    upserts: list[Row] = field(default_factory=list)
    removals: list[Ref] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.upserts or self.removals)


class Rows:
    """The rows of one World, kept up to date by `flush`."""

    def __init__(self, world: World, cluster: str, namespace: str, memory: Memory) -> None:
        self.jobs: dict[str, Job] = {}
        self.nodes: dict[str, Node] = {}
        self.queues: dict[str, Queue] = {}
        self._world = world
        self._cluster = cluster
        self._namespace = namespace
        self._memory = memory
        self._counts: dict[str, Counter[str]] = {}
        self._vanished: set[str] = set()
        world.dirty.queues.add(namespace)

    def of(self, kind: Kind) -> list[Row]:
        """All rows of a kind as they are now."""
        if kind == "job":
            return list(self.jobs.values())
        return list(self.nodes.values()) if kind == "node" else list(self.queues.values())

    def flush(self, now: datetime, limit: int | None = None) -> Changes:
        """Make anew what changed since the last time; with `limit`, at most so many rows of a kind at once."""
        changes = Changes()
        dirty = self._world.take_dirty(limit)
        for key in dirty.jobs:
            job = self._world.job(key)
            row = job_row(job, self._world, self._cluster) if job is not None else None
            self._set_job(job_id(key), row, now, changes, dirty)
        for key in dirty.pods:
            pod = self._world.pod(key)
            row = pod_row(pod, self._cluster) if pod is not None and stands_alone(pod) else None
            self._set_job(pod_id(key), row, now, changes, dirty)
        for id in [id for id in self._vanished if self._memory.get(id, now) is None]:
            self._vanished.discard(id)
            gone = self.jobs.pop(id)
            self._count(gone, -1, dirty)
            changes.removals.append(gone.ref)
        for name in dirty.nodes:
            node = self._world.node(name)
            _set(self.nodes, name, node_row(node, self._world, self._cluster) if node else None, changes)
        if dirty.queues or dirty.queue_objects:
            # Whether the default namespace exists is known only once the namespaces are.
            dirty.queues.add(self._namespace)
            self._flush_queues(dirty, changes)
        return changes

    def _set_job(self, id: str, row: Job | None, now: datetime, changes: Changes, dirty: Dirty) -> None:
        old = self.jobs.get(id)
        if row is not None:
            self._memory.forget(id)
            self._vanished.discard(id)
        elif id in self._vanished:
            return
        elif old is not None and old.status not in ("succeeded", "failed"):
            row = _vanished(old, now)
            self._memory.add(row, now)
            self._vanished.add(id)
        if row == old:
            return
        if old is not None:
            self._count(old, -1, dirty)
            if row is None or row.born != old.born:
                changes.removals.append(old.ref)
        if row is None:
            self.jobs.pop(id, None)
        else:
            self.jobs[id] = row
            self._count(row, 1, dirty)
            changes.upserts.append(row)

    def _count(self, row: Job, by: int, dirty: Dirty) -> None:
        namespace = row.id.partition("/")[0]
        for name in {namespace, row.queue or namespace}:
            self._counts.setdefault(name, Counter())[row.status] += by
            if name != namespace:
                dirty.queue_objects = True
        dirty.queues.add(namespace)

    def _counted(self, name: str) -> Mapping[str, int]:
        return self._counts.get(name) or {}

    def _flush_queues(self, dirty: Dirty, changes: Changes) -> None:
        quotas: dict[str, list[QuotaRecord]] = {}
        for quota in cast("dict[Key, QuotaRecord]", self._world.tables["resourcequotas"]).values():
            quotas.setdefault(quota.key[0], []).append(quota)
        limits: dict[str, list[LimitRangeRecord]] = {}
        for record in cast("dict[Key, LimitRangeRecord]", self._world.tables["limitranges"]).values():
            limits.setdefault(record.key[0], []).append(record)
        for name in dirty.queues:
            counts, own = self._counted(name), quotas.get(name, [])
            row = None
            if self._is_queue(name, counts, bool(own)):
                ordered = sorted(limits.get(name, ()), key=lambda one: one.key)
                row = namespace_row(name, self._world, self._cluster, counts, own, ordered)
            _set(self.queues, name, row, changes)
        if dirty.queue_objects:
            self._flush_queue_objects(changes)

    def _is_queue(self, name: str, counts: Mapping[str, int], has_quota: bool) -> bool:
        """Namespaces with a quota or with jobs, and the one that submissions go to."""
        known = self._world.tables["namespaces"]
        if known and ("", name) not in known:
            return False
        return has_quota or name == self._namespace or any(count > 0 for count in counts.values())

    def _flush_queue_objects(self, changes: Changes) -> None:
        tables = cast("dict[str, dict[Key, QueueRecord]]", self._world.tables)
        rows = [
            localqueue_row(record, self._cluster, self._counted(f"{record.key[0]}/{record.key[1]}"))
            for record in tables["localqueues"].values()
        ]
        rows += [clusterqueue_row(record, self._cluster) for record in tables["clusterqueues"].values()]
        rows += [volcanoqueue_row(record, self._cluster) for record in tables["volcanoqueues"].values()]
        fresh = {row.name: row for row in rows}
        for name in [name for name in self.queues if ("/" in name or ":" in name) and name not in fresh]:
            _set(self.queues, name, None, changes)
        for name, row in fresh.items():
            _set(self.queues, name, row, changes)

    def recall(self, now: datetime) -> None:
        """Begin with the jobs that are remembered: for a World that is filled by a list, before its first flush."""
        for row in self._memory.rows(now):
            self.jobs[row.id] = row
            self._vanished.add(row.id)
            self._count(row, 1, self._world.dirty)

    def metrics(self, at: datetime) -> Metrics:
        """Totals over the rows as they are now."""
        nodes = self.nodes.values()
        return Metrics(
            jobs=dict(Counter(row.status for row in self.jobs.values())),
            nodes=dict(Counter(row.status for row in nodes)),
            queues={
                name: (row.pending_jobs, row.running_jobs)
                for name, row in self.queues.items()
                if row.pending_jobs is not None and row.running_jobs is not None
            },
            cores_total=_sum([node.cores_total for node in nodes]),
            cores_used=_sum([node.cores_used for node in nodes]),
            gpus_total=_sum([node.gpu_count for node in nodes]),
            gpus_used=_sum([node.gpus_used for node in nodes]),
            memory_bytes_total=_sum([node.memory_bytes_total for node in nodes]),
            memory_bytes_used=_sum([node.memory_bytes_used for node in nodes]),
            slots_total=_sum([node.slots_total for node in nodes]),
            slots_used=_sum([node.slots_used for node in nodes]),
            at=at,
            cluster=self._cluster,
        )


def _sum(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _vanished(row: Job, now: datetime) -> Job:
    return row._replace(
        status="cancelled",
        raw_status="Deleted",
        reason="deleted before it ended",
        end_time=now,
        node_names=(),
        nodes=None,
    )


def _set(rows: dict[str, Node] | dict[str, Queue], name: str, row: Node | Queue | None, changes: Changes) -> None:
    held = cast("dict[str, Node | Queue]", rows)
    old = held.get(name)
    if row == old:
        return
    if row is None:
        del held[name]
        assert old is not None
        changes.removals.append(old.ref)
    else:
        held[name] = row
        changes.upserts.append(row)
