"""Why a job waits: the backend's reason in words, what stands in the way, and what would have to change."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from adapters.model import Job, Node, Queue
from console.diagnosis.findings import Evidence, Finding, finding, unknown
from console.diagnosis.pending_reasons import cause_of_reason


def why_pending(
    job: Job,
    *,
    queues: Sequence[Queue] = (),
    nodes: Sequence[Node] = (),
    others: Mapping[str, Job] | None = None,
) -> Finding:
    """Say why `job` is pending.

    Args:
        queues, nodes: those of its cluster, as they are now; used to check the reason, never to invent one.
        others: jobs it may depend on, by id.
    """
    queue = next((q for q in queues if q.name == job.queue), None)
    found = (
        _dependency(job, others or {})
        or _impossible(job, queue, nodes)
        or _by_reason(job)
        or _by_raw_state(job)
        or _by_queue(job, queue)
        or _by_nodes(job, nodes)
    )
    if found is None:
        looked = [Evidence.of("job.reason", job.reason or "(none)"), Evidence.of("job.raw_status", job.raw_status)]
        found = unknown(job.ref, looked, "Nothing the scheduler says tells why it waits.")
    estimate = None if found.cause in _NO_ESTIMATE else start_estimate(job)
    return replace(found, since=job.submission_time, estimate=estimate)


def start_estimate(job: Job) -> datetime | None:
    """The backend's own estimate of a pending job's start: Slurm's `expected_start`, a time or its ISO form. (For a job
    that was told to begin later the same field is that time; see `_NO_ESTIMATE`.)"""
    value = job.extensions.get("expected_start")
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            return None
    return value if isinstance(value, datetime) else None


def _dependency(job: Job, others: Mapping[str, Job]) -> Finding | None:
    """A dependency that has ended in the wrong way, or one that has not ended yet."""
    waiting: Job | None = None
    for dependency in job.dependencies:
        other = others.get(dependency.id)
        if other is None:
            continue
        wrong = (dependency.kind == "afterok" and other.status in ("failed", "cancelled")) or (
            dependency.kind == "afternotok" and other.status == "succeeded"
        )
        quote = Evidence.of(f"job {other.id}.status", f"{other.status}, wanted by {dependency.kind}")
        if wrong:
            summary = f"Job {other.id} has ended as {other.status}; with {dependency.kind} this one can never start."
            return finding(job, "dependency_never", "certain", [quote], summary=summary, blocker=other.ref)
        if not other.finished:
            waiting = other
    if waiting is None or (job.reason and cause_of_reason(job.reason) not in (None, "dependency", "just_submitted")):
        return None
    quote = Evidence.of(f"job {waiting.id}.status", waiting.status)
    summary = f"It waits for job {waiting.id}, which is {waiting.status}."
    return finding(job, "dependency", "certain", [quote, *_reason(job)], summary=summary, blocker=waiting.ref)


def _impossible(job: Job, queue: Queue | None, nodes: Sequence[Node]) -> Finding | None:
    """What no queue or node can ever give, by their own figures."""
    if queue and queue.max_walltime_seconds and (job.walltime_seconds or 0) > queue.max_walltime_seconds:
        quotes = [
            Evidence.of("job.walltime_seconds", job.walltime_seconds),
            Evidence.of(f"queue {queue.name}.max_walltime_seconds", queue.max_walltime_seconds),
        ]
        return finding(job, "walltime_limit", "certain", [*quotes, *_reason(job)])
    if job.nodes not in (None, 1) or not nodes:
        return None
    for name, asked, sizes in (
        ("cores", job.cores, [n.cores_total for n in nodes]),
        ("memory_bytes", job.memory_bytes, [n.memory_bytes_total for n in nodes]),
        ("gpus", job.gpus, [n.gpu_count for n in nodes]),
    ):
        if not asked or any(size is None for size in sizes) or job.nodes is None:
            continue
        largest = max(size for size in sizes if size is not None)
        if asked > largest:
            quotes = [Evidence.of(f"job.{name}", asked), Evidence.of(f"largest node's {name}", largest)]
            return finding(job, "asks_too_much", "certain", [*quotes, *_reason(job)])
    return None


def _reason(job: Job) -> list[Evidence]:
    return [Evidence.of("job.reason", job.reason)] if job.reason else []


def _by_reason(job: Job) -> Finding | None:
    cause = cause_of_reason(job.reason) if job.reason else None
    if cause is None:
        return None
    blocker = None
    if cause in ("dependency", "dependency_never") and job.dependencies:
        blocker = job.ref._replace(id=job.dependencies[0].id, born=None)
    return finding(job, cause, "certain", _reason(job), blocker=blocker)


_RAW_HELD = re.compile(r"^(PSUSP|HELD|SPECIAL_EXIT)\b")
_SAID_BY_STATE = frozenset({"image_pull", "container_config", "crash_loop", "gated"})
_NO_ESTIMATE = frozenset({"begin_time", "held", "held_by_owner", "held_by_admin", "dependency_never"})


def _by_raw_state(job: Job) -> Finding | None:
    if _RAW_HELD.match(job.raw_status):
        return finding(job, "held", "certain", [Evidence.of("job.raw_status", job.raw_status)])
    cause = cause_of_reason(job.raw_status)
    if cause in _SAID_BY_STATE:
        return finding(job, cause, "certain", [Evidence.of("job.raw_status", job.raw_status), *_reason(job)])
    return None


def _by_queue(job: Job, queue: Queue | None) -> Finding | None:
    if queue is not None and queue.status in ("inactive", "draining"):
        return finding(job, "queue_closed", "likely", [Evidence.of(f"queue {queue.name}.status", queue.status)])
    return None


def _by_nodes(job: Job, nodes: Sequence[Node]) -> Finding | None:
    """Where the backend gives no reason: what the nodes' own figures say."""
    up = [n for n in nodes if n.status in ("idle", "busy")]
    if nodes and all(n.status in ("down", "drain") for n in nodes):
        quotes = [Evidence.of(f"node {n.name}.status", n.status) for n in nodes[:4]]
        return finding(job, "nodes_unavailable", "likely", quotes)
    if up and all(n.slots_quota == 0 for n in up):
        return finding(job, "node_quota_zero", "likely", [Evidence.of(f"node {n.name}.slots_quota", 0) for n in up[:4]])
    if up and all(n.slots_used is not None and n.slots_used >= _slots(n) for n in up):
        quotes = [Evidence.of(f"node {n.name}.slots", f"{n.slots_used}/{_slots(n)}") for n in up[:4]]
        return finding(job, "resources", "likely", quotes)
    return None


def _slots(node: Node) -> int:
    limits = [limit for limit in (node.slots_quota, node.slots_total) if limit is not None]
    return min(limits) if limits else 1 << 30
