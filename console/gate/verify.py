"""After a write: read the targets again until the backend says what was wanted, or for a few seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from adapters.base import AdapterError, Reader
from adapters.intents import Outcome, SubmitJob, Target
from adapters.model import Ref
from console.gate.expect import target_shows
from console.gate.operation import Operation, StepProgress
from console.store import Store

Sleep = Callable[[float], Awaitable[None]]
PUSHED = (0.1, 0.3, 0.6, 1.0, 2.0, 3.0)  # seconds before each look, where reading costs little
POLLED = (1.0, 4.0, 10.0)  # where each look is a call that the scheduler's site counts


class Verifier:
    """Reads an operation's targets again. What it finds is state of the operation, never a claim."""

    def __init__(self, store: Store, sleep: Sleep = asyncio.sleep) -> None:
        self._store = store
        self._sleep = sleep

    async def run(self, operation: Operation, reader: Reader, *, push: bool) -> None:
        """Look until all is confirmed or it has been long enough; errors of reading are waited out."""
        pending = _pending(operation)
        for _, step, target in pending:
            step.verified[target.ref] = "pending"
        for pause in PUSHED if push else POLLED:
            unsure = [step for step in operation.steps if step.state == "unknown" and not step.step.targets]
            if not pending and not unsure:
                break
            await self._sleep(pause)
            try:
                if unsure:
                    await _look_up(operation, unsure, reader)
                pending = await self._look(operation, pending, reader)
            except AdapterError:
                continue
            operation.touch()
        for _, step, target in pending:
            step.verified[target.ref] = "not_yet"

    async def _look(self, operation: Operation, pending: list[_Pending], reader: Reader) -> list[_Pending]:
        """One look at everything that is pending; returns what still is."""
        found = await reader.observe([target.ref for _, _, target in pending]) if pending else {}
        left: list[_Pending] = []
        for index, step, target in pending:
            shows = target_shows(operation.intent, target, found.get(target.ref))
            if shows is None:  # no data of the backend ever says
                step.verified[target.ref] = "cannot_tell"
                self._store.unmark(target.ref)
            elif shows:
                self._confirm(step, target.ref)
            else:
                left.append((index, step, target))
        return left

    def _confirm(self, step: StepProgress, ref: Ref) -> None:
        step.verified[ref] = "confirmed"
        self._store.unmark(ref)
        if step.state == "unknown" and all(step.verified.get(t.ref) == "confirmed" for t in step.step.targets):
            step.state = "accepted"
            step.note = "No usable answer came; the backend shows that it was done."
            step.outcomes = tuple(replace(o, result="accepted", message=step.note) for o in step.outcomes)


_Pending = tuple[int, StepProgress, Target]


def _pending(operation: Operation) -> list[_Pending]:
    return [
        (index, step, target)
        for index, step in enumerate(operation.steps)
        if step.state in ("accepted", "unknown")
        for target in step.step.targets
        if not any(outcome.ref == target.ref and outcome.result == "refused" for outcome in step.outcomes)
    ]


async def _look_up(operation: Operation, unsure: Sequence[StepProgress], reader: Reader) -> None:
    """A submit without an answer: ask the backend what was made under this intent."""
    if not isinstance(operation.intent, SubmitJob) or len(unsure) != 1:
        return
    made = await reader.find_intent(str(operation.intent.intent_id))
    if not made:
        return
    step = unsure[0]
    step.state = "accepted"
    step.note = "No usable answer came; the backend shows that it was done."
    step.outcomes = tuple(Outcome("accepted", message=step.note, created=ref) for ref in made)
