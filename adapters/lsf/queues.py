"""Records of bqueues, and the blocks of ``bqueues -l`` -> `Queue`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from adapters.lsf.longform_hosts import QueueDetail
from adapters.lsf.states import queue_status
from adapters.lsf.tables import Record
from adapters.lsf.units import count
from adapters.model import Queue, ResourceSpec
from adapters.text import clean

EXTENSIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "raw_status": "LSF's own state of the queue",
        "priority": "the queue's priority; the highest is served first",
        "description": "what the administrator wrote about the queue",
        "slots_max": "the most slots the queue may use",
        "slots_per_user": "the most slots one user may have in the queue (JL/U)",
        "slots_pending": "slots asked for by pending jobs",
        "slots_suspended": "slots of suspended jobs",
        "slots_reserved": "slots reserved for pending jobs",
        "hosts": "hosts or host groups the queue uses",
        "users": "who may use the queue",
        "memory_limit_bytes": "the most memory a job may use",
        "comment": "the administrator's comment",
    }
)


def queue(cluster: str, record: Record, detail: QueueDetail | None = None) -> Queue:
    """One queue. LSF counts slots, not jobs, in RUN and PEND; PJOBS, where it is told, counts pending jobs."""
    raw = clean(record.get("STATUS", ""), 64)
    jobs = count(record.get("PJOBS"))
    detail = detail or QueueDetail(record["QUEUE_NAME"])
    return Queue(
        name=clean(record["QUEUE_NAME"], 256),
        status=queue_status(raw),
        running_jobs=count(record.get("RUN")),
        pending_jobs=jobs if jobs is not None else count(record.get("PEND")),
        max_walltime_seconds=detail.run_limit_seconds,
        default_resources=ResourceSpec(
            memory_bytes=detail.default_memory_bytes, walltime_seconds=detail.default_run_limit_seconds
        ),
        cluster=cluster,
        extensions=_extensions(record, detail, raw),
    )


def _extensions(record: Record, detail: QueueDetail, raw: str) -> Mapping[str, Any]:
    found: dict[str, Any] = {
        "raw_status": raw,
        "priority": count(record.get("PRIORITY")),
        "description": clean(record.get("DESCRIPTION", "").strip(), 512) or detail.description,
        "slots_max": count(record.get("MAX")),
        "slots_per_user": count(record.get("JL_U")),
        "slots_pending": count(record.get("PEND")),
        "slots_suspended": count(record.get("SUSP")),
        "slots_reserved": count(record.get("RSV")),
        "hosts": detail.hosts,
        "users": detail.users,
        "memory_limit_bytes": detail.memory_limit_bytes,
        "comment": detail.comment,
    }
    return {name: value for name, value in found.items() if value not in (None, "", ())}
