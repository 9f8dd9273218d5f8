"""Totals of a cluster from its rows. Nodes that are down offer nothing and do not count into what there is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from adapters.model import Job, Metrics, Node, Queue
from adapters.slurm.nodes import elements


def _sum(values: Iterable[int | None]) -> int:
    return sum(value for value in values if value is not None)


def totals(
    cluster: str, jobs: Iterable[Job], queues: Sequence[Queue], nodes: Sequence[Node], *, at: datetime
) -> Metrics:
    """One row of totals; the queues carry their counts already. A folded array counts with its elements."""
    by_status: Counter[str] = Counter()
    for job in jobs:
        by_status[job.status] += elements(job)
    up = [node for node in nodes if node.status != "down"]
    return Metrics(
        jobs=dict(by_status),
        nodes=dict(Counter(node.status for node in nodes)),
        queues={
            queue.name: (queue.pending_jobs, queue.running_jobs)
            for queue in queues
            if queue.pending_jobs is not None and queue.running_jobs is not None
        },
        cores_total=_sum(node.cores_total for node in up),
        cores_used=_sum(node.cores_used for node in up),
        gpus_total=_sum(node.gpu_count for node in up),
        gpus_used=_sum(node.gpus_used for node in up),
        memory_bytes_total=_sum(node.memory_bytes_total for node in up),
        memory_bytes_used=_sum(node.memory_bytes_used for node in up),
        slots_total=_sum(node.slots_total for node in up),
        slots_used=_sum(node.slots_used for node in up),
        at=at,
        cluster=cluster,
    )
