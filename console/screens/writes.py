"""A write from the keyboard: intent, plan, question, and the operation that follows a yes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from pydantic import ValidationError

from adapters.base import AdapterError
from adapters.intents import Intent
from adapters.text import clean
from console.gate import Approval, Operation, PlanChanged, Prepared
from console.screens.confirm import Answer, ConfirmScreen
from widgets.columns import Role

Say: TypeAlias = Callable[[str, Role], None]


class WriteGate(Protocol):
    """The part of the gate that a person's write goes through."""

    async def prepare(self, intent: Intent) -> Prepared: ...
    async def execute(self, prepared: Prepared, approval: Approval) -> Operation: ...
    async def decline(self, prepared: Prepared) -> None: ...


def told(error: AdapterError) -> str:
    """An error in one line: title, message, hint."""
    parts = [f"{type(error).title}:", error.message, error.hint]
    return clean(" ".join(part for part in parts if part))


def problem(error: ValidationError) -> str:
    """Why an intent cannot be built, in the words of its own checks."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return clean(f"{where}: {first['msg']}" if where else str(first["msg"]))


async def confirm_and_send(gate: WriteGate, ask: Any, intent: Intent, say: Say) -> Operation | None:
    """Prepare the plan, ask, and send on a yes. Returns the operation, or None where nothing was sent.

    Args:
        ask: pushes a screen and waits for its result.
        say: told what happened, in one line with its role.
    """
    try:
        prepared = await gate.prepare(intent)
        while True:
            answer: Answer | None = await ask(ConfirmScreen(prepared))
            if answer is None or not answer.approved:
                await gate.decline(prepared)
                say("Declined, nothing was sent.", "dim")
                return None
            try:
                approval = Approval(how="dialog", typed=answer.typed, digest=prepared.digest)
                return await gate.execute(prepared, approval)
            except PlanChanged as changed:
                prepared = changed.prepared
    except AdapterError as error:
        say(told(error), "bad")
        return None


def outcome_of(operation: Operation) -> tuple[str, Role]:
    """Where an operation stands, in one line: the first thing that went wrong speaks in the backend's words."""
    for outcome in operation.outcomes:
        if outcome.result != "accepted":
            name = f"{outcome.ref.id}: " if outcome.ref else ""
            text = outcome.message or outcome.error or outcome.result
            role: Role = "warn" if outcome.result == "unknown" else "bad"
            return clean(f"{operation.intent.title} {name}{outcome.result}: {text}", 300), role
    return clean(operation.summary(), 300), "info" if not operation.done else "ok"
