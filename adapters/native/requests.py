"""The request of each intent on the native wire, as data: what is sent, what it changes, how it is undone.

Nothing here talks to a server; `writer.py` looks at the targets, asks for these and sends them.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from adapters.base import Conflict, Invalid
from adapters.intents import (
    CancelJob,
    Change,
    CloseQueue,
    DrainNode,
    HttpRequest,
    Intent,
    ModifyJob,
    SetNodeQuota,
    SubmitJob,
    Target,
)
from adapters.native import wire
from adapters.text import clean


@dataclass(frozen=True, slots=True)
class Draft:
    """One request before it has its headers: `body` None sends none; `if_version` becomes If-Match."""

    method: str
    path: str
    body: Mapping[str, Any] | None
    changes: tuple[tuple[str, str, str], ...] = ()
    if_version: str | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """A target for which there is nothing to do, and why."""

    why: str


def encode(body: Mapping[str, Any]) -> bytes:
    """JSON as it goes out: stable order, no escapes of what is text."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def idempotency_key(intent_id: UUID, place: str, alone: bool) -> str:
    """The intent's id where it has one request; else one made of it for each request, the same every time."""
    return str(intent_id) if alone else str(uuid5(NAMESPACE_URL, f"{intent_id}/{place}"))


def http(draft: Draft, prefix_path: str, key: str) -> HttpRequest:
    """The request of a draft. `prefix_path` is its path with that of the server's url before it."""
    headers = [("Idempotency-Key", key)]
    if draft.body is not None:
        headers.insert(0, ("Content-Type", "application/json"))
    if draft.if_version is not None:
        headers.append(("If-Match", draft.if_version))
    return HttpRequest(draft.method, prefix_path, tuple(headers), None if draft.body is None else encode(draft.body))


# -- jobs ------------------------------------------------------------------------------------------------------------


def submit(intent: SubmitJob) -> tuple[Draft, tuple[str, ...]]:
    """The submission, and what of it had to be rounded. Raises Invalid for what the wire cannot say."""
    spec = intent.spec
    if spec.nodes not in (None, 1):
        raise Invalid(f"The native scheduler runs a job on one node, not on {spec.nodes}.")
    body: dict[str, Any] = {
        "queue": spec.queue,
        "resreq": spec.extensions.get("resreq"),
        "command": shlex.join(spec.command) if spec.command else spec.script,
        "jobname": spec.name,
        "projectname": spec.account,
        "cores": spec.cores,
        "gpus": spec.gpus,
        "mem_limit": None if spec.memory_bytes is None else wire.mem_limit(spec.memory_bytes),
        "run_limit": None if spec.walltime_seconds is None else wire.run_limit(spec.walltime_seconds),
        "depends_on": wire.depends_on(spec.dependencies) or None,
        "array": spec.array,
        "output": spec.output,
        "error": spec.error,
        "env": dict(spec.env) or None,
        "cwd": spec.cwd,
        "hold": True if spec.hold else None,
    }
    known = {"resreq", "priority", "description"}
    unknown = sorted(set(spec.extensions) - known)
    if unknown:
        raise Invalid(
            f"The native scheduler has no {clean(unknown[0], 60)} for a job.", f"There are: {', '.join(sorted(known))}."
        )
    body["priority"] = spec.extensions.get("priority")
    body["jobdescription"] = spec.extensions.get("description")
    kept = {name: value for name, value in body.items() if value is not None}
    return Draft("POST", wire.JOBS, kept), rounded(spec.memory_bytes, spec.walltime_seconds)


def rounded(memory: int | None, walltime: int | None) -> tuple[str, ...]:
    """What the wire cannot say exactly, in sentences."""
    notes = []
    if memory is not None and memory % 1_000_000:
        notes.append(f"Memory is rounded up to {wire.mem_limit(memory)} (whole MB).")
    if walltime is not None and walltime % 60:
        notes.append(f"The run limit is rounded up to {wire.run_limit(walltime)} (whole minutes).")
    return tuple(notes)


_CONTROL: Mapping[str, str] = {
    "cancel": "kill", "hold": "stop", "release": "resume", "suspend": "stop", "resume": "resume", "requeue": "requeue",
    "checkpoint": "checkpoint",
}  # fmt: skip
_AFTER: Mapping[str, str] = {
    "cancel": "cancelled", "hold": "pending, held", "release": "pending", "suspend": "suspended", "resume": "running",
    "requeue": "pending", "checkpoint": "checkpointed",
}  # fmt: skip


def control(intent: Intent, target: Target) -> Draft | Skipped:
    """Job control of one job; skipped where the verb means nothing in its state."""
    raw = str(target.values.get("raw_status") or "")
    why = _pointless(intent.verb, target, raw)
    if why is not None:
        return Skipped(f"Job {target.ref.id} {why}.")
    body: dict[str, Any] = {"action": _CONTROL[intent.verb]}
    if isinstance(intent, CancelJob) and intent.signal is not None:
        body["signal"] = intent.signal
    before = "pending, held" if raw == "PSUSP" else target.state
    after = f"sent {intent.signal}" if isinstance(intent, CancelJob) and intent.signal else _AFTER[intent.verb]
    return Draft("POST", wire.job_control_path(target.ref.id), body, (("status", before, after),))


def _pointless(verb: str, target: Target, raw: str) -> str | None:
    """Why a verb has nothing to do on a job in this state, None where it has. One `stop` holds a job that waits and
    suspends one that runs, so what was not meant must not be sent."""
    if target.finished and verb != "requeue":
        return f"is over ({target.state})"
    if verb == "hold" and raw == "PSUSP":
        return "is held already"
    if verb == "hold" and target.state != "pending":
        return f"does not wait any more ({target.state}); suspend it instead"
    if verb == "release" and raw != "PSUSP":
        return f"is not held ({target.state})"
    if verb == "suspend" and target.state != "running":
        return f"does not run ({target.state})"
    if verb == "resume" and target.state != "suspended":
        return f"is not suspended ({target.state})"
    if verb == "requeue" and target.state == "pending":
        return "waits already"
    if verb == "checkpoint" and target.state != "running":
        return f"does not run ({target.state})"
    return None


def modify(intent: ModifyJob, target: Target) -> Draft | Skipped:
    """Changes to one job. Raises Invalid for a field that cannot be changed."""
    if target.finished:
        return Skipped(f"Job {target.ref.id} is over ({target.state}).")
    for name in ("nodes", "account"):
        if getattr(intent, name) is not None:
            raise Invalid(f"The native scheduler cannot change the {name} of a job.")
    if intent.extensions:
        raise Invalid(f"The native scheduler cannot change {clean(next(iter(intent.extensions)), 60)} of a job.")
    body: dict[str, Any] = {}
    changes = []
    for field, name, value in (
        ("queue", "queue", intent.queue),
        ("cores", "cores", intent.cores),
        ("memory_bytes", "mem_limit", None if intent.memory_bytes is None else wire.mem_limit(intent.memory_bytes)),
        (
            "walltime_seconds",
            "run_limit",
            None if intent.walltime_seconds is None else wire.run_limit(intent.walltime_seconds),
        ),
        ("name", "jobname", intent.name),
        ("priority", "priority", intent.priority),
    ):
        if value is not None:
            body[name] = value
            changes.append((field, _shown(field, target.values.get(field)), str(value)))
    if target.state != "pending" and set(body) != {"run_limit"}:
        return Skipped(
            f"Job {target.ref.id} does not wait any more ({target.state}): only its run limit can be changed."
        )
    return Draft("PATCH", wire.job_path(target.ref.id), body, tuple(changes))


def _shown(field: str, value: Any) -> str:
    if value is None:
        return "-"
    if field == "memory_bytes":
        return wire.mem_limit(int(value))
    if field == "walltime_seconds":
        return wire.run_limit(int(value))
    return clean(str(value), 200)


# -- nodes and queues ------------------------------------------------------------------------------------------------


def _node_id(target: Target) -> str:
    id = target.values.get("node_id")
    if id is None:
        raise Invalid(f"Node {target.label} is not known to the node service, which keeps quotas and states.")
    return str(id)


def quota(intent: SetNodeQuota, target: Target) -> Draft:
    """The quota of one node; None is an explicit null. Raises Conflict where it is not as the person saw it."""
    now = target.values.get("slots_quota")
    if intent.if_version is not None and target.version is not None and intent.if_version != target.version:
        raise Conflict(
            f"The quota of {target.label} was changed in between; it is {_quota(now)} now.",
            "Look at it again, then decide.",
            details={"slots_quota": now, "version": target.version},
        )
    change = ("slots_quota", _quota(now), _quota(intent.slots))
    version = intent.if_version or target.version
    return Draft(
        "POST", wire.node_path(_node_id(target), "quota"), {"admin_max_slots": intent.slots}, (change,), version
    )


def _quota(slots: Any) -> str:
    return "no limit" if slots is None else str(slots)


def quota_warnings(intent: SetNodeQuota, target: Target) -> tuple[str, ...]:
    """Consequences worth a sentence."""
    used, total, slots = target.values.get("slots_used"), target.values.get("slots_total"), intent.slots
    notes = []
    if slots == 0:
        notes.append(f"{target.label} is paused: nothing new starts there.")
    if slots is not None and used is not None and used > slots:
        notes.append(
            f"{used} slots of {target.label} are in use: nothing is ended; nothing starts until fewer than {slots} are."
        )
    if slots is not None and total is not None and slots > total:
        notes.append(f"{target.label} has {total} slots: a quota of {slots} is stored and works as {total}.")
    return tuple(notes)


def drain(intent: DrainNode, target: Target) -> Draft | Skipped:
    if target.values.get("enabled") is False:
        return Skipped(f"Node {target.label} is drained already.")
    change = (
        ("status", target.state, "drain"),
        ("reason", _shown("reason", target.values.get("reason")), intent.reason),
    )
    return Draft("POST", wire.node_path(_node_id(target), "disable"), {"reason": intent.reason}, change, target.version)


def undrain(target: Target) -> Draft | Skipped:
    if target.values.get("enabled") is True:
        return Skipped(f"Node {target.label} is not drained.")
    return Draft(
        "POST", wire.node_path(_node_id(target), "enable"), {}, (("status", target.state, "idle"),), target.version
    )


def reissue(target: Target) -> Draft:
    change = (("token", "the present one", "a new one, shown once"),)
    return Draft("POST", wire.node_path(_node_id(target), "token"), {}, change, target.version)


def open_queue(target: Target) -> list[Draft]:
    """Both halves of what may be closed."""
    path = wire.queue_control_path(target.ref.id)
    before = str(target.values.get("raw_status") or target.state)
    return [
        Draft("POST", path, {"action": "open"}, (("submissions", before, "open"),)),
        Draft("POST", path, {"action": "activate"}, (("starts", before, "active"),)),
    ]


def close_queue(intent: CloseQueue, target: Target) -> list[Draft]:
    path = wire.queue_control_path(target.ref.id)
    before = str(target.values.get("raw_status") or target.state)
    reason = {} if intent.reason is None else {"reason": intent.reason}
    drafts = []
    if intent.what in ("submissions", "both"):
        drafts.append(Draft("POST", path, {"action": "close", **reason}, (("submissions", before, "closed"),)))
    if intent.what in ("starts", "both"):
        drafts.append(Draft("POST", path, {"action": "inactivate", **reason}, (("starts", before, "inactive"),)))
    return drafts


def change_of(target: Target, changes: tuple[tuple[str, str, str], ...]) -> list[Change]:
    return [Change(target.ref, field, before, after) for field, before, after in changes]
