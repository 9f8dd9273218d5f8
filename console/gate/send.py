"""The only place where something is sent: audit line, request, audit line, for one step after the other."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from adapters.base import AdapterError, Identity, Unreachable, Writer
from adapters.intents import Intent, Outcome, Step
from console.audit import AuditError, AuditLog
from console.gate.expect import mark_words, row_shows
from console.gate.operation import Operation, StepProgress, StepState
from console.gate.record import about, decision, outcome_fields, step_fields
from console.store import Store

_log = logging.getLogger(__name__)
GIVE_UP_AFTER = 3  # steps in a row without an answer, after which the rest is not sent


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends the steps of one operation through one writer. `monotonic` measures durations."""

    audit: AuditLog
    store: Store
    writer: Writer
    identity: Identity | None
    monotonic: Callable[[], float] = time.monotonic

    async def run(self, operation: Operation, begun: asyncio.Future[None]) -> None:
        """Send every step that may be sent. `begun` gets a result once the first line is on record, or AuditError.

        Never raises: what goes wrong is the state of a step.
        """
        silent = 0
        try:
            for index, progress in enumerate(operation.steps):
                if why := _not_to_be_sent(operation, index, silent):
                    progress.state, progress.note = "not_sent", why
                    continue
                await self._step(operation, index, progress, begun)
                silent = silent + 1 if _silent(progress) else 0
        finally:
            for progress in operation.steps:
                if progress.state == "sending":  # only where this task itself was ended
                    progress.state, progress.note = "unknown", "Its answer was not waited for."
            if not begun.done():
                begun.set_result(None)
            operation.finish_sending()

    async def _step(
        self, operation: Operation, index: int, progress: StepProgress, begun: asyncio.Future[None]
    ) -> None:
        fields = self._fields(operation, index, progress.step)
        try:
            await self._append("intent", decision=decision(operation.approval), **fields)
        except AuditError as error:
            progress.state, progress.note = "not_sent", str(error)
            operation.stop("the audit log cannot be written")
            if not begun.done():
                begun.set_exception(error)
            return
        if not begun.done():
            begun.set_result(None)
        progress.state = "sending"
        self._mark(operation.intent, progress.step)
        operation.touch()
        started = self.monotonic()
        outcomes = await self._send(progress.step)
        progress.seconds = self.monotonic() - started
        progress.outcomes = outcomes
        progress.state = _state(outcomes)
        self._unmark_refused(progress)
        await self._record_result(operation, fields, progress)
        operation.touch()

    async def _send(self, step: Step) -> tuple[Outcome, ...]:
        """The writer's outcomes. A writer that raises has not kept its contract: then the outcome is unknown, save
        where the error itself says that nothing was sent."""
        try:
            outcomes = await self.writer.send(step)
        except Unreachable as error:
            return _for_each(step, Outcome("refused", message=str(error), error=error.code))
        except AdapterError as error:
            return _for_each(step, Outcome("unknown", message=str(error), error=error.code))
        except Exception as error:
            _log.exception("a writer of %s raised", self.writer.cluster)
            told = f"The adapter failed while sending: {type(error).__name__}."
            return _for_each(step, Outcome("unknown", message=told, error="unknown"))
        return outcomes or _for_each(step, Outcome("unknown", message="The adapter told no outcome.", error="unknown"))

    async def _record_result(self, operation: Operation, fields: dict[str, Any], progress: StepProgress) -> None:
        brief = _brief(fields)
        seconds = round(progress.seconds or 0.0, 3)
        try:
            await self._append("result", seconds=seconds, **brief, **outcome_fields(progress.outcomes))
        except AuditError as error:
            progress.note = f"Its outcome could not be put on record: {error}"
            operation.stop("the audit log cannot be written")

    async def record_found(self, operation: Operation, progress: StepProgress) -> None:
        """A step whose answer was lost turned out to be done: one more line, after its result line."""
        index = operation.steps.index(progress)
        fields = self._fields(operation, index, progress.step)
        brief = _brief(fields)
        with suppress(AuditError):
            await self._append("found", message=progress.note, **brief, **outcome_fields(progress.outcomes))

    async def _append(self, kind: str, **fields: Any) -> None:
        await asyncio.to_thread(self.audit.append, kind, **fields)

    def _fields(self, operation: Operation, index: int, step: Step) -> dict[str, Any]:
        """A line is about its step's targets; those of a whole bulk action would make each of its lines as long."""
        fields = about(operation.intent, self.identity, step.targets)
        return {**fields, "plan_id": operation.plan.plan_id, **step_fields(operation.operation_id, index, step)}

    def _mark(self, intent: Intent, step: Step) -> None:
        for target in step.targets:
            self.store.mark(target.ref, mark_words(intent), lambda row: row_shows(intent, row))

    def _unmark_refused(self, progress: StepProgress) -> None:
        refused = {outcome.ref for outcome in progress.outcomes if outcome.result == "refused"}
        for target in progress.step.targets:
            if target.ref in refused or refused == {None}:
                self.store.unmark(target.ref)


def _brief(fields: dict[str, Any]) -> dict[str, Any]:
    """What a later line repeats of the intent line, which holds the request itself."""
    return {name: value for name, value in fields.items() if name not in ("request", "parameters")}


def _for_each(step: Step, outcome: Outcome) -> tuple[Outcome, ...]:
    if not step.targets:
        return (outcome,)
    return tuple(Outcome(outcome.result, target.ref, outcome.message, outcome.error) for target in step.targets)


def _state(outcomes: tuple[Outcome, ...]) -> StepState:
    results = {outcome.result for outcome in outcomes}
    if "unknown" in results:
        return "unknown"
    return "accepted" if "accepted" in results else "refused"


def _silent(progress: StepProgress) -> bool:
    """No answer came, or no connection."""
    return progress.state == "unknown" or any(o.error == Unreachable.code for o in progress.outcomes)


def _not_to_be_sent(operation: Operation, index: int, silent: int) -> str:
    """Why this step must not be sent, or nothing."""
    if operation.stopping:
        return f"Not sent: {operation.stop_reason}."
    if operation.steps[index].step.sequel and index and operation.steps[index - 1].state != "accepted":
        return "Not sent: the step before it was not accepted."
    if silent >= GIVE_UP_AFTER:
        return f"Not sent: the last {silent} requests got no answer."
    return ""
