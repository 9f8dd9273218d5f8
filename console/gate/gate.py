"""The gate: prepare, execute, decline. The only holder of Writers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from adapters.base import AdapterError, JobFilter, NotFound, Reader, Writer
from adapters.intents import Intent, Plan
from adapters.model import Job
from adapters.text import clean
from console.audit import AuditError, AuditLog, Record
from console.cluster import Cluster
from console.config import Config
from console.gate.agency import Agency
from console.gate.inbox import Proposal
from console.gate.operation import Operation
from console.gate.policy import Circumstances, check, check_approval
from console.gate.prepared import Approval, PlanChanged, Prepared, Refused
from console.gate.question import question
from console.gate.recheck import Recheck, recheck
from console.gate.record import about, about_plan
from console.gate.scope import AgentScope
from console.gate.send import Sender
from console.gate.settle import settle
from console.gate.verify import Sleep, Verifier
from console.store import Store

Spawn = Callable[[Coroutine[Any, Any, Any], str], "asyncio.Task[Any]"]
MOST_WAITING = 200  # plans that wait for an answer; the oldest is forgotten beyond that

MOST_OPERATIONS = 200  # that are kept to be looked at


@dataclass(frozen=True, slots=True)
class _Door:
    """A cluster and the way to write to it."""

    cluster: Cluster
    writer: Writer


class Gate:
    """Every write of the console passes here.

    Args:
        spawn: runs the sending where no screen's end reaches it; the engine's.
        sleep: between looks when verifying.
    """

    def __init__(
        self, config: Config, store: Store, audit: AuditLog, spawn: Spawn, *, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._config = config
        self._store = store
        self._audit = audit
        self._spawn = spawn
        self._verifier = Verifier(store, sleep)
        self._doors: dict[str, _Door] = {}
        self._closed: dict[str, AdapterError] = {}
        self._waiting: dict[str, Prepared] = {}
        self.agents = Agency(AgentScope.beginning(config.agents), self._append, store.now)
        self.operations: list[Operation] = []
        self.settled: list[Record] = []
        self._looking: set[asyncio.Task[None]] = set()

    def attach(self, cluster: Cluster, writer: Writer) -> None:
        """Take charge of a cluster's Writer."""
        self._doors[cluster.name] = _Door(cluster, writer)

    def cannot_open(self, cluster: Cluster, error: AdapterError) -> None:
        """Nothing can be written there, and this is why."""
        self._closed[cluster.name] = error

    async def prepare(self, intent: Intent) -> Prepared:
        """Policy, then the plan. Raises Refused, AuditError, or what planning meets; all of them are on record."""
        door = await self._door(intent)
        try:
            plan = await self._plan(door, intent)
        except AdapterError as error:
            await self._record_refusal(door, intent, error)
            raise
        prepared = Prepared(plan, question(self._circumstances(door), plan))
        return self._keep(prepared)

    async def autopilot_covers(self, prepared: Prepared) -> bool:
        """Whether autopilot would answer for the person now. Nothing is spent; `execute` checks again."""
        if self.agents.autopilot is None:
            return False
        door = self._doors[prepared.intent.cluster]
        try:
            self.agents.cost(prepared.plan, (await self._known(door, prepared.plan)).reach)
        except Refused:
            return False
        return True

    async def execute(self, prepared: Prepared, approval: Approval) -> Operation:
        """Send what was approved, once. Returns when the first line is on record and sending has begun.

        Raises Refused, PlanChanged (nothing was sent; show its plan again), AuditError, or what reading meets.
        """
        shown = self._waiting.pop(prepared.prepared_id, None)
        if shown is None:
            raise Refused("approval", "This plan was already answered; nothing was sent again.", "Begin anew.")
        door = self._doors[shown.intent.cluster]
        try:
            self._check_answer(door, shown, approval)
            found = await recheck(await self._reader(door), shown.plan)
            if found.changed:
                raise await self._changed(shown, found)
            plan = await self._left(door, shown, found)
            if approval.how == "autopilot":
                self.agents.spend(plan, (await self._known(door, plan)).reach)
        except PlanChanged:
            raise
        except Refused as refusal:
            await self._record_refusal(door, shown.intent, refusal, shown.plan)
            raise
        except (AdapterError, asyncio.CancelledError):
            self._keep(shown)  # nothing was sent: the same answer may be given again
            raise
        return await self._begin(door, plan, approval, shown.notes + found.notes)

    async def decline(self, prepared: Prepared, reason: str = "") -> None:
        """A no. The plan cannot be used any more. Raises AuditError."""
        shown = self._waiting.pop(prepared.prepared_id, None)
        if shown is None:
            return
        door = self._doors[shown.intent.cluster]
        fields = about_plan(shown.plan, door.cluster.identity)
        await self._append("declined", decision="declined", message=reason, **fields)

    def forget(self, prepared: Prepared) -> None:
        """A plan that nobody was asked about, or that another one takes the place of: it cannot be used any more."""
        self._waiting.pop(prepared.prepared_id, None)

    async def approve(self, proposal: Proposal, approval: Approval) -> Operation:
        """A person's yes to what an agent proposed. Raises as `execute` does; a plan that changed meanwhile takes the
        place of the old one in the inbox, to be looked at again, and one that is refused leaves it."""
        try:
            operation = await self.execute(proposal.prepared, approval)
        except PlanChanged as changed:
            self.agents.inbox.replace(proposal, changed.prepared)
            raise
        except Refused as refusal:
            if refusal.rule in ("confirm", "unattended"):  # the answer was no answer: the same plan goes on waiting
                self.agents.inbox.replace(proposal, self._keep(replace(proposal.prepared, prepared_id=uuid4().hex)))
            else:
                self.agents.inbox.close(proposal, "refused", note=str(refusal))
            raise
        self.agents.inbox.close(proposal, "approved", operation)
        return operation

    async def deny(self, proposal: Proposal, reason: str = "") -> None:
        """A person's no. Raises AuditError; the proposal is gone in any case."""
        self.agents.inbox.close(proposal, "declined", note=reason)
        await self.decline(proposal.prepared, reason)

    async def withdraw(self, turn: str) -> None:
        """Take back what a turn proposed and nobody has answered: the turn was stopped. Raises AuditError."""
        for proposal in self.agents.inbox.withdraw(turn):
            await self.decline(proposal.prepared, "withdrawn")

    async def settle(self) -> None:
        """Look up and close what earlier runs left open. Never raises: what cannot be closed waits."""
        readers = {name: door.cluster.reader for name, door in self._doors.items() if door.cluster.reader is not None}
        with suppress(AuditError):
            self.settled += await settle(self._audit, readers)

    def stop_all(self, reason: str) -> None:
        """Send no further step of any operation."""
        for operation in self.operations:
            if not operation.done:
                operation.stop(reason)

    async def close(self) -> None:
        """End what is still reading again, and close the Writers."""
        for task in self._looking:
            task.cancel()
        await asyncio.gather(*self._looking, return_exceptions=True)
        for door in self._doors.values():
            with suppress(AdapterError):
                await door.writer.close()

    async def _door(self, intent: Intent) -> _Door:
        door = self._doors.get(intent.cluster)
        if door is None:
            if (closed := self._closed.get(intent.cluster)) is not None:
                raise closed
            raise NotFound(f"There is no open cluster {clean(intent.cluster, 64)}.", "See: pilothouse doctor")
        await door.cluster.learn()
        return door

    async def _reader(self, door: _Door) -> Reader:
        await door.cluster.learn()
        assert door.cluster.reader is not None
        return door.cluster.reader

    def _circumstances(self, door: _Door) -> Circumstances:
        cluster = door.cluster
        assert cluster.capabilities is not None and cluster.identity is not None
        return Circumstances(self._config, cluster.profile, cluster.capabilities, cluster.identity, self.agents.scope)

    async def _known(self, door: _Door, plan: Plan) -> Circumstances:
        """With the rows of an agent's targets, where its scope or autopilot asks what only they tell."""
        circumstances = self._circumstances(door)
        asked = plan.intent.by_agent and (self.agents.scope.queues is not None or self.agents.autopilot is not None)
        ids = tuple(target.ref.id for target in plan.targets if target.ref.kind == "job")
        if not (asked and ids):
            return circumstances
        rows: dict[str, Job] = {job.id: job for job in await (await self._reader(door)).list_jobs(JobFilter(ids=ids))}
        return replace(circumstances, jobs=rows)

    async def _plan(self, door: _Door, intent: Intent) -> Plan:
        circumstances = self._circumstances(door)
        check(circumstances, intent)
        plan = await door.writer.plan(intent)
        check(await self._known(door, plan), intent, plan)
        return plan

    def _keep(self, prepared: Prepared) -> Prepared:
        self._waiting[prepared.prepared_id] = prepared
        while len(self._waiting) > MOST_WAITING:
            del self._waiting[next(iter(self._waiting))]
        return prepared

    def _check_answer(self, door: _Door, shown: Prepared, approval: Approval) -> None:
        if approval.digest is not None and approval.digest != shown.digest:
            raise Refused("approval", "The answer was for another plan; nothing was sent.", "Begin anew.")
        check_approval(self._circumstances(door), shown.intent, shown.confirm, approval)

    async def _changed(self, shown: Prepared, found: Recheck) -> AdapterError:
        """The plan made anew, to be shown; or what making it meets."""
        door = self._doors[shown.intent.cluster]
        fields = about_plan(shown.plan, door.cluster.identity)
        await self._append("changed", decision="shown again", message=" ".join(found.changed), **fields)
        again = await self.prepare(shown.intent)
        return PlanChanged(self._keep(replace(again, notes=found.changed + found.notes)))

    async def _left(self, door: _Door, shown: Prepared, found: Recheck) -> Plan:
        """The plan without what has dropped out; policy once more. Raises Refused."""
        plan = shown.plan.without(found.gone) if found.gone else shown.plan
        if not plan.steps:
            raise Refused("finished", " ".join(found.notes) or "There is nothing left to do.", "Nothing was sent.")
        check(await self._known(door, plan), shown.intent, plan)
        return plan

    async def _begin(self, door: _Door, plan: Plan, approval: Approval, notes: tuple[str, ...]) -> Operation:
        operation = Operation(plan, approval, at=self._store.now(), notes=notes)
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        begun.add_done_callback(_looked_at)
        self.operations.append(operation)
        self._forget_old()
        self._spawn(self._run(door, operation, begun), f"send {plan.plan_id}")
        await asyncio.shield(begun)
        return operation

    def _forget_old(self) -> None:
        done = [operation for operation in self.operations if operation.verified]
        for operation in done[: max(0, len(self.operations) - MOST_OPERATIONS)]:
            self.operations.remove(operation)

    async def _run(self, door: _Door, operation: Operation, begun: asyncio.Future[None]) -> None:
        sender = Sender(self._audit, self._store, door.writer, door.cluster.identity)
        await sender.run(operation, begun)
        looking = asyncio.create_task(self._verify(door, operation, sender), name=f"verify {operation.operation_id}")
        self._looking.add(looking)
        looking.add_done_callback(self._looking.discard)

    async def _verify(self, door: _Door, operation: Operation, sender: Sender) -> None:
        """Reading again may be ended at any time: everything that counts is on record before."""
        assert door.cluster.reader is not None and door.cluster.capabilities is not None
        unsure = [step for step in operation.steps if step.state == "unknown"]
        try:
            await self._verifier.run(operation, door.cluster.reader, push=door.cluster.capabilities.push)
            for step in unsure:
                if step.state != "unknown":
                    await sender.record_found(operation, step)
        finally:
            operation.finish_verifying()

    async def _record_refusal(self, door: _Door, intent: Intent, error: AdapterError, plan: Plan | None = None) -> None:
        """A refusal stands even where it cannot be put on record."""
        rule = error.rule if isinstance(error, Refused) else f"plan: {error.code}"
        identity = door.cluster.identity
        fields = about(intent, identity) if plan is None else about_plan(plan, identity)
        with suppress(AuditError):
            await self._append("refused", decision=f"refused: {rule}", rule=rule, message=str(error), **fields)

    async def _append(self, kind: str, **fields: Any) -> None:
        await asyncio.to_thread(self._audit.append, kind, **fields)


def _looked_at(begun: asyncio.Future[None]) -> None:
    """Whoever waited may have left; the step's state tells what went wrong, so that no warning is due."""
    if not begun.cancelled():
        begun.exception()
