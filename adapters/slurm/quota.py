"""Plans for the quota of a node, kept by reservations of cores; `adapters.slurm.reservations` says how.

What is idle is set apart at once. The rest follows as jobs end: by one reservation over busy cores where the release
allows it (22.05 to 24.11), else by steps that wait for cores to fall free, the smallest job's first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from adapters.base import Conflict
from adapters.intents import Change, Command, Plan, SetNodeQuota, Step, Target
from adapters.model import Job, Node
from adapters.slurm.facts import Version
from adapters.slurm.options import SlurmOptions
from adapters.slurm.reservations import Kept, NodeReservations, cores_to_reserve, quota_name


@dataclass(slots=True)
class _Draft:
    """The steps for one node while they are put together. `number` is that of the next reservation."""

    node: Node
    target: Target
    slots: int
    number: int
    options: SlurmOptions
    steps: list[Step] = field(default_factory=list)

    def create(self, cores: int, *flags: str, waits: bool = False) -> str:
        """Add the step that sets `cores` apart; returns the reservation's name."""
        name = quota_name(self.node.name, self.slots, self.number)
        self.number += 1
        settings = [f"reservationname={name}", f"nodes={self.node.name}", f"corecnt={cores}", "users=root"]
        settings += ["starttime=now", "duration=infinite"]
        if flags:
            settings.append(f"flags={','.join(flags)}")
        command = Command(self.options.argv("scontrol", "create", "reservation", *settings))
        how = " as they fall free" if waits else " that jobs still use" if "ignore_jobs" in flags else ""
        self.steps.append(Step(command, (self.target,), f"Set apart {cores} cores of {self.node.name}{how}"))
        return name

    def delete(self, name: str) -> None:
        command = Command(self.options.argv("scontrol", "delete", f"reservationname={name}"))
        self.steps.append(Step(command, (self.target,), f"Give back the cores of {name}"))


def quota_plan(
    intent: SetNodeQuota,
    nodes: Sequence[tuple[Node, Target, NodeReservations, Sequence[Job]]],
    options: SlurmOptions,
    version: Version,
) -> Plan:
    """The plan for nodes, each with its target, its reservations and the jobs on it. Raises Conflict where a node is
    drained or down (Slurm sets nothing apart there), or has no quota to lift."""
    steps: list[Step] = []
    changes: list[Change] = []
    warnings: list[str] = []
    for node, target, held, jobs in nodes:
        steps += _steps(intent.slots, node, target, held, jobs, options, version)
        after = "none" if intent.slots is None else str(intent.slots)
        before = "none" if node.slots_quota is None else str(node.slots_quota)
        changes.append(Change(target.ref, "slots_quota", before, after))
        warnings += _warnings(intent.slots, node, held)
    return Plan(intent, tuple(steps), tuple(changes), tuple(warnings), undo=_undo(nodes))


def _undo(nodes: Sequence[tuple[Node, Target, NodeReservations, Sequence[Job]]]) -> str:
    before = {node.slots_quota for node, *_ in nodes}
    if before == {None}:
        return "lift the quota"
    return "set the quota of before: " + ", ".join(f"{node.name} {node.slots_quota}" for node, *_ in nodes)


def _steps(
    slots: int | None,
    node: Node,
    target: Target,
    held: NodeReservations,
    jobs: Sequence[Job],
    options: SlurmOptions,
    version: Version,
) -> list[Step]:
    total, threads = node.slots_total or 0, int(node.extensions.get("threads_per_core", 1))
    highest = max((kept.n for kept in held.ours), default=0)
    draft = _Draft(node, target, slots or 0, highest + 1, options)
    if slots is None or slots >= total:
        if not held.ours:
            raise Conflict(f"{node.name} has no quota to lift.", "Nothing needs to be sent.")
        for kept in held.ours:
            draft.delete(kept.name)
        return draft.steps
    if node.status in ("drain", "down"):
        raise Conflict(
            f"{node.name} is {node.extensions.get('state')}: Slurm sets no cores apart there.",
            "No job starts on it anyhow; set the quota when it is back.",
        )
    cores = cores_to_reserve(total, slots, threads)
    idle = max(0, total - (node.slots_used or 0)) // threads
    if held.others:
        _replace(draft, held, cores, idle)
    else:
        _add(draft, held, cores, idle, _sizes(jobs, threads), version)
    if not draft.steps:
        raise Conflict(f"The quota of {node.name} is {slots} already.", "Nothing needs to be sent.")
    return draft.steps


def _add(draft: _Draft, held: NodeReservations, cores: int, idle: int, sizes: Sequence[int], version: Version) -> None:
    """Keep what fits of the reservations there are, give back the others, and add what is missing: reservations of
    cores on one node add up as long as none may overlap another."""
    keep = _fitting(held.ours, cores)
    missing = cores - sum(kept.cores for kept in keep)
    if not missing and keep and max(keep, key=lambda kept: kept.n).slots != draft.slots:
        # The name of the newest one tells the quota: one of them is made anew under the right name.
        smallest = min(keep, key=lambda kept: kept.cores)
        keep.remove(smallest)
        missing = smallest.cores
    for kept in held.ours:
        if kept not in keep:
            draft.delete(kept.name)
    free = max(0, idle - sum(kept.cores for kept in keep))
    now = min(missing, free)
    if now:
        draft.create(now)
    rest = missing - now
    if rest and version.reserves_busy_cores:
        draft.create(rest, "ignore_jobs")
    elif rest:
        for size in _portions(rest, sizes):
            draft.create(size, waits=True)


def _replace(draft: _Draft, held: NodeReservations, cores: int, idle: int) -> None:
    """On a node that is in somebody else's reservation Slurm wants `flags=overlap`, and then ours may overlap each
    other: so there is one at a time, the new one made before the old one is given back."""
    latest = max(held.ours, key=lambda kept: kept.n, default=None)
    if latest is not None and latest.slots == draft.slots and held.cores == cores:
        return
    old = [kept.name for kept in held.ours]
    now = min(cores, idle)
    if now:
        old.append(draft.create(now, "overlap"))
        for name in old[:-1]:
            draft.delete(name)
        old = old[-1:]
    if now < cores:
        draft.create(cores, "overlap", waits=True)
        for name in old:
            draft.delete(name)


def _fitting(ours: Sequence[Kept], cores: int) -> list[Kept]:
    """The largest reservations that together hold no more than `cores`."""
    keep: list[Kept] = []
    left = cores
    for kept in sorted(ours, key=lambda kept: (-kept.cores, -kept.n)):
        if 0 < kept.cores <= left:
            keep.append(kept)
            left -= kept.cores
    return keep


def _sizes(jobs: Sequence[Job], threads: int) -> list[int]:
    """Cores that each job holds on a node, as far as its totals tell; smallest first."""
    per_node = ((job.cores or 0) // max(1, job.nodes or 1) // threads for job in jobs if job.status == "running")
    return sorted(max(1, size) for size in per_node)


def _portions(rest: int, sizes: Sequence[int]) -> list[int]:
    """`rest` cores in portions that fall free together: one a job."""
    portions: list[int] = []
    for size in sizes:
        if sum(portions) >= rest:
            break
        portions.append(min(size, rest - sum(portions)))
    missing = rest - sum(portions)
    return [*portions, missing] if missing else portions


def _warnings(slots: int | None, node: Node, held: NodeReservations) -> list[str]:
    if slots is None or node.slots_total is None or slots >= node.slots_total:
        return []
    found = ["The quota is kept by reservations of cores for root, which Slurm ends after 365 days."]
    used = node.slots_used or 0
    if used > slots:
        found.append(
            f"Jobs use {used} of {node.slots_total} slots of {node.name}: none is ended; it stays above its quota until"
            f" {used - slots} have fallen free."
        )
    if slots == 0:
        found.append(f"All cores of {node.name} are reserved: nothing new starts, as if it were drained.")
    if held.others:
        found.append(f"{node.name} is also in reservation {', '.join(held.others)}: its users are not held back.")
    threads = int(node.extensions.get("threads_per_core", 1))
    if threads > 1 and (node.slots_total - slots) % threads:
        found.append(f"Slurm sets whole cores of {threads} threads apart: {slots // threads * threads} slots are left.")
    return found
