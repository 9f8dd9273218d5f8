"""Why nothing starts on a whole cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from adapters.model import Job, Node, Queue
from console.diagnosis.causes import CAUSES
from console.diagnosis.findings import Evidence, Finding, unknown
from console.diagnosis.pending import why_pending

_SILENT = timedelta(minutes=5)
_RECENT = timedelta(minutes=10)
_ORDINARY = frozenset({"unknown", "resources", "priority", "just_submitted"})
_OWN_DOING = frozenset({"held_by_owner", "held_by_admin", "dependency", "dependency_never", "begin_time", "gated"})


def why_nothing_starts(
    jobs: Sequence[Job],
    nodes: Sequence[Node],
    queues: Sequence[Queue],
    *,
    now: datetime,
    failure: str | None = None,
) -> Finding:
    """Say why no job starts. `failure`: what the source said when it could not be read."""
    if failure is not None:
        return _finding("controller_silent", "certain", [Evidence.of("source", failure)])
    waiting = [job for job in jobs if job.status == "pending"]
    if not waiting:
        return _finding("nothing_waits", "certain", [Evidence.of("jobs pending", 0)])
    return (
        _nodes(nodes, now)
        or _queues(waiting, queues)
        or _starts(jobs, now)
        or _jobs(waiting, nodes, queues)
        or _full(nodes)
        or unknown(None, [Evidence.of("jobs pending", len(waiting)), *_counts("nodes", [n.status for n in nodes])])
    )


def _finding(cause: str, confidence: str, evidence: Sequence[Evidence], summary: str = "") -> Finding:
    known = CAUSES[cause]
    sure = "certain" if confidence == "certain" else "likely"
    return Finding(None, cause, sure, summary or known.sentence, tuple(evidence), known.changes)  # type: ignore[arg-type]


def _counts(what: str, values: Sequence[str]) -> list[Evidence]:
    counted = Counter(values)
    return [Evidence.of(what, ", ".join(f"{number} {name}" for name, number in sorted(counted.items())) or "none")]


def _nodes(nodes: Sequence[Node], now: datetime) -> Finding | None:
    counts = _counts("nodes", [node.status for node in nodes])
    if not nodes:
        return None
    beats = [node.heartbeat_time for node in nodes if node.heartbeat_time is not None]
    if len(beats) == len(nodes) and now - max(beats) > _SILENT:
        quote = Evidence.of("latest heartbeat", max(beats).isoformat())
        return _finding("no_heartbeat", "certain", [quote, *counts])
    if all(node.status == "down" for node in nodes):
        return _finding("all_down", "certain", counts)
    usable = [node for node in nodes if node.status in ("idle", "busy")]
    if not usable and any(node.status == "drain" for node in nodes):
        reasons = [Evidence.of(f"node {n.name}.reason", n.reason) for n in nodes if n.reason][:3]
        return _finding("all_drained", "certain", [*counts, *reasons])
    if usable and all(node.slots_quota == 0 for node in usable):
        quotes = [Evidence.of(f"node {node.name}.slots_quota", 0) for node in usable[:4]]
        return _finding("node_quota_zero", "certain", [*quotes, *counts])
    return None


def _queues(waiting: Sequence[Job], queues: Sequence[Queue]) -> Finding | None:
    """Every queue that somebody waits in starts nothing."""
    wanted = {job.queue for job in waiting if job.queue}
    known = [queue for queue in queues if queue.name in wanted]
    if known and len(known) == len(wanted) and all(queue.status == "inactive" for queue in known):
        quotes = [Evidence.of(f"queue {queue.name}.status", queue.status) for queue in known]
        return _finding("all_queues_closed", "certain", quotes)
    return None


def _starts(jobs: Sequence[Job], now: datetime) -> Finding | None:
    started = [job for job in jobs if job.start_time is not None and now - job.start_time < _RECENT]
    if started:
        last = max(started, key=lambda job: job.start_time or now)
        quote = Evidence.of(f"job {last.id}.start_time", (last.start_time or now).isoformat())
        return _finding("starting_normally", "certain", [quote, Evidence.of("started lately", len(started))])
    return None


def _jobs(waiting: Sequence[Job], nodes: Sequence[Node], queues: Sequence[Queue]) -> Finding | None:
    """Where every waiting job has the same kind of reason of its own."""
    causes = Counter(why_pending(job, queues=queues, nodes=nodes).cause for job in waiting[:500])
    listed = ", ".join(f"{number} {CAUSES[cause].title}" for cause, number in causes.most_common(4))
    counts = [Evidence.of("reasons of the waiting jobs", listed)]
    if set(causes) <= _OWN_DOING:
        return _finding("jobs_wait_for_themselves", "certain", counts)
    cause, number = causes.most_common(1)[0]
    if number == causes.total() and cause not in _ORDINARY:
        return _finding(cause, "likely", counts)
    return None


def _full(nodes: Sequence[Node]) -> Finding | None:
    """No usable node has a free slot, or a free core where slots are not known."""
    usable = [node for node in nodes if node.status in ("idle", "busy")]
    free = [_free(node) for node in usable]
    if usable and all(number is not None and number <= 0 for number in free):
        return _finding("all_busy", "certain", [Evidence.of(f"node {n.name} free", 0) for n in usable[:4]])
    return None


def _free(node: Node) -> int | None:
    limits = [limit for limit in (node.slots_quota, node.slots_total) if limit is not None]
    if limits and node.slots_used is not None:
        return min(limits) - node.slots_used
    if node.cores_total is not None and node.cores_used is not None:
        return node.cores_total - node.cores_used
    return None
