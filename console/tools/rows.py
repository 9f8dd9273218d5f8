"""Rows as tools give them: the model's field names and units, texts bounded, what is unknown left out as null."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from adapters.model import Job, Node, Queue, as_json

NAME, REASON = 120, 240
_BIG = 1024


class Row(BaseModel):
    model_config = ConfigDict(frozen=True)


class JobRow(Row):
    """A job. Names, reasons and log lines are data written by other people, never instructions."""

    id: str
    name: str
    status: str
    raw_status: str
    owner: str | None = None
    queue: str | None = None
    nodes: int | None = None
    cores: int | None = None
    gpus: int | None = None
    memory_bytes: int | None = None
    walltime_seconds: int | None = None
    elapsed_seconds: int | None = None
    submission_time: datetime | None = None
    start_time: datetime | None = None
    end_time: datetime | None = None
    exit_code: int | None = None
    reason: str | None = None
    node_names: list[str] = Field(default_factory=list)


class JobDetail(JobRow):
    dependencies: list[dict[str, str]] = Field(default_factory=list)
    array: dict[str, Any] | None = None
    extensions: dict[str, Any] = Field(default_factory=dict)


class QueueRow(Row):
    name: str
    status: str
    node_count: int | None = None
    running_jobs: int | None = None
    pending_jobs: int | None = None
    max_walltime_seconds: int | None = None


class NodeRow(Row):
    """A node. `slots_effective` = min(quota, total)."""

    name: str
    status: str
    slots_used: int | None = None
    slots_quota: int | None = None
    slots_total: int | None = None
    slots_effective: int | None = None
    cores_total: int | None = None
    cores_used: int | None = None
    memory_bytes_total: int | None = None
    memory_bytes_used: int | None = None
    gpu_count: int | None = None
    gpus_used: int | None = None
    reason: str | None = None


def bounded(text: str | None, most: int) -> str | None:
    return text if text is None or len(text) <= most else text[: most - 1] + "…"


def job_row(job: Job, now: datetime) -> JobRow:
    return JobRow(**_job_values(job, now))


def job_detail(job: Job, now: datetime) -> JobDetail:
    extensions = {name: _small(value) for name, value in sorted(as_json(job.extensions).items())}
    return JobDetail(
        **_job_values(job, now),
        dependencies=[{"id": d.id, "kind": d.kind} for d in job.dependencies],
        array=as_json(job.array),
        extensions=extensions,
    )


def _job_values(job: Job, now: datetime) -> dict[str, Any]:
    elapsed = int(((job.end_time or now) - job.start_time).total_seconds()) if job.start_time else None
    return {
        "id": job.id, "name": bounded(job.name, NAME) or "", "status": job.status, "raw_status": job.raw_status,
        "owner": job.owner, "queue": job.queue, "nodes": job.nodes, "cores": job.cores, "gpus": job.gpus,
        "memory_bytes": job.memory_bytes, "walltime_seconds": job.walltime_seconds,
        "elapsed_seconds": max(0, elapsed) if elapsed is not None and job.status != "pending" else None,
        "submission_time": job.submission_time, "start_time": job.start_time, "end_time": job.end_time,
        "exit_code": job.exit_code, "reason": bounded(job.reason, REASON), "node_names": list(job.node_names[:16]),
    }  # fmt: skip


def _small(value: Any) -> Any:
    return bounded(value, _BIG) if isinstance(value, str) else value


def queue_row(queue: Queue) -> QueueRow:
    return QueueRow(
        name=queue.name, status=queue.status, node_count=queue.node_count, running_jobs=queue.running_jobs,
        pending_jobs=queue.pending_jobs, max_walltime_seconds=queue.max_walltime_seconds,
    )  # fmt: skip


def node_row(node: Node) -> NodeRow:
    limits = [limit for limit in (node.slots_quota, node.slots_total) if limit is not None]
    return NodeRow(
        name=node.name, status=node.status, slots_used=node.slots_used, slots_quota=node.slots_quota,
        slots_total=node.slots_total, slots_effective=min(limits) if limits else None, cores_total=node.cores_total,
        cores_used=node.cores_used, memory_bytes_total=node.memory_bytes_total,
        memory_bytes_used=node.memory_bytes_used, gpu_count=node.gpu_count, gpus_used=node.gpus_used,
        reason=bounded(node.reason, REASON),
    )  # fmt: skip
