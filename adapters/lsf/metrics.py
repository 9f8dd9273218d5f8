"""Totals of a cluster from its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from adapters.model import Job, Metrics, Node, Queue


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def metrics(cluster: str, jobs: Iterable[Job], queues: Sequence[Queue], nodes: Sequence[Node], at: datetime) -> Metrics:
    """Jobs and nodes by status, slots, processors, memory and GPUs. What no host tells stays unknown."""
    return Metrics(
        jobs=dict(Counter(job.status for job in jobs)),
        nodes=dict(Counter(node.status for node in nodes)),
        queues={
            queue.name: (queue.pending_jobs, queue.running_jobs)
            for queue in queues
            if queue.pending_jobs is not None and queue.running_jobs is not None
        },
        cores_total=_sum(node.cores_total for node in nodes),
        gpus_total=_sum(node.gpu_count for node in nodes),
        gpus_used=_sum(node.gpus_used for node in nodes),
        memory_bytes_total=_sum(node.memory_bytes_total for node in nodes),
        memory_bytes_used=_sum(node.memory_bytes_used for node in nodes),
        slots_total=_sum(node.slots_total for node in nodes),
        slots_used=_sum(node.slots_used for node in nodes),
        at=at,
        cluster=cluster,
    )
