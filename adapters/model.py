"""The unified resource model: what every cluster is made of, whatever scheduler runs it.

Rows are immutable named tuples (100,000 of them must stay small and compare fast), equal strings are shared by
`intern`. Units are bytes, seconds and UTC datetimes. Unknown is None, never an invented number.
All text in a row has passed `adapters.text.clean`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import UTC, datetime
from sys import intern
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["job", "queue", "node", "metrics", "reservation"]
JobStatus: TypeAlias = Literal["pending", "running", "succeeded", "failed", "cancelled", "suspended", "unknown"]
QueueStatus: TypeAlias = Literal["active", "inactive", "draining", "unknown"]
NodeStatus: TypeAlias = Literal["idle", "busy", "down", "drain", "unknown"]

JOB_STATUSES: tuple[JobStatus, ...] = (
    "pending", "running", "succeeded", "failed", "cancelled", "suspended", "unknown",
)  # fmt: skip
NODE_STATUSES: tuple[NodeStatus, ...] = ("idle", "busy", "down", "drain", "unknown")
FINISHED: frozenset[str] = frozenset({"succeeded", "failed", "cancelled"})
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Ref(NamedTuple):
    """The name of an object everywhere. `born` (submission time, uid) tells a reused id from the old one."""

    cluster: str
    kind: Kind
    id: str
    born: str | None = None

    def __str__(self) -> str:
        return f"{self.cluster}/{self.id}"


class Dependency(NamedTuple):
    """One condition on another job; `kind` is afterok, afterany, afternotok, after or the backend's own word."""

    id: str
    kind: str


@dataclass(frozen=True, slots=True)
class ArrayInfo:
    """Membership in a job array: an element has `index`, a folded row of elements has `range` (``8-5000%4``)."""

    id: str
    index: int | None = None
    range: str | None = None


class Job(NamedTuple):
    """A job, an array element or a folded row of array elements."""

    id: str
    name: str = ""
    status: JobStatus = "unknown"
    raw_status: str = ""
    queue: str | None = None
    nodes: int | None = None
    cores: int | None = None
    gpus: int | None = None
    memory_bytes: int | None = None
    walltime_seconds: int | None = None
    dependencies: tuple[Dependency, ...] = ()
    submission_time: datetime | None = None
    start_time: datetime | None = None
    end_time: datetime | None = None
    exit_code: int | None = None
    owner: str | None = None
    logs_url: str | None = None
    reason: str | None = None
    node_names: tuple[str, ...] = ()
    array: ArrayInfo | None = None
    cluster: str = ""
    extensions: Mapping[str, Any] = NOTHING

    @property
    def born(self) -> str | None:
        """Tells this job from an earlier one with the same id: the backend's uid, else the submission time."""
        uid = self.extensions.get("uid")
        if uid is not None:
            return str(uid)
        return self.submission_time.isoformat() if self.submission_time else None

    @property
    def ref(self) -> Ref:
        return Ref(self.cluster, "job", self.id, self.born)

    @property
    def finished(self) -> bool:
        return self.status in FINISHED


class ResourceSpec(NamedTuple):
    """An amount of resources, as a queue's defaults or a suggestion."""

    cores: int | None = None
    memory_bytes: int | None = None
    gpus: int | None = None
    walltime_seconds: int | None = None


class Queue(NamedTuple):
    """A queue, a partition, or a namespace's quota: what jobs are submitted to."""

    name: str
    status: QueueStatus = "unknown"
    node_count: int | None = None
    running_jobs: int | None = None
    pending_jobs: int | None = None
    max_walltime_seconds: int | None = None
    default_resources: ResourceSpec = ResourceSpec()
    cluster: str = ""
    extensions: Mapping[str, Any] = NOTHING

    @property
    def id(self) -> str:
        return self.name

    @property
    def ref(self) -> Ref:
        return Ref(self.cluster, "queue", self.name)


class Node(NamedTuple):
    """A host that runs jobs. `slots_quota` None means no limit; the effective limit is min(quota, total)."""

    name: str
    status: NodeStatus = "unknown"
    cores_total: int | None = None
    cores_used: int | None = None
    memory_bytes_total: int | None = None
    memory_bytes_used: int | None = None
    gpu_count: int | None = None
    gpus_used: int | None = None
    slots_used: int | None = None
    slots_quota: int | None = None
    slots_total: int | None = None
    features: tuple[str, ...] = ()
    reason: str | None = None
    heartbeat_time: datetime | None = None
    cluster: str = ""
    extensions: Mapping[str, Any] = NOTHING

    @property
    def id(self) -> str:
        return self.name

    @property
    def ref(self) -> Ref:
        return Ref(self.cluster, "node", self.name)


class Reservation(NamedTuple):
    """A span of time in which nodes or cores are set apart."""

    name: str
    status: str = "unknown"
    node_names: tuple[str, ...] = ()
    cores: int | None = None
    start_time: datetime | None = None
    end_time: datetime | None = None
    users: tuple[str, ...] = ()
    cluster: str = ""
    extensions: Mapping[str, Any] = NOTHING

    @property
    def id(self) -> str:
        return self.name

    @property
    def ref(self) -> Ref:
        return Ref(self.cluster, "reservation", self.name)


class Metrics(NamedTuple):
    """Totals of one cluster at one moment. `queues` maps a name to (pending, running)."""

    jobs: Mapping[str, int] = NOTHING
    nodes: Mapping[str, int] = NOTHING
    queues: Mapping[str, tuple[int, int]] = NOTHING
    cores_total: int | None = None
    cores_used: int | None = None
    gpus_total: int | None = None
    gpus_used: int | None = None
    memory_bytes_total: int | None = None
    memory_bytes_used: int | None = None
    slots_total: int | None = None
    slots_used: int | None = None
    at: datetime | None = None
    cluster: str = ""
    extensions: Mapping[str, Any] = NOTHING

    @property
    def id(self) -> str:
        return "metrics"

    @property
    def ref(self) -> Ref:
        return Ref(self.cluster, "metrics", "metrics")


Row: TypeAlias = Job | Queue | Node | Metrics | Reservation
ROW_TYPES: Mapping[Kind, type[Row]] = MappingProxyType(
    {"job": Job, "queue": Queue, "node": Node, "metrics": Metrics, "reservation": Reservation}
)


@dataclass(frozen=True, slots=True)
class JobSpec:
    """What is asked for in a submission. Either `command` (an argv) or `script` (the text of a batch script)."""

    command: tuple[str, ...] = ()
    script: str | None = None
    name: str | None = None
    queue: str | None = None
    nodes: int | None = None
    cores: int | None = None
    gpus: int | None = None
    memory_bytes: int | None = None
    walltime_seconds: int | None = None
    array: str | None = None
    dependencies: tuple[Dependency, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    output: str | None = None
    error: str | None = None
    hold: bool = False
    account: str | None = None
    extensions: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Delta:
    """One batch of a watch.

    Args:
        upserts: rows that are new or changed, of any kind.
        removals: names of rows that are gone. A Ref without `born` removes whatever has that id.
        reset: kinds for which a full snapshot begins with this batch.
        more: the snapshot goes on in the next batch. With the batch that ends it (`more` False), rows of its
            kinds that the snapshot did not bring are gone. A snapshot may so come in pieces without a flash.
        snapshot: True for batches of a snapshot, False for live ones.
        position: where the source stands after this batch, to resume from.
        at: the source's time, or the time of the answer.
    """

    upserts: tuple[Row, ...] = ()
    removals: tuple[Ref, ...] = ()
    reset: frozenset[Kind] = frozenset()
    more: bool = False
    snapshot: bool = False
    position: str | None = None
    at: datetime | None = None


def as_json(value: Any) -> Any:
    """The JSON form of a row, or of anything within one: field names of the model, ISO 8601 times in UTC."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: as_json(part) for name, part in zip(value._fields, value, strict=True)}
    if isinstance(value, Mapping):
        return {str(name): as_json(part) for name, part in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: as_json(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, list | tuple | set | frozenset):
        return [as_json(part) for part in value]
    return value


def share(text: str | None) -> str | None:
    """Intern a string that many rows repeat (owner, queue, state, reason)."""
    return intern(text) if text is not None else None
