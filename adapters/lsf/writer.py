"""All writes of one LSF cluster. Only the gate holds a writer."""

from __future__ import annotations

from typing import Literal

from adapters.base import AdapterError, Invalid, NotFound, UnknownOutcome, Unsupported
from adapters.intents import (
    CloseQueue,
    CreateReservation,
    DeleteReservation,
    DrainNode,
    Intent,
    OpenQueue,
    SetNodeQuota,
    SubmitJob,
    TargetedIntent,
    UndrainNode,
)
from adapters.lsf import capabilities
from adapters.lsf.admin_writes import (
    plan_delete_reservation,
    plan_drain,
    plan_queue,
    plan_quota,
    plan_reservation,
    plan_undrain,
)
from adapters.lsf.answers import outcomes
from adapters.lsf.facts import Facts
from adapters.lsf.job_writes import plan_jobs
from adapters.lsf.observe import observe
from adapters.lsf.session import Session
from adapters.lsf.submit import plan_submit
from adapters.model import Ref
from adapters.plan import Command, Outcome, Plan, Step, Target
from adapters.text import clean


class LsfWriter:
    """Plans and sends writes to one LSF; shares `Session` and `Facts` with the reader."""

    def __init__(self, session: Session, facts: Facts) -> None:
        self.cluster = session.cluster
        self._session = session
        self._facts = facts

    async def plan(self, intent: Intent) -> Plan:
        """What would be run, for the targets as they are now. Raises as the Writer protocol says."""
        if intent.cluster != self.cluster:
            raise Invalid(f"The intent is for {clean(intent.cluster, 60)}, not for {self.cluster}.")
        refused = capabilities.refused(self._session, self._facts, intent.verb)
        if refused is not None:
            raise Unsupported(refused)
        if isinstance(intent, SubmitJob):
            if intent.spec.memory_bytes is not None:
                await self._facts.identification()
            return plan_submit(intent, self._facts)
        if isinstance(intent, CreateReservation):
            return plan_reservation(intent, self._session.now(), self._session.options.zone)
        if isinstance(intent, TargetedIntent):
            return await self._targeted(intent)
        raise Unsupported(f"LSF has no {clean(intent.verb, 40).replace('_', ' ')}.")

    async def _targeted(self, intent: TargetedIntent) -> Plan:
        targets = await self._targets(intent)
        if isinstance(intent, DrainNode):
            return plan_drain(intent, targets)
        if isinstance(intent, UndrainNode):
            return plan_undrain(intent, targets)
        if isinstance(intent, SetNodeQuota):
            return plan_quota(intent, targets, capabilities.quota_refused(self._session, self._facts))
        if isinstance(intent, OpenQueue | CloseQueue):
            return plan_queue(intent, targets)
        if isinstance(intent, DeleteReservation):
            return plan_delete_reservation(intent, targets)
        if getattr(intent, "memory_bytes", None) is not None:
            await self._facts.identification()
        return plan_jobs(intent, targets, self._facts)

    async def _targets(self, intent: TargetedIntent) -> list[Target]:
        """The targets as they are now. Raises NotFound that names those that are not there."""
        found = await observe(self._session, intent.refs)
        missing = [clean(ref.id, 40) for ref in intent.refs if found.get(ref) is None]
        if missing:
            names = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
            raise NotFound(f"There is no {intent.kind} {names} (any more).", "Refresh, and look again.")
        return [target for ref in intent.refs if (target := found[ref]) is not None]

    async def send(self, step: Step) -> tuple[Outcome, ...]:
        """Run the step's command as it stands; have the watch read its targets again soon after."""
        if not isinstance(step.request, Command):
            raise TypeError("an LSF step holds a command")
        try:
            done = await self._session.write(step.request)
            found = outcomes(self.cluster, step, done)
        except UnknownOutcome as error:
            found = self._all("unknown", step, error)
        except AdapterError as error:
            found = self._all("refused", step, error)
        self._session.note_written((target.ref.kind, target.ref.id) for target in step.targets)
        made = [outcome.created for outcome in found if outcome.created and outcome.created.kind == "job"]
        self._session.note_written((ref.kind, ref.id) for ref in made)
        return found

    def _all(self, result: Literal["refused", "unknown"], step: Step, error: AdapterError) -> tuple[Outcome, ...]:
        refs: list[Ref | None] = [target.ref for target in step.targets]
        return tuple(Outcome(result, ref, error.message, error.code) for ref in refs or [None])

    async def close(self) -> None:
        """Nothing is held open between two commands."""
