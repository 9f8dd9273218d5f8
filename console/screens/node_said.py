"""What the node dialog says about a write of its own: sent, then what the node says, never the wish as a fact."""

from __future__ import annotations

from adapters.intents import SetNodeQuota
from adapters.model import Node
from adapters.text import clean
from console.gate import Operation
from console.screens.writes import outcome_of
from widgets.columns import Role
from widgets.format import slots_with_quota


def said_of(operation: Operation, node: Node | None) -> tuple[str, Role]:
    """One line and its role for where the operation stands."""
    wish = clean(operation.intent.describe(), 80)
    if not operation.done:
        return f"{wish}: sending …", "info"
    for outcome in operation.outcomes:
        if outcome.result == "refused" and outcome.error == "conflict":
            now = f" It is now {_quota(node)}." if node else ""
            return f"Changed in between by somebody else.{now} Nothing was set: {clean(outcome.message)}", "bad"
        if outcome.secret is not None:
            return f"The new token, shown this once: {clean(outcome.secret)}", "warn"
    if operation.result != "accepted":
        return outcome_of(operation)
    if not operation.verified:
        return f"{wish}: sent, waiting for what the node says …", "info"
    states = {state for step in operation.progress() for state in step.verified.values()}
    says = f" It says {slots_with_quota(node)}." if node and isinstance(operation.intent, SetNodeQuota) else ""
    if states <= {"confirmed"}:
        return f"{wish}: done.{says}", "ok"
    return f"{wish}: accepted, not seen on the node yet.{says}", "warn"


def _quota(node: Node | None) -> str:
    if node is None:
        return "gone"
    return "without a quota" if node.slots_quota is None else f"quota {node.slots_quota}"
