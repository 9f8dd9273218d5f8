"""Nodes and partitions as one `sinfo -N -O` tells of them: a line a node and partition. Source: sinfo(1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from adapters.model import Job, Node, Queue, ResourceSpec, share
from adapters.slurm import values
from adapters.slurm.reservations import NodeReservations
from adapters.slurm.states import node_status, queue_status
from adapters.slurm.table import fields_of
from adapters.text import clean

NODE_FIELDS: tuple[str, ...] = (
    "NodeList", "PartitionName", "Partition", "Available", "Time", "DefaultTime", "StateComplete", "CPUsState",
    "CPUsLoad", "Memory", "AllocMem", "FreeMem", "Gres", "GresUsed", "Features", "Weight", "Threads", "Version", "User",
    "Timestamp", "Reason",
)  # fmt: skip
STATE = "StateComplete"
"""The state with all its flags. `sinfo` of 20.11 does not know it: it says so on standard error, prints nothing in its
place and ends with 0. `OLDER_FIELDS` ask for the state in one word there (``draining``, ``down*``)."""
OLDER_FIELDS: tuple[str, ...] = tuple("StateLong" if name == STATE else name for name in NODE_FIELDS)
_MIB = 1024**2

NODE_EXTENSIONS: Mapping[str, str] = {
    "state": "Slurm's own words for the state of the node, with its flags.",
    "partitions": "Partitions the node belongs to.",
    "load": "Load of the operating system, one minute.",
    "memory_bytes_free": "Memory the operating system calls free.",
    "gres": "Generic resources of the node.",
    "gres_used": "Generic resources that jobs use.",
    "weight": "Nodes of low weight are given out first.",
    "threads_per_core": "Hardware threads a core; slots are threads, reservations count cores.",
    "reason_by": "Who set the reason.",
    "reason_at": "When the reason was set.",
    "version": "Version of slurmd on the node.",
    "quota_wanted": "The quota that was asked for while not all of its cores could be set apart yet.",
    "reservations": "Reservations that hold this node or cores of it.",
}
QUEUE_EXTENSIONS: Mapping[str, str] = {
    "state": "Slurm's own word for the state of the partition.",
    "default": "The partition of jobs that name none.",
    "max_time": "The time limit in Slurm's words where it is not a number.",
    "cores_total": "Cores of the partition's nodes.",
    "cores_used": "Of these, cores that jobs use, whichever partition they came by.",
}


class NodeList(NamedTuple):
    """One answer of `sinfo`: the nodes, and the partitions without their counts of jobs."""

    nodes: tuple[Node, ...]
    partitions: tuple[Queue, ...]


def without_states(records: Sequence[bytes]) -> bool:
    """Whether nodes came, and all of them without a state: the release does not know the field."""
    at = NODE_FIELDS.index(STATE)
    return bool(records) and all(record.split(b"\0", at + 1)[at : at + 1] == [b""] for record in records)


def node_list(
    records: Iterable[bytes], cluster: str, reservations: Mapping[str, NodeReservations] | None = None
) -> NodeList:
    """Nodes and partitions of the records of `sinfo -N -O`. Raises ProtocolError for a record of another shape."""
    fields = (fields_of(record, len(NODE_FIELDS), "sinfo") for record in records)
    return node_list_of_lines((dict(zip(NODE_FIELDS, each, strict=True)) for each in fields), cluster, reservations)


def node_list_of_lines(
    every: Iterable[dict[str, str]], cluster: str, reservations: Mapping[str, NodeReservations] | None = None
) -> NodeList:
    """The same of lines of `NODE_FIELDS`, one a node and partition."""
    lines: dict[str, list[dict[str, str]]] = {}
    partitions: dict[str, list[dict[str, str]]] = {}
    for line in every:
        if line["NodeList"]:
            lines.setdefault(line["NodeList"], []).append(line)
        if values.present(line["PartitionName"]) is not None:
            partitions.setdefault(line["PartitionName"], []).append(line)
    nodes = tuple(_node(found, cluster, (reservations or {}).get(name)) for name, found in lines.items())
    return NodeList(nodes, tuple(_partition(found, cluster) for found in partitions.values()))


def _cpus(text: str) -> tuple[int | None, int | None]:
    """(allocated, total) of ``9/7/0/16``: allocated, idle, other, total."""
    parts = text.split("/")
    if len(parts) != 4:
        return None, None
    return values.number(parts[0]), values.number(parts[3])


def _node(lines: Sequence[dict[str, str]], cluster: str, held: NodeReservations | None) -> Node:
    line = lines[0]
    used, total = _cpus(line["CPUsState"])
    memory, allocated = values.number(line["Memory"]), values.number(line["AllocMem"])
    threads = values.number(line["Threads"]) or 1
    gpus = values.gpus_of_gres(line["Gres"]) if line["Gres"] not in values.NOTHING else 0
    status = node_status(line["StateComplete"])
    quota = held.quota(total, threads) if held is not None and total is not None else None
    return Node(
        name=clean(line["NodeList"], 256),
        status="busy" if status == "idle" and used else status,
        cores_total=total,
        cores_used=used,
        memory_bytes_total=None if memory is None else memory * _MIB,
        memory_bytes_used=None if allocated is None else allocated * _MIB,
        gpu_count=gpus,
        gpus_used=values.gpus_of_gres(line["GresUsed"]) if line["GresUsed"] not in values.NOTHING else 0,
        slots_used=used,
        slots_quota=quota,
        slots_total=total,
        features=tuple(share(clean(part, 128)) or "" for part in line["Features"].split(",") if values.present(part)),
        reason=clean(line["Reason"], 512) if values.present(line["Reason"]) else None,
        cluster=cluster,
        extensions=_node_extensions(lines, threads, held, total),
    )


def _node_extensions(
    lines: Sequence[dict[str, str]], threads: int, held: NodeReservations | None, total: int | None
) -> Mapping[str, Any]:
    line = lines[0]
    found: dict[str, Any] = {"state": share(clean(line["StateComplete"], 128))}
    found["partitions"] = tuple(share(clean(each["PartitionName"], 256)) for each in lines)
    with suppress(ValueError):  # N/A: the node has not told
        found["load"] = float(line["CPUsLoad"])
    if (free := values.number(line["FreeMem"])) is not None:
        found["memory_bytes_free"] = free * _MIB
    for key, name in (("gres", "Gres"), ("gres_used", "GresUsed"), ("version", "Version"), ("reason_by", "User")):
        if (text := values.present(line[name])) is not None:
            found[key] = share(clean(text, 256))
    if (weight := values.number(line["Weight"])) is not None:
        found["weight"] = weight
    if threads > 1:
        found["threads_per_core"] = threads
    if (at := values.when(line["Timestamp"])) is not None:
        found["reason_at"] = at
    if held is not None:
        found["reservations"] = held.names
        if total is not None and (wanted := held.unfulfilled(total, threads)) is not None:
            found["quota_wanted"] = wanted
    return found


def _partition(lines: Sequence[dict[str, str]], cluster: str) -> Queue:
    line = lines[0]
    nodes = {each["NodeList"]: _cpus(each["CPUsState"]) for each in lines if each["NodeList"]}
    extensions: dict[str, Any] = {
        "state": clean(line["Available"], 64),
        "default": line["Partition"].endswith("*"),
        "cores_total": sum(total or 0 for _, total in nodes.values()),
        "cores_used": sum(used or 0 for used, _ in nodes.values()),
    }
    limit = values.seconds(line["Time"])
    if limit is None:
        extensions["max_time"] = clean(line["Time"], 64)
    return Queue(
        name=clean(line["PartitionName"], 256),
        status=queue_status(line["Available"]),
        node_count=len(nodes),
        max_walltime_seconds=limit,
        default_resources=ResourceSpec(walltime_seconds=values.seconds(line["DefaultTime"])),
        cluster=cluster,
        extensions=extensions,
    )


def with_counts(partitions: Iterable[Queue], jobs: Iterable[Job]) -> tuple[Queue, ...]:
    """The partitions with their running and pending jobs. A folded array counts with the number of its elements, and
    a job that may start in several partitions counts as pending in each of them."""
    running: dict[str | None, int] = {}
    pending: dict[str | None, int] = {}
    for job in jobs:
        if job.status == "running":
            running[job.queue] = running.get(job.queue, 0) + 1
        elif job.status == "pending":
            several = job.extensions.get("partitions")
            for queue in several.split(",") if several else (job.queue,):
                pending[queue] = pending.get(queue, 0) + elements(job)
    return tuple(
        queue._replace(running_jobs=running.get(queue.name, 0), pending_jobs=pending.get(queue.name, 0))
        for queue in partitions
    )


def elements(job: Job) -> int:
    """How many jobs a row stands for: the elements of a folded array (``3-49%3``, ``1-199:2``, ``1,5-7``), else one.
    A range that Slurm has shortened (``1,3,...``) counts what it shows."""
    if job.array is None or job.array.range is None:
        return 1
    total = 0
    for part in job.array.range.split("%", 1)[0].split(","):
        span, _, step = part.partition(":")
        first, _, last = span.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            total += (int(last or first) - int(first)) // max(1, int(step) if step.isdecimal() else 1) + 1
    return max(total, 1)
