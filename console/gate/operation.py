"""A plan on its way: its steps, how far it is, what came of each, and a stop between steps."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias
from uuid import uuid4

from adapters.intents import Intent, Outcome, Plan, Step
from adapters.model import Ref
from console.gate.prepared import Approval

_log = logging.getLogger(__name__)
StepState: TypeAlias = Literal["waiting", "sending", "accepted", "refused", "unknown", "not_sent"]
Verified: TypeAlias = Literal["pending", "confirmed", "not_yet", "cannot_tell"]
Result: TypeAlias = Literal["running", "accepted", "refused", "unknown", "partly", "stopped"]


@dataclass(slots=True)
class StepProgress:
    """One step: its state, the outcome for each target, and what reading the targets again has shown.

    `not_sent` says that it never left (stopped, or the step before it failed); `note` then says why.
    """

    step: Step
    state: StepState = "waiting"
    outcomes: tuple[Outcome, ...] = ()
    verified: dict[Ref, Verified] = field(default_factory=dict)
    note: str = ""
    seconds: float | None = None


class Operation:
    """A plan that was approved. Lives in the engine; screens look at it and may come and go.

    `revision` grows with every change, so that a screen can tell on its tick whether there is anything to paint.
    """

    def __init__(self, plan: Plan, approval: Approval, *, at: datetime, notes: tuple[str, ...] = ()) -> None:
        self.operation_id = uuid4().hex
        self.plan = plan
        self.approval = approval
        self.started = at
        self.notes = notes
        self.steps = [StepProgress(step) for step in plan.steps]
        self.revision = 0
        self.stop_reason = ""
        self._sent = asyncio.Event()
        self._verified = asyncio.Event()
        self._watchers: list[Callable[[Operation], None]] = []

    @property
    def intent(self) -> Intent:
        return self.plan.intent

    @property
    def outcomes(self) -> list[Outcome]:
        """One for each target of each step that was sent, in order."""
        return [outcome for step in self.steps for outcome in step.outcomes]

    @property
    def done(self) -> bool:
        """Everything that will be sent has been, and has its outcome."""
        return self._sent.is_set()

    @property
    def verified(self) -> bool:
        """Reading again is over, too."""
        return self._verified.is_set()

    @property
    def stopping(self) -> bool:
        return bool(self.stop_reason)

    @property
    def result(self) -> Result:
        """The whole in one word; `unknown` as soon as one step is, `partly` for a mixture."""
        if not self.done:
            return "running"
        states = Counter(step.state for step in self.steps)
        if states["unknown"]:
            return "unknown"
        if states["not_sent"] and not states["refused"]:
            return "partly" if states["accepted"] else "stopped"
        if states["accepted"]:
            return "partly" if states["refused"] else "accepted"
        return "refused"

    def progress(self) -> list[StepProgress]:
        return list(self.steps)

    def summary(self) -> str:
        """One line for a status bar; holds no text from outside."""
        states = Counter(step.state for step in self.steps)
        parts = [f"{states[s]} {s.replace('_', ' ')}" for s in ("accepted", "refused", "unknown", "not_sent")]
        told = ", ".join(part for part in parts if not part.startswith("0 "))
        if not self.done:
            return (
                f"{self.intent.title}: {len(self.steps) - states['waiting'] - states['sending']} of {len(self.steps)}"
            )
        return f"{self.intent.title}: {told or 'nothing sent'}"

    def stop(self, reason: str = "stopped by the person") -> None:
        """Send no further step. The one being sent is not interrupted."""
        if not self.stop_reason:
            self.stop_reason = reason
            self.touch()

    async def wait(self) -> None:
        """Until everything is sent and has its outcome."""
        await self._sent.wait()

    async def wait_verified(self) -> None:
        """Until the targets have been read again, or that has been given up."""
        await self._verified.wait()

    def subscribe(self, watcher: Callable[[Operation], None]) -> Callable[[], None]:
        """Have `watcher` called after each change; returns what ends it."""
        self._watchers.append(watcher)

        def end() -> None:
            if watcher in self._watchers:
                self._watchers.remove(watcher)

        return end

    # What follows is for the gate alone.

    def touch(self) -> None:
        self.revision += 1
        for watcher in tuple(self._watchers):
            try:
                watcher(self)
            except Exception:  # who looks on never stops what is on its way
                _log.exception("a watcher of an operation failed")

    def finish_sending(self) -> None:
        self._sent.set()
        self.touch()

    def finish_verifying(self) -> None:
        self._verified.set()
        self.touch()
