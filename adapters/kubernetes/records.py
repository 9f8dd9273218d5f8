"""Slim records of API objects: only what rows are made of, so that 20,000 objects stay small and compare fast.

Amounts are whole nano-cores, bytes and devices. Text is raw here; `rows_*` cleans what goes into a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

Key: TypeAlias = tuple[str, str]
"""Namespace ("" for cluster-scoped kinds) and name."""


class Amount(NamedTuple):
    """Resources asked for or offered: nano-cores, bytes, devices. None where nothing is said."""

    cpu: int | None = None
    memory: int | None = None
    gpus: int | None = None


class Told(NamedTuple):
    """A condition, or what a container waits for or ended with: the server's reason, message and time."""

    reason: str = ""
    message: str = ""
    at: datetime | None = None


class JobRecord(NamedTuple):
    """A batch/v1 Job."""

    key: Key
    uid: str
    created: datetime | None = None
    deleted: datetime | None = None
    owner: str | None = None
    source: str | None = None
    kueue_queue: str | None = None
    volcano_queue: str | None = None
    parallelism: int = 1
    completions: int | None = None
    indexed: bool = False
    deadline: int | None = None
    backoff_limit: int | None = None
    ttl: int | None = None
    suspend: bool = False
    managed_by: str | None = None
    asks: Amount = Amount()
    image: str = ""
    priority_class: str | None = None
    start: datetime | None = None
    completion: datetime | None = None
    active: int = 0
    ready: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int = 0
    completed_indexes: str = ""
    failed_indexes: str = ""
    complete: Told | None = None
    failure: Told | None = None
    ending: Told | None = None
    suspended: Told | None = None
    reported: bool = False
    finalizers: tuple[str, ...] = ()


class PodRecord(NamedTuple):
    """A pod. `job_uid` is the batch/v1 Job that controls it; `controller` names any controller."""

    key: Key
    uid: str
    created: datetime | None = None
    deleted: datetime | None = None
    job_uid: str | None = None
    controller: str | None = None
    controller_kind: str | None = None
    mirror: bool = False
    owner: str | None = None
    volcano_queue: str | None = None
    kueue_queue: str | None = None
    completion_index: int | None = None
    node: str | None = None
    phase: str = ""
    status: Told = Told()
    unscheduled: Told | None = None
    waiting: Told | None = None
    ended: Told | None = None
    exit_code: int | None = None
    running: bool = False
    start: datetime | None = None
    started: datetime | None = None
    finished: datetime | None = None
    asks: Amount = Amount()
    deadline: int | None = None
    image: str = ""
    priority_class: str | None = None
    restarts: int = 0

    @property
    def over(self) -> bool:
        return self.phase in ("Succeeded", "Failed")


class NodeRecord(NamedTuple):
    """A node: what can be allocated on it, and how it fares. `taints` as ``key=value:effect``."""

    key: Key
    uid: str
    unschedulable: bool = False
    ready: str | None = None
    told: Told = Told()
    heartbeat: datetime | None = None
    pressures: tuple[str, ...] = ()
    taints: tuple[str, ...] = ()
    offers: Amount = Amount()
    pods: int | None = None
    labels: tuple[str, ...] = ()
    drain_reason: str | None = None
    version: str = ""


class QuotaRecord(NamedTuple):
    """A ResourceQuota: resource -> (used, hard), as the server writes them."""

    key: Key
    uid: str
    limits: tuple[tuple[str, str, str], ...] = ()
    scopes: str = ""


class NamespaceRecord(NamedTuple):
    key: Key
    uid: str
    phase: str = ""


class LimitRangeRecord(NamedTuple):
    """What a container asks for when it says nothing."""

    key: Key
    uid: str
    defaults: Amount = Amount()


class EventRecord(NamedTuple):
    """Why the pods of a Job could not be made."""

    key: Key
    uid: str
    about: str = ""
    told: Told = Told()


class WorkloadRecord(NamedTuple):
    """Kueue's view of one job."""

    key: Key
    uid: str
    job_uid: str | None = None
    admitted: bool = False
    active: bool = True
    told: Told = Told()


class QueueRecord(NamedTuple):
    """A Kueue LocalQueue or ClusterQueue, or a Volcano Queue. `limits`: flavor/resource -> (used, nominal)."""

    key: Key
    uid: str
    stop: str = ""
    state: str = ""
    active: bool | None = None
    told: Told = Told()
    pending: int | None = None
    running: int | None = None
    parent: str | None = None
    cohort: str | None = None
    limits: tuple[tuple[str, str, str], ...] = ()
    weight: int | None = None


Record: TypeAlias = (
    JobRecord
    | PodRecord
    | NodeRecord
    | QuotaRecord
    | NamespaceRecord
    | LimitRangeRecord
    | EventRecord
    | WorkloadRecord
    | QueueRecord
)
Raw: TypeAlias = Mapping[str, Any]
