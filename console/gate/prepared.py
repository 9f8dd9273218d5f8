"""What lies between an intent and a write: the prepared plan, the question it raises, and the answer to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias
from uuid import uuid4

from adapters.base import AdapterError
from adapters.intents import Intent, Plan

How: TypeAlias = Literal["dialog", "prompt", "elicitation", "unattended", "autopilot"]


class Refused(AdapterError):
    """The gate refuses. `rule` is the name of the rule that did (``read_only``, ``role``, ``scope``, …)."""

    title: ClassVar[str] = "Refused by the gate"
    code: ClassVar[str] = "refused"

    def __init__(self, rule: str, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.rule = rule


@dataclass(frozen=True, slots=True)
class Confirm:
    """What must be answered before a plan is sent.

    `key`: the key `y` is enough. `type`: `expected` (a count, a name) must be typed; `why` says in a few words what
    makes that necessary, `asks` what is to be typed.
    """

    how: Literal["key", "type"]
    expected: str = "y"
    why: str = ""
    asks: str = ""

    def accepts(self, typed: str | None) -> bool:
        """Whether `typed` answers the question; for a key the dialog has seen the key itself."""
        if self.how == "key":
            return typed is None or typed == self.expected
        return typed is not None and typed.strip() == self.expected


@dataclass(frozen=True, slots=True)
class Approval:
    """A yes. `how` it was given is kept on record; `typed` is what was typed. `digest`, where given, is that of the
    plan which was on screen, and must be that of the plan it is used for."""

    how: How
    typed: str | None = None
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan that passed the policy and waits for an answer. Good for one `execute` or one `decline`.

    `notes` are sentences for the person: targets that dropped out, what changed since it was shown before.
    """

    plan: Plan
    confirm: Confirm
    notes: tuple[str, ...] = ()
    prepared_id: str = field(default_factory=lambda: uuid4().hex)

    @property
    def intent(self) -> Intent:
        return self.plan.intent

    @property
    def digest(self) -> str:
        return self.plan.digest


class PlanChanged(AdapterError):
    """What was approved is no longer what would happen; `prepared` is the new plan, to be shown again."""

    title: ClassVar[str] = "Changed since it was shown"
    code: ClassVar[str] = "plan_changed"

    def __init__(self, prepared: Prepared) -> None:
        super().__init__(" ".join(prepared.notes) or "The plan changed.", "Look at it again and confirm once more.")
        self.prepared = prepared
