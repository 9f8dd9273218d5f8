"""How much of an answer a plan needs: a key, or something typed."""

from __future__ import annotations

from adapters.intents import CreateKey, CreateReservation, Intent, Plan, RevokeKey
from adapters.text import clean
from console.gate.policy import Circumstances
from console.gate.prepared import Confirm


def question(circumstances: Circumstances, plan: Plan) -> Confirm:
    """`y` for one target and what can be undone; else the count, or for one target its name, is typed."""
    intent = plan.intent
    count = len(plan.targets)
    if count > 1:
        return Confirm("type", str(count), f"{count} targets", "the number of targets")
    why = _why(circumstances, plan)
    if not why:
        return Confirm("key")
    return Confirm("type", _name(intent, plan), why, "the name" if intent.kind != "job" else "the id")


def _why(circumstances: Circumstances, plan: Plan) -> str:
    intent = plan.intent
    if intent.irreversible:
        return "this cannot be undone"
    if others := circumstances.others(plan):
        owner = others[0].owner
        return f"this job belongs to {clean(owner, 64)}" if owner else "this job may be another person's"
    if intent.operator and intent.by_agent:
        return "an agent proposed it"
    return ""


def _name(intent: Intent, plan: Plan) -> str:
    """What names the one thing that will change; as it can be read on screen."""
    if plan.targets:
        return clean(plan.targets[0].ref.id)
    if isinstance(intent, RevokeKey):
        return intent.key_id
    if isinstance(intent, CreateKey):
        return clean(intent.user)
    if isinstance(intent, CreateReservation):
        return clean(intent.name)
    return intent.verb
