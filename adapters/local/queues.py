"""Queues as people run them: opened and closed for submissions, started and stopped."""

from __future__ import annotations

from typing import Any

from adapters.local import queries, values
from adapters.local.database import Tx
from adapters.local.problem import Problem

ACTIONS: dict[Any, dict[str, int]] = {
    "open": {"open": 1}, "close": {"open": 0}, "activate": {"active": 1}, "inactivate": {"active": 0},
}  # fmt: skip


def control(tx: Tx, name: str, action: Any, reason: Any) -> tuple[Any, str]:
    """Do `action` to the queue. Returns its row and a sentence. Raises Problem 404 or 422."""
    if tx.one("SELECT 1 FROM queues WHERE name = ?", name) is None:
        raise Problem(404, f"there is no queue {name!r}")
    if not isinstance(action, str) or action not in ACTIONS:
        raise Problem(422, f"action is one of {', '.join(ACTIONS)}, not {action!r}")
    why = values.line(reason, "reason") if action in ("close", "inactivate") else None
    tx.update("queues", "name", name, reason=why, **ACTIONS[action])
    row = queries.list_queues(tx.db, {name})[0]
    tx.event("queue", "updated", row, name, None)
    return row, f"queue {name}: {row['status']}"
