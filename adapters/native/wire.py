"""The native wire in one place: paths, field names, state maps, units.

A correction of what we believe about the wire is an edit of this file alone; `answers.py` reads the envelope and the
forms that rows come in. Sizes on the wire are MB, read as decimal
(1 MB = 1,000,000 bytes); a limit is written as text with a unit ("4096 MB"), where GB would mean 1024 MB. Run limits
are written "HH:MM": a bare integer would mean minutes in one place and seconds in another.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from adapters.model import Dependency, JobStatus, NodeStatus, QueueStatus
from adapters.text import clean
from adapters.units import show_hours_minutes

VERSION = "/xce/v1/version"
JOBS = "/xce/v1/jobs"
QUEUES = "/xce/v1/queues"
HOSTS = "/xce/v1/hosts"
METRICS = "/xce/v1/metrics"
EVENTS = "/xce/v1/events"
HISTORY = "/xce/v1/history"
KEYS = "/xce/v1/apikeys"
WHOAMI = "/xce/v1/whoami"
NODES = "/api/admin/nodes"


def _segment(id: str) -> str:
    """`id` as one segment of a path: `.` and `..` too, which clients and proxies would take for a way upwards."""
    if id.isalnum() and id.isascii():
        return id
    return id.replace(".", "%2E") if id in (".", "..") else quote(id, safe="")


def job_path(id: str) -> str:
    return f"{JOBS}/{_segment(id)}"


def job_control_path(id: str) -> str:
    return f"{job_path(id)}/control"


def job_logs_path(id: str) -> str:
    return f"{job_path(id)}/logs"


def queue_control_path(name: str) -> str:
    return f"{QUEUES}/{_segment(name)}/control"


def node_path(id: str, verb: str) -> str:
    """`verb` is quota, enable, disable or token; `id` is the node service's id, not the name."""
    return f"{NODES}/{_segment(id)}/{verb}"


def key_path(id: str) -> str:
    return f"{KEYS}/{_segment(id)}"


JOB_STATES: Mapping[str, JobStatus] = MappingProxyType(
    {
        "PEND": "pending",
        # Held before it ran: it waits, as a held Slurm job does; `raw_status` tells.
        "PSUSP": "pending",
        "RUN": "running",
        "USUSP": "suspended",
        "SSUSP": "suspended",
        "DONE": "succeeded",
        "EXIT": "failed",
        "UNKWN": "unknown",
        "ZOMBI": "unknown",
    }
)
RAW_STATES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "pending": ("PEND", "PSUSP"),
        "running": ("RUN",),
        "suspended": ("USUSP", "SSUSP"),
        "succeeded": ("DONE",),
        "failed": ("EXIT",),
        "cancelled": ("EXIT",),
        "unknown": ("UNKWN", "ZOMBI"),
    }
)
ENDED_BY_PERSON = frozenset({"owner", "admin"})
HOST_DOWN = frozenset({"unavail", "unreach", "down", "dead", "lost"})
HOST_DRAINED = frozenset({"closed_adm", "disabled", "drain", "draining", "drained"})


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


JOB_FIELDS = _names(
    """jobid user status jobname queue projectname command resreq submittime jobdescription nodes cores gpus mem
    runlimit starttime endtime exitcode signal endedby pendreason depends priority arrayid arrayindex"""
)
QUEUE_FIELDS = _names("name status description maxslots njobs pend run susp runlimit defaults hosts")
HOST_FIELDS = _names(
    """hostName hostType hostModel cpuFactor maxCpus maxMem maxSwap maxTmp nDisks resources DResources busyThreshold
    isServer cores hostAddr pprocs cores_per_proc threads_per_core status load"""
)
NODE_FIELDS = _names("id name status enabled last_heartbeat active_slots max_slots admin_max_slots load version")
KEY_FIELDS = _names("id prefix owner username role role_name created last_used")
LOAD_INDICES = ("r15s", "r1m", "r15m", "ut", "pg", "ls", "it", "swp", "mem", "tmp", "io")


def whole(value: Any) -> int | None:
    """An int of 64 bits that may arrive as an int, a float or text; None where it is none."""
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if abs(value) < 2**63 else None
    try:
        number = float(value)
        return int(number) if abs(number) < 2.0**63 else None
    except (TypeError, ValueError, OverflowError):
        return None


def moment(value: Any) -> datetime | None:
    """A time that may be seconds since the epoch (as number or text) or ISO 8601; 0 and empty mean not yet."""
    if value is None:
        return None
    if isinstance(value, str) and ("-" in value or ":" in value):
        try:
            parsed = datetime.fromisoformat(value)
        except ValueError:
            return None
        return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    try:
        seconds = float(value)
        return datetime.fromtimestamp(seconds, UTC) if seconds > 0 else None
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def bytes_of_mb(value: Any) -> int | None:
    """Bytes of a size in MB: a number, or text with a unit ("4096 MB"; GB there means 1024 MB)."""
    if value is None:
        return None
    factor = 1.0
    if isinstance(value, str):
        found = re.fullmatch(r"\s*([0-9.]+)\s*(KB|MB|GB|TB|[KMGT])?\s*", value, re.IGNORECASE)
        if found is None:
            return None
        unit = (found[2] or "M")[0].upper()
        factor = {"K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0 * 1024}[unit]
        value = found[1]
    try:
        size = float(value) * factor * 1_000_000
        return int(size) if math.isfinite(size) and size >= 0 else None
    except (TypeError, ValueError, OverflowError):
        return None


def mem_limit(size: int) -> str:
    """A memory limit for the wire: whole MB, rounded up, always with the unit."""
    return f"{-(-size // 1_000_000)} MB"


def run_limit(seconds: int) -> str:
    """A run limit for the wire: "HH:MM", rounded up to whole minutes."""
    return show_hours_minutes(seconds)


LSF_CONDITIONS = {"done": "afterok", "ended": "afterany", "exit": "afternotok", "started": "after"}


def dependencies_of(value: Any) -> tuple[Dependency, ...]:
    """Conditions on other jobs: [{id|jobid, kind|type}], or text: "afterok:12:13,afterany:14", "done(12)&&exit(3)"."""
    if isinstance(value, str):
        made = []
        for part in re.split(r"\s*(?:&&|\|\||[,;\s])\s*", value.strip()):
            kind, *ids = [word for word in re.split(r"[:()\"]+", part) if word] or [""]
            made += [_dependency(id, kind) for id in ids] if ids else [_dependency(kind, None)] if kind else []
        return tuple(made)
    if not isinstance(value, list):
        return ()
    made = []
    for part in value:
        if isinstance(part, Mapping):
            made.append(_dependency(part.get("id", part.get("jobid")), part.get("kind", part.get("type"))))
        elif isinstance(part, str | int):
            made.extend(dependencies_of(str(part)))
    return tuple(made)


def _dependency(id: Any, kind: Any) -> Dependency:
    word = clean(str(kind or "afterok"), 40)
    return Dependency(clean(str(id), 64), LSF_CONDITIONS.get(word.lower(), word))


def depends_on(dependencies: Iterable[Dependency]) -> list[dict[str, str]]:
    """Conditions for a submission."""
    return [{"id": dependency.id, "kind": dependency.kind} for dependency in dependencies]


def count_by_status(raw: Mapping[str, Any]) -> dict[str, int]:
    """Counts by raw state (CANCELLED: those an owner or an admin has ended) as counts by the model's state."""
    counts: dict[str, int] = {}
    for state, number in raw.items():
        status = "cancelled" if state == "CANCELLED" else JOB_STATES.get(state, "unknown")
        counts[status] = counts.get(status, 0) + (whole(number) or 0)
    return {status: count for status, count in counts.items() if count}


def queue_status(raw: str) -> QueueStatus:
    """Of "Open:Active" and its like: Closed takes no jobs, Inact starts none."""
    word = raw.lower()
    if "inact" in word:
        return "inactive"
    if word.startswith("closed"):
        return "draining"
    return "active" if "open" in word or "active" in word else "unknown"


def node_status(host: str, service: str, enabled: bool | None, busy: bool) -> NodeStatus:
    """Of the host's state, the node service's state and whether the node is enabled."""
    words = {host.lower(), service.lower()} - {""}
    if words & HOST_DOWN:
        return "down"
    if enabled is False or words & HOST_DRAINED:
        return "drain"
    if words and not words <= {"ok", "closed_full", "online", "up", "idle", "busy", "active", "ready", "closed_busy"}:
        return "unknown"
    if not words and enabled is None:
        return "unknown"
    return "busy" if busy or "closed_full" in words else "idle"
