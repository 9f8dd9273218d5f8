"""Objects as they are now, for planning, re-check and verification: one call a kind, however many are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adapters.base import NotFound
from adapters.intents import Target
from adapters.model import Job, Node, Queue, Ref, Reservation
from adapters.slurm import lists
from adapters.slurm.calls import SlurmCalls
from adapters.slurm.ids import JobId, matches, parse_id

MOST_IDS = 200
"""Ids on one command line; beyond that the whole list is as cheap for the controller."""


async def observe(calls: SlurmCalls, refs: Sequence[Ref]) -> Mapping[Ref, Target | None]:
    """Targets by the Refs asked for, None where one is gone or its id has another job now. A job that was requeued is
    the same although its submission time begins anew: its target's own Ref has the new `born`. Raises AdapterError."""
    found: dict[Ref, Target | None] = dict.fromkeys(refs)
    kinds = {kind: [ref for ref in refs if ref.kind == kind] for kind in {ref.kind for ref in refs}}
    if jobs := kinds.get("job"):
        found.update(await _jobs(calls, jobs))
    if "node" in kinds:
        reservations = await lists.read_reservations(calls)
        nodes = {node.name: node for node in (await lists.read_nodes(calls, reservations=reservations)).nodes}
        found.update({ref: node_target(nodes[ref.id]) for ref in kinds["node"] if ref.id in nodes})
    if "queue" in kinds:
        queues = {queue.name: queue for queue in (await lists.read_nodes(calls)).partitions}
        found.update({ref: queue_target(queues[ref.id]) for ref in kinds["queue"] if ref.id in queues})
    if "reservation" in kinds:
        rows = {row.name: row for row in await lists.read_reservations(calls)}
        found.update({ref: reservation_target(rows[ref.id]) for ref in kinds["reservation"] if ref.id in rows})
    return found


async def _jobs(calls: SlurmCalls, refs: Sequence[Ref]) -> dict[Ref, Target | None]:
    asked = {ref: parse_id(ref.id) for ref in refs}
    queries = list(dict.fromkeys(each.query for each in asked.values()))
    arguments = ("-j", ",".join(queries)) if len(queries) <= MOST_IDS else ()
    rows = await lists.read_jobs(calls, *arguments)
    by_base: dict[str, list[Job]] = {}
    for row in rows:
        by_base.setdefault(row.array.id if row.array else row.id.split("+")[0], []).append(row)
    return {ref: _job(ref, each, by_base.get(each.base, ())) for ref, each in asked.items()}


def _job(ref: Ref, asked: JobId, rows: Sequence[Job]) -> Target | None:
    row = _row(asked, rows)
    if row is None or (ref.born not in (None, row.born) and not row.extensions.get("restarts")):
        return None
    return job_target(row)


def _row(asked: JobId, rows: Sequence[Job]) -> Job | None:
    """The row an id means. A folded row none of whose elements waits any more, or an array of which only elements are
    left, stands for its elements: it is finished when they are."""
    exact = next((row for row in rows if matches(asked, row.id)), None)
    if exact is not None or asked.index is not None or not rows:
        return exact
    return next((row for row in rows if not row.finished), rows[0])


def job_target(job: Job) -> Target:
    """`values` hold what writes change, by the names of the intents."""
    extensions = job.extensions
    return Target(
        job.ref,
        owner=job.owner,
        state=job.status,
        label=f"{job.id} {job.name}".strip(),
        values={
            "queue": extensions.get("partitions", job.queue),
            "walltime_seconds": job.walltime_seconds,
            "name": job.name,
            "cores": job.cores,
            "nodes": job.nodes,
            "memory_bytes": job.memory_bytes,
            "raw_status": job.raw_status,
            "reason": job.reason,
            **{key: extensions.get(key) for key in _KEYS},
        },
        finished=job.finished,
    )


_KEYS = ("priority", "qos", "account", "comment", "dependency", "features", "gres", "reservation", "job_id")


def node_target(node: Node) -> Target:
    return Target(
        node.ref,
        state=node.status,
        label=node.name,
        values={
            "slots_quota": node.slots_quota,
            "slots_used": node.slots_used,
            "slots_total": node.slots_total,
            "state": node.extensions.get("state"),
            "reason": node.reason,
        },
    )


def queue_target(queue: Queue) -> Target:
    return Target(queue.ref, state=queue.status, label=queue.name, values={"state": queue.extensions.get("state")})


def reservation_target(row: Reservation) -> Target:
    return Target(row.ref, state=row.status, label=row.name, values={"nodes": ",".join(row.node_names)})


def must_exist(refs: Sequence[Ref], found: Mapping[Ref, Target | None]) -> list[Target]:
    """The targets in the order asked. Raises NotFound that names the first that is gone."""
    targets = []
    for ref in refs:
        target = found.get(ref)
        if target is None:
            raise NotFound(f"Slurm knows no {ref.kind} {ref.id}.", "It may have ended and left Slurm's memory.")
        targets.append(target)
    return targets
