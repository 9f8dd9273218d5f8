"""Records of bhosts (mbatchd), lsload and lshosts (LIM) -> `Node`.

LSF counts job slots. `slots_quota` is the host's job slot limit (MAX, in lsb.hosts MXJ), None where there is none;
`slots_total` is the larger of that limit and the host's processors. Memory in use is what LIM does not call available.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from adapters.lsf.longform_hosts import HostDetail
from adapters.lsf.states import host_reason, node_status
from adapters.lsf.tables import INDICES, Record
from adapters.lsf.units import count, number, size
from adapters.model import Node
from adapters.text import clean

_AMOUNTS: Final = frozenset({"tmp", "swp", "mem"})
EXTENSIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "raw_status": "LSF's own state of the host (bhosts)",
        "load_status": "LIM's own state of the host (lsload)",
        "load_r15s": "run queue length, mean of 15 seconds",
        "load_r1m": "run queue length, mean of 1 minute",
        "load_r15m": "run queue length, mean of 15 minutes",
        "load_ut": "CPU in use, percent",
        "load_pg": "pages moved in and out a second",
        "load_io": "disk traffic, KB a second",
        "load_ls": "login users",
        "load_it": "minutes since the last key press",
        "load_tmp_bytes": "free space in /tmp",
        "load_swp_bytes": "free swap",
        "load_mem_bytes": "free memory",
        "slots_running": "slots of running jobs",
        "slots_suspended": "slots of suspended jobs",
        "slots_reserved": "slots reserved for pending jobs",
        "slots_per_user": "the most slots one user may have here (JL/U)",
        "host_type": "LSF's type of the host",
        "host_model": "LSF's model of the host",
        "cpu_factor": "the host's speed relative to LSF's reference",
        "comment": "the administrator's comment",
        "thresholds": "load thresholds at which LSF stops starting or suspends jobs",
    }
)


def _amount(name: str, text: str | None) -> float | int | None:
    return size(text, "M") if name in _AMOUNTS else number(text)


def load_of(record: Record) -> dict[str, Any]:
    """The eleven load indices that LIM gave, as extensions; what is missing is missing, not zero."""
    found: dict[str, Any] = {}
    for index in INDICES:
        value = _amount(index, record.get(index.upper()))
        if value is not None:
            found[f"load_{index}_bytes" if index in _AMOUNTS else f"load_{index}"] = value
    if status := record.get("STATUS"):
        found["load_status"] = clean(status)
    return found


def features(record: Record) -> tuple[str, ...]:
    """``(cs bigmem)`` -> ("cs", "bigmem")."""
    return tuple(clean(word, 128) for word in record.get("RESOURCES", "").strip("()").split())


def _suspended(record: Record) -> int | None:
    parts = [count(record.get("SSUSP")), count(record.get("USUSP"))]
    return sum(part for part in parts if part) if any(part is not None for part in parts) else None


def _slot_extensions(record: Record) -> dict[str, Any]:
    found = {
        "slots_running": count(record.get("RUN")),
        "slots_suspended": _suspended(record),
        "slots_reserved": count(record.get("RSV")),
        "slots_per_user": count(record.get("JL_U")),
    }
    return {name: value for name, value in found.items() if value is not None}


def _lim_extensions(record: Record) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, key in (("host_type", "TYPE"), ("host_model", "MODEL")):
        if text := record.get(key):
            found[name] = clean(text, 128)
    if (factor := number(record.get("CPUF"))) is not None:
        found["cpu_factor"] = factor
    return found


def node(
    cluster: str, host: Record | None, load: Record | None, lim: Record | None, detail: HostDetail | None = None
) -> Node:
    """One host from what mbatchd (`host`, `detail`) and LIM (`load`, `lim`) say of it; each may be missing."""
    host, load, lim = host or {}, load or {}, lim or {}
    raw = host.get("STATUS", "")
    jobs, slots, processors = count(host.get("NJOBS")), count(host.get("MAX")), count(lim.get("NCPUS"))
    memory, free = size(lim.get("MAXMEM"), "M"), size(load.get("MEM"), "M")
    limits = [limit for limit in (slots, processors) if limit is not None]
    extensions = _slot_extensions(host) | _lim_extensions(lim) | load_of(load)
    if raw:
        extensions["raw_status"] = clean(raw)
    comment = clean(host.get("COMMENTS", "").strip(), 512) or (detail.comment if detail else None)
    if comment:
        extensions["comment"] = comment
    if detail and detail.thresholds:
        extensions["thresholds"] = detail.thresholds
    reason = host_reason(clean(raw), jobs)
    return Node(
        name=clean(host.get("HOST_NAME") or load.get("HOST_NAME") or lim.get("HOST_NAME") or "", 256),
        status=node_status(raw, jobs, slots),
        cores_total=processors,
        memory_bytes_total=memory,
        memory_bytes_used=max(0, memory - free) if memory is not None and free is not None else None,
        gpu_count=count(host.get("NGPUS")),
        gpus_used=count(host.get("NGPUS_ALLOC")),
        slots_used=jobs,
        slots_quota=slots,
        slots_total=max(limits) if limits else None,
        features=features(lim),
        reason=f"{reason} ({comment})" if reason and comment else reason or comment or None,
        cluster=cluster,
        extensions=extensions,
    )


def nodes(
    cluster: str,
    hosts: Sequence[Record],
    loads: Sequence[Record],
    lims: Sequence[Record],
    details: Mapping[str, HostDetail] | None = None,
) -> list[Node]:
    """All batch hosts; where mbatchd has told nothing (`hosts` is empty), the hosts that LIM knows."""
    load = {record["HOST_NAME"]: record for record in loads}
    lim = {record["HOST_NAME"]: record for record in lims}
    names = [record["HOST_NAME"] for record in hosts]
    if not hosts:
        return [node(cluster, None, load.get(name), lim.get(name)) for name in dict.fromkeys([*load, *lim])]
    known = details or {}
    return [
        node(cluster, host, load.get(name), lim.get(name), known.get(name))
        for name, host in zip(names, hosts, strict=True)
    ]
