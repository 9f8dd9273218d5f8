"""Rows of the native wire as rows of the model. Absent stays None; every text passes `clean` here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from adapters.base import ProtocolError
from adapters.model import NOTHING, ArrayInfo, Job, JobStatus, Metrics, Node, Queue, ResourceSpec, share
from adapters.native import wire
from adapters.native.answers import RawRow
from adapters.native.wire import bytes_of_mb, moment, whole
from adapters.text import clean

LONGEST_TEXT = 4096
"""Characters of one text of a row; longer ones (a script as command) are cut, the detail view reads the rest."""


def text(value: Any, limit: int = LONGEST_TEXT) -> str | None:
    """Cleaned text, None where there is none. Numbers become text, so that a name of digits is a name."""
    if type(value) is str:
        # The ordinary case first: this runs ten times a row, for 100,000 rows.
        if value.isascii() and value.isprintable() and len(value) <= limit:
            return value or None
        return clean(value, limit)
    if value is None or isinstance(value, list | dict):
        return None
    return clean(str(value), limit)


def tidy(value: Any) -> Any:
    """A value of any shape, for extensions, with every text within it clean."""
    if isinstance(value, str):
        return clean(value, LONGEST_TEXT)
    if isinstance(value, dict):
        return {clean(str(key), 200): tidy(part) for key, part in value.items()}
    if isinstance(value, list):
        return tuple(tidy(part) for part in value)
    return value


def names(value: Any) -> tuple[str, ...]:
    """Names in a list, or in text with blanks or commas between them."""
    if value is None:
        return ()
    parts: Iterable[Any] = value.replace(",", " ").split() if isinstance(value, str) else value or ()
    if not isinstance(parts, list | tuple):
        return ()
    return tuple(share(clean(str(part), 256)) or "" for part in parts if part not in (None, ""))


def _extensions(pairs: Mapping[str, Any]) -> Mapping[str, Any]:
    kept = {key: tidy(value) for key, value in pairs.items() if value not in (None, "", [], {})}
    return MappingProxyType(kept) if kept else NOTHING


def _id(row: RawRow, field: str, what: str) -> str:
    """The row's name. A row that names nothing cannot be shown, acted on or compared: that is an error."""
    value = row.get(field)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is None or value == "" or isinstance(value, bool | list | dict):
        raise ProtocolError(f"A {what} came without its {field}.")
    return clean(str(value), 256)


def job_status(row: RawRow) -> JobStatus:
    """The model's state. EXIT after a kill by the owner or an admin is `cancelled`, else `failed`."""
    raw = str(row.get("status") or "")
    if raw == "EXIT" and row.get("endedby") in wire.ENDED_BY_PERSON:
        return "cancelled"
    return wire.JOB_STATES.get(raw, "unknown")


def _array(row: RawRow) -> ArrayInfo | None:
    id = text(row.get("arrayid"), 64)
    if id is None:
        return None
    return ArrayInfo(id, whole(row.get("arrayindex")), text(row.get("arrayrange"), 200))


def job(row: RawRow, cluster: str) -> Job:
    """A job. Raises ProtocolError for one without an id."""
    id = _id(row, "jobid", "job")
    raw = text(row.get("status"), 40) or ""
    hosts = names(row.get("nodes"))
    reason = text(row.get("pendreason"), 1000)
    if raw == "PSUSP" and reason is None:
        reason = "held"
    return Job(
        id=id,
        name=text(row.get("jobname")) or "",
        status=job_status(row),
        raw_status=share(raw) or "",
        queue=share(text(row.get("queue"), 256)),
        nodes=len(hosts) or None,
        cores=whole(row.get("cores")),
        gpus=whole(row.get("gpus")),
        memory_bytes=bytes_of_mb(row.get("mem")),
        walltime_seconds=whole(row.get("runlimit")) or None,
        dependencies=wire.dependencies_of(row.get("depends")),
        submission_time=moment(row.get("submittime")),
        start_time=moment(row.get("starttime")),
        end_time=moment(row.get("endtime")),
        exit_code=whole(row.get("exitcode")),
        owner=share(text(row.get("user"), 256)),
        logs_url=wire.job_logs_path(id),
        reason=share(reason),
        node_names=hosts,
        array=_array(row),
        cluster=cluster,
        extensions=_job_extensions(row),
    )


_JOB_EXTENSIONS: Mapping[str, str] = {
    "projectname": "project", "command": "command", "resreq": "resreq", "jobdescription": "description",
    "priority": "priority", "signal": "signal", "endedby": "ended_by", "attempt": "attempt", "arraysize": "array_size",
    "arraypending": "array_pending", "arrayrunning": "array_running", "arraydone": "array_done",
    "arrayexit": "array_exit", "cputime": "cpu_seconds", "elapsed": "elapsed_seconds",
    "memlimitby": "memory_limit_by", "output": "output", "error": "error", "cwd": "cwd", "env": "env", "runs": "runs",
}  # fmt: skip


def _job_extensions(row: RawRow) -> Mapping[str, Any]:
    kept = {}
    for name, value in row.items():
        key = _JOB_EXTENSIONS.get(name)
        if key is not None and value is not None and value != "" and value != [] and value != {}:
            kept[key] = tidy(value)
    if "maxmem" in row and (size := bytes_of_mb(row["maxmem"])) is not None:
        kept["max_memory_bytes"] = size
    return MappingProxyType(kept) if kept else NOTHING


def queue(row: RawRow, cluster: str) -> Queue:
    """A queue. Its run limit and those of its defaults are minutes on the wire, its memory MB."""
    raw = text(row.get("status"), 60) or ""
    hosts = names(row.get("hosts"))
    given = row.get("defaults")
    defaults: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    return Queue(
        name=_id(row, "name", "queue"),
        status=wire.queue_status(raw),
        node_count=len(hosts) if isinstance(row.get("hosts"), list | str) else None,
        running_jobs=whole(row.get("run")),
        pending_jobs=whole(row.get("pend")),
        max_walltime_seconds=_minutes(row.get("runlimit")),
        default_resources=ResourceSpec(
            cores=whole(defaults.get("cores")),
            memory_bytes=bytes_of_mb(defaults.get("mem")),
            gpus=whole(defaults.get("gpus")),
            walltime_seconds=_minutes(defaults.get("runlimit")),
        ),
        cluster=cluster,
        extensions=_extensions(
            {
                "description": row.get("description"),
                "priority": row.get("priority"),
                "max_slots": row.get("maxslots"),
                "user_slots": row.get("userslots"),
                "suspended": row.get("susp"),
                "total": row.get("njobs"),
                "hosts": list(hosts),
                "raw_status": raw,
                "reason": row.get("reason"),
            }
        ),
    )


def _minutes(value: Any) -> int | None:
    minutes = whole(value)
    return minutes * 60 if minutes else None


def node(host: RawRow | None, service: RawRow | None, cluster: str) -> Node:
    """A node of its two faces: the scheduler's host and the node service's node, joined by name. Either may lack."""
    host, service = host or {}, service or {}
    name = _id(host, "hostName", "host") if host else _id(service, "name", "node")
    load = service.get("load") or host.get("load")
    load = load if isinstance(load, Mapping) else {}
    enabled = service.get("enabled")
    used = whole(service.get("active_slots"))
    memory = bytes_of_mb(host.get("maxMem"))
    free = bytes_of_mb(load.get("mem"))
    return Node(
        name=name,
        status=wire.node_status(
            str(host.get("status") or ""),
            str(service.get("status") or ""),
            enabled if isinstance(enabled, bool) else None,
            bool(used),
        ),
        cores_total=whole(host.get("cores")) or whole(host.get("maxCpus")),
        cores_used=whole(host.get("coresUsed")),
        memory_bytes_total=memory,
        memory_bytes_used=max(0, memory - free) if memory is not None and free is not None else None,
        gpu_count=whole(host.get("ngpus")),
        gpus_used=whole(host.get("gpusUsed")),
        slots_used=used,
        slots_quota=whole(service.get("admin_max_slots")),
        slots_total=whole(service.get("max_slots")),
        features=names(host.get("resources")),
        reason=text(service.get("reason") or host.get("reason"), 1000),
        heartbeat_time=moment(service.get("last_heartbeat")),
        cluster=cluster,
        extensions=_node_extensions(host, service, load),
    )


def _node_extensions(host: RawRow, service: RawRow, load: Mapping[str, Any]) -> Mapping[str, Any]:
    return _extensions(
        {
            "load": {name: load[name] for name in wire.LOAD_INDICES if load.get(name) is not None},
            "node_id": text(service.get("id"), 64),
            "version": text(service.get("version"), 64),
            "enabled": service.get("enabled"),
            "raw_status": host.get("status") or service.get("status"),
            "host_type": host.get("hostType"),
            "host_model": host.get("hostModel"),
            "cpu_factor": host.get("cpuFactor"),
            "address": host.get("hostAddr"),
            "swap_bytes": bytes_of_mb(host.get("maxSwap")),
            "tmp_bytes": bytes_of_mb(host.get("maxTmp")),
            "is_server": host.get("isServer"),
            "sockets": host.get("pprocs"),
            "cores_per_socket": host.get("cores_per_proc"),
            "threads_per_core": host.get("threads_per_core"),
            "thresholds": host.get("busyThreshold"),
        }
    )


def join_nodes(hosts: Iterable[RawRow], services: Iterable[RawRow], cluster: str) -> list[Node]:
    """All nodes of either face, in the order of the hosts, then the rest."""
    by_name = {str(row.get("name")): row for row in services}
    joined = [node(host, by_name.pop(str(host.get("hostName")), None), cluster) for host in hosts]
    return joined + [node(None, row, cluster) for row in by_name.values()]


def metrics(jobs: Iterable[Job], nodes: Iterable[Node], queues: Iterable[Queue], cluster: str, at: datetime) -> Metrics:
    """Totals of rows at hand. A folded array row counts as one job."""
    by_status: dict[str, int] = {}
    for row in jobs:
        by_status[row.status] = by_status.get(row.status, 0) + 1
    held = list(nodes)
    states: dict[str, int] = {}
    for each in held:
        states[each.status] = states.get(each.status, 0) + 1

    def total(field: str) -> int | None:
        known = [value for value in (getattr(each, field) for each in held) if value is not None]
        return sum(known) if known else None

    return Metrics(
        jobs=by_status,
        nodes=states,
        queues={each.name: (each.pending_jobs or 0, each.running_jobs or 0) for each in queues},
        cores_total=total("cores_total"),
        cores_used=total("cores_used"),
        gpus_total=total("gpu_count"),
        gpus_used=total("gpus_used"),
        memory_bytes_total=total("memory_bytes_total"),
        memory_bytes_used=total("memory_bytes_used"),
        slots_total=total("slots_total"),
        slots_used=total("slots_used"),
        at=at,
        cluster=cluster,
    )
