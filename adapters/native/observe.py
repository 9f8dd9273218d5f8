"""Objects as they are now, as the targets of a write: for planning, re-check and verification."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from adapters.base import JobFilter, NotFound
from adapters.intents import Target
from adapters.model import Job, Node, Queue, Ref

SINGLY = 8
"""Up to so many jobs are read one by one; more are read as a list, and only those missing from it one by one."""


class Rows(Protocol):
    """What is read from."""

    async def get_job(self, id: str) -> Job: ...
    async def list_jobs(self, filter: JobFilter | None = None) -> Sequence[Job]: ...
    async def list_queues(self) -> Sequence[Queue]: ...
    async def list_nodes(self) -> Sequence[Node]: ...


def job_target(job: Job) -> Target:
    values = {
        "raw_status": job.raw_status,
        "queue": job.queue,
        "cores": job.cores,
        "memory_bytes": job.memory_bytes,
        "walltime_seconds": job.walltime_seconds,
        "name": job.name,
        "priority": job.extensions.get("priority"),
    }
    return Target(job.ref, job.owner, job.status, job.name, None, values, job.finished)


def node_target(node: Node) -> Target:
    """`version` is the node service's, for If-Match."""
    version = node.extensions.get("version")
    values = {
        "slots_quota": node.slots_quota,
        "slots_total": node.slots_total,
        "slots_used": node.slots_used,
        "enabled": node.extensions.get("enabled"),
        "reason": node.reason,
        "node_id": node.extensions.get("node_id"),
    }
    return Target(node.ref, None, node.status, node.name, None if version is None else str(version), values)


def queue_target(queue: Queue) -> Target:
    values = {"status": queue.status, "raw_status": queue.extensions.get("raw_status")}
    return Target(queue.ref, None, queue.status, queue.name, None, values)


async def observe(reader: Rows, refs: Sequence[Ref]) -> Mapping[Ref, Target | None]:
    """Each object as it is now; None where it is gone, or its id belongs to another one now. Raises AdapterError."""
    found: dict[str, dict[str, Target]] = {"job": {}, "node": {}, "queue": {}}
    kinds = {ref.kind for ref in refs}
    if "job" in kinds:
        jobs = await _jobs(reader, [ref.id for ref in refs if ref.kind == "job"])
        found["job"] = {job.id: job_target(job) for job in jobs}
    if "node" in kinds:
        found["node"] = {node.id: node_target(node) for node in await reader.list_nodes()}
    if "queue" in kinds:
        found["queue"] = {queue.id: queue_target(queue) for queue in await reader.list_queues()}
    return {ref: _same(ref, found.get(ref.kind, {}).get(ref.id)) for ref in refs}


def _same(ref: Ref, target: Target | None) -> Target | None:
    if target is None or (ref.born is not None and target.ref.born != ref.born):
        return None
    return target


async def _jobs(reader: Rows, ids: Sequence[str]) -> Iterable[Job]:
    wanted = set(ids)
    listed: dict[str, Job] = {}
    if len(wanted) > SINGLY:
        listed = {job.id: job for job in await reader.list_jobs(JobFilter(ids=tuple(ids))) if job.id in wanted}
    gate = asyncio.Semaphore(SINGLY)

    async def one(id: str) -> Job | None:
        async with gate:
            try:
                return await reader.get_job(id)
            except NotFound:
                return None

    missing = await asyncio.gather(*(one(id) for id in wanted - listed.keys()))
    return [*listed.values(), *(job for job in missing if job is not None)]
