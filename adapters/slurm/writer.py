"""All writes to a Slurm cluster by its commands: plans, and sending exactly what a plan holds."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from typing import Literal

from adapters.base import AdapterError, NotFound, ProtocolError, Unsupported
from adapters.command import Finished, run_read
from adapters.intents import (
    CancelJob,
    CloseQueue,
    Command,
    CreateReservation,
    DeleteReservation,
    DrainNode,
    HoldJob,
    Intent,
    ModifyJob,
    OpenQueue,
    Outcome,
    Plan,
    ReleaseJob,
    RequeueJob,
    ResumeJob,
    SetNodeQuota,
    Step,
    SubmitJob,
    SuspendJob,
    Target,
    TargetedIntent,
    UndrainNode,
)
from adapters.model import Job, Node, Ref
from adapters.slurm import lists, plan_cluster, plan_jobs
from adapters.slurm.calls import SlurmCalls
from adapters.slurm.errors import error_of, words
from adapters.slurm.facts import Facts
from adapters.slurm.observe import must_exist, node_target, observe
from adapters.slurm.quota import quota_plan
from adapters.slurm.reservations import PREFIX, NodeReservations, by_node
from adapters.slurm.rights import NEVER
from adapters.slurm.submit import dry_run_of, submission
from adapters.text import clean

RETRY_EVERY = 15.0
"""Seconds between two tries to set cores apart that are still in use."""
_CREATED = re.compile(rb"(\d{1,10})(?:;[\w.-]+)?\s*")
_KILL_ERROR = re.compile(rb"Kill job error on job id \S+: (.+)")
_SIMPLE = (HoldJob, ReleaseJob, RequeueJob, SuspendJob, ResumeJob)


class SlurmWriter:
    """Writes by `sbatch`, `scancel` and `scontrol`. Only the gate holds one."""

    def __init__(
        self, calls: SlurmCalls, facts: Facts, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self.cluster = calls.options.cluster
        self._calls = calls
        self._facts = facts
        self._options = calls.options
        self._sleep = sleep

    async def plan(self, intent: Intent) -> Plan:
        """Freeze the targets and say exactly what would be run. Raises Unsupported, Invalid, NotFound, Conflict."""
        if reason := NEVER.get(intent.verb):
            raise Unsupported(reason)
        if isinstance(intent, SubmitJob):
            return await self._submission(intent)
        if isinstance(intent, CreateReservation):
            return plan_cluster.create_reservation_plan(intent, self._options)
        if isinstance(intent, SetNodeQuota):
            return await self._quota(intent)
        if not isinstance(intent, TargetedIntent):
            raise Unsupported(f"Slurm has no {intent.verb.replace('_', ' ')}.")
        return await self._targeted(intent)

    async def _targeted(self, intent: TargetedIntent) -> Plan:
        targets = must_exist(intent.refs, await observe(self._calls, intent.refs))
        if isinstance(intent, CancelJob):
            return plan_jobs.cancel_plan(intent, targets, self._options)
        if isinstance(intent, DrainNode):
            return plan_cluster.drain_plan(intent, targets, self._options)
        if isinstance(intent, UndrainNode):
            return plan_cluster.undrain_plan(intent, targets, self._options)
        if isinstance(intent, OpenQueue | CloseQueue):
            return plan_cluster.queue_plan(intent, targets, self._options)
        if isinstance(intent, DeleteReservation):
            return plan_cluster.delete_reservation_plan(intent, targets, self._options)
        person = await self._facts.person()
        if isinstance(intent, ModifyJob):
            return plan_jobs.modify_plan(intent, targets, self._options, person)
        if isinstance(intent, _SIMPLE):
            return plan_jobs.simple_plan(intent, targets, self._options, await self._facts.version(), person)
        raise Unsupported(f"Slurm has no {intent.verb.replace('_', ' ')}.")

    async def _submission(self, intent: SubmitJob) -> Plan:
        """With the answer of `sbatch --test-only`: an estimated start, or the reason why Slurm would refuse it."""
        command, changes, warnings = submission(intent, self._options)
        question = dry_run_of(command)
        self._calls.meter.record()
        finished = await run_read(
            question.argv,
            self._options.write_environment(),
            stdin=question.stdin,
            timeout=self._options.read_timeout,
        )
        said = words(finished.stderr, finished.stdout)
        if finished.rc != 0:
            error = error_of(finished)
            if error.code in ("unavailable", "unreachable", "unauthenticated"):
                raise error
            # What is busy now is taken all the same, and waits: only the dry run calls it an error.
            busy = error.code == "conflict"
            warnings.insert(0, f"Slurm {'cannot start this now' if busy else 'refuses this in its dry run'}: {said}")
        step = Step(command, (), intent.describe())
        return Plan(intent, (step,), tuple(changes), tuple(warnings), undo="cancel the job", dry_run=said or None)

    async def _quota(self, intent: SetNodeQuota) -> Plan:
        reservations = await lists.read_reservations(self._calls)
        found = {n.name: n for n in (await lists.read_nodes(self._calls, reservations=reservations)).nodes}
        held = by_node(reservations)
        version = await self._facts.version()
        nodes = []
        for ref in intent.refs:
            node = found.get(ref.id)
            if node is None:
                raise NotFound(f"Slurm knows no node {ref.id}.")
            jobs = await self._jobs_on(node) if intent.slots is not None and not version.reserves_busy_cores else []
            nodes.append((node, node_target(node), held.get(node.name, NodeReservations()), jobs))
        return quota_plan(intent, nodes, self._options, version)

    async def _jobs_on(self, node: Node) -> list[Job]:
        return await lists.read_jobs(self._calls, "-w", node.name)

    async def send(self, step: Step) -> tuple[Outcome, ...]:
        """Run what the step holds. Setting cores apart that are busy is tried again, as the plan says, until they fall
        free or `quota_wait` seconds are over: a refusal as busy has changed nothing."""
        if not isinstance(step.request, Command):
            raise TypeError("a step of Slurm's commands holds a Command")
        deadline = time.monotonic() + self._options.quota_wait
        while True:
            finished, error = await self._calls.write(step.request)
            if not (_keeps_quota(step.request) and _is_busy(error)) or time.monotonic() >= deadline:
                break
            await self._sleep(RETRY_EVERY)
        if finished is not None and error is None:
            error = _unsaid_failure(finished)
        return _outcomes(self.cluster, step, finished, error)

    async def close(self) -> None:
        """Nothing is held open between calls."""


def _keeps_quota(command: Command) -> bool:
    return any(part.startswith(f"reservationname={PREFIX}") for part in command.argv) and "create" in command.argv


def _is_busy(error: AdapterError | None) -> bool:
    return error is not None and error.code == "conflict" and "busy" in error.message


def _unsaid_failure(finished: Finished) -> AdapterError | None:
    """A failure behind exit code 0: `scancel` of a job that is missing or has ended says so only with `-v`."""
    found = _KILL_ERROR.search(finished.stderr) if finished.argv[0] == "scancel" else None
    if found is None:
        return None
    return error_of(Finished(finished.argv, 1, b"", found[1], finished.seconds))


def _outcomes(cluster: str, step: Step, finished: Finished | None, error: AdapterError | None) -> tuple[Outcome, ...]:
    targets: tuple[Target | None, ...] = step.targets or (None,)
    refs = [target.ref if target is not None else None for target in targets]
    if error is not None:
        result: Literal["refused", "unknown"] = "unknown" if error.code == "unknown" else "refused"
        message = f"{error.message} {error.hint}".strip()
        return tuple(Outcome(result, ref, message, error.code) for ref in refs)
    assert finished is not None
    if finished.argv[0] == "sbatch":
        return (_submitted(cluster, finished),)
    said = words(finished.stderr, finished.stdout)
    return tuple(Outcome("accepted", ref, said) for ref in refs)


def _submitted(cluster: str, finished: Finished) -> Outcome:
    """``91`` or ``91;cluster``. Another answer leaves it unknown what became of the submission."""
    found = _CREATED.fullmatch(finished.stdout)
    if found is None:
        error = ProtocolError(f"sbatch answered {clean(finished.stdout, 200)!r} and no job id.")
        return Outcome("unknown", None, error.message, "unknown")
    created = Ref(cluster, "job", found[1].decode())
    said = words(finished.stderr)
    return Outcome("accepted", None, f"Submitted job {created.id}. {said}".strip(), created=created)
