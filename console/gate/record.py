"""The fields of the audit lines that concern a write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from adapters.base import Identity
from adapters.intents import Intent, Outcome, Plan, Step, Target, request_digest
from adapters.model import Ref
from console.gate.prepared import Approval


def about(intent: Intent, identity: Identity | None, targets: Iterable[Target] | None = None) -> dict[str, Any]:
    """What every line on an intent says: who wants what, where from, on which cluster, of what."""
    named = [ref_record(ref) for ref in intent.targets_named] if targets is None else target_records(targets)
    return {
        "cluster": intent.cluster,
        "origin": intent.origin,
        "identity": {"name": identity.name, "role": identity.role} if identity else None,
        "action": intent.verb,
        "parameters": intent.parameters(),
        "intent_id": str(intent.intent_id),
        "targets": named,
    }


def about_plan(plan: Plan, identity: Identity | None) -> dict[str, Any]:
    """The same for a plan as a whole, with the state of its targets as they were shown."""
    return {**about(plan.intent, identity, plan.targets), "plan_id": plan.plan_id}


def decision(approval: Approval) -> str:
    return f"confirmed by {approval.how}" if approval.how not in ("unattended", "autopilot") else approval.how


def step_fields(operation_id: str, index: int, step: Step) -> dict[str, Any]:
    """What names a step and says exactly what is sent."""
    return {
        "operation": operation_id,
        "step": index,
        "summary": step.summary,
        "request": step.request.record(),
        "request_digest": request_digest(step.request),
    }


def outcome_fields(outcomes: Iterable[Outcome]) -> dict[str, Any]:
    records = [outcome.record() for outcome in outcomes]
    results = {record["result"] for record in records}
    worst = next((word for word in ("unknown", "refused", "accepted") if word in results), "unknown")
    return {"outcome": worst if len(results) < 2 or worst == "unknown" else "partly", "outcomes": records}


def ref_record(ref: Ref) -> dict[str, Any]:
    return {"cluster": ref.cluster, "kind": ref.kind, "id": ref.id, "born": ref.born}


def target_records(targets: Iterable[Target]) -> list[dict[str, Any]]:
    return [{**ref_record(t.ref), "owner": t.owner, "state": t.state} for t in targets]


def read_ref(record: Mapping[str, Any]) -> Ref | None:
    """The Ref of a target record, or None where it is none."""
    try:
        ref = Ref(record["cluster"], record["kind"], record["id"], record.get("born"))
    except (KeyError, TypeError, AttributeError):
        return None
    return ref if all(isinstance(part, str) for part in ref[:3]) else None
