"""What a native server can do for the person who asks: its optional parts, its version, that person's permissions.

A server that names its parts (`GET /xce/v1/version`) is believed. An older one does not: then the parts are tried, by
reads that change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adapters.base import Capabilities, Forbidden, Identity, NotFound, ProtocolError, Unsupported
from adapters.intents import INTENTS
from adapters.native import extensions, wire
from adapters.native.answers import rows_of
from adapters.native.transport import Transport
from adapters.text import clean

_VIEW = frozenset({"job:view", "queue:view", "host:view", "log:view", "metrics:view", "event:subscribe"})
_OPERATE = _VIEW | {"queue:submit", "job:control"}
ROLE_PERMISSIONS: Mapping[str, frozenset[str]] = {
    "mcp_readonly": _VIEW,
    "mcp_operator": _OPERATE,
    "user": _OPERATE,
    "cluster_admin": _OPERATE | {"host:control", "rbac:control"},
}
"""What a role may, where the server tells the role alone."""

NEEDS: Mapping[str, str] = {
    "submit": "queue:submit",
    **dict.fromkeys(
        ("cancel", "hold", "release", "suspend", "resume", "requeue", "modify", "checkpoint"), "job:control"
    ),
    **dict.fromkeys(("set_node_quota", "drain", "undrain", "reissue_token"), "host:control"),
    **dict.fromkeys(("create_key", "revoke_key"), "rbac:control"),
    **dict.fromkeys(("open_queue", "close_queue"), "queue:control"),
}
"""Intent verb -> the permission it needs. Verbs that are not here are not on the wire."""

PART_OF: Mapping[str, str] = {
    "modify": "modify", "checkpoint": "checkpoint", "requeue": "requeue", "set_node_quota": "quota", "drain": "quota",
    "undrain": "quota", "reissue_token": "quota", "create_key": "keys", "revoke_key": "keys",
    "open_queue": "queue_control", "close_queue": "queue_control",
}  # fmt: skip
"""Intent verb -> the optional part of the server it needs."""

WHY_PART: Mapping[str, str] = {
    "modify": "This server has no way to change a job that was submitted.",
    "checkpoint": "This server does not offer checkpoints.",
    "requeue": "This server cannot put a job back into the queue.",
    "quota": "This server has no node service, so nodes cannot be limited, drained or given a token.",
    "keys": "This server has no API keys.",
    "queue_control": "The native wire has no request to open or close a queue; its own configuration does that.",
}
NOT_ON_THE_WIRE = "The native wire has no request for it."


@dataclass(frozen=True, slots=True)
class Found:
    """What probing found. `version` is empty where the server does not tell it."""

    parts: frozenset[str]
    version: str = ""
    name: str = "native"
    identity: Identity | None = None


async def probe(transport: Transport) -> Found:
    """Ask the server what it is. Raises Unreachable, Unauthenticated or Unavailable."""
    try:
        answer = await transport.get(wire.VERSION, what="Reading the version")
    except (NotFound, Unsupported, ProtocolError):
        return Found(await _try_parts(transport), identity=await identity(transport))
    data = answer.data if isinstance(answer.data, Mapping) else {}
    return Found(
        parts=_named_parts(data),
        version=clean(str(data.get("version") or ""), 60),
        name=clean(str(data.get("server") or data.get("name") or "native"), 60),
        identity=await identity(transport),
    )


def _named_parts(data: Mapping[str, Any]) -> frozenset[str]:
    """Parts as a list of names, as an object of booleans, or as booleans beside the version."""
    named = next((data[key] for key in ("parts", "optional", "features") if key in data), None)
    if isinstance(named, list):
        return frozenset(clean(str(part), 60) for part in named)
    flags = named if isinstance(named, Mapping) else data
    return frozenset(clean(str(part), 60) for part, there in flags.items() if there is True)


async def _try_parts(transport: Transport) -> frozenset[str]:
    """An older server: see which of the parts that reads can show are there."""
    found = {"events"} if await transport.opens_stream(wire.EVENTS) else set()
    for part, path, envelope in (
        ("quota", wire.NODES, False),
        ("keys", wire.KEYS, True),
        ("metrics", wire.METRICS, True),
        ("history", wire.HISTORY, True),
    ):
        try:
            await transport.get(path, [("limit", 1)], what="Probing", envelope=envelope)
        except Forbidden:
            found.add(part)
        except (NotFound, Unsupported, ProtocolError):
            continue
        else:
            found.add(part)
    return frozenset(found)


async def identity(transport: Transport) -> Identity | None:
    """Who the server takes us for, None where it does not tell."""
    try:
        answer = await transport.get(wire.WHOAMI, what="Asking who we are")
    except (NotFound, Unsupported, ProtocolError):
        return None
    data = answer.data if isinstance(answer.data, Mapping) else {}
    name = data.get("username") or data.get("user") or data.get("name")
    if not name:
        return None
    role = data.get("role_name") or data.get("role")
    role = clean(str(role), 60) if role else None
    given = data.get("permissions")
    permissions = (
        frozenset(clean(str(part), 60) for part in given)
        if isinstance(given, list)
        else ROLE_PERMISSIONS.get(role or "", frozenset())
    )
    operator = "host:control" in permissions if permissions else None
    return Identity(clean(str(name), 256), role, operator, permissions)


# What the wire has no field for.
NEVER: Mapping[str, frozenset[str]] = {"node": frozenset({"cores_used", "gpus_used"})}
WITHOUT_PART: Mapping[str, Mapping[str, frozenset[str]]] = {
    "logs": {"job": frozenset({"logs_url"})},
    "quota": {"node": frozenset({"slots_used", "slots_quota", "slots_total", "heartbeat_time"})},
}
LATER_JOB_FIELDS: Mapping[str, str] = {
    "nodes": "nodes", "node_names": "nodes", "cores": "cores", "gpus": "gpus", "memory_bytes": "mem",
    "walltime_seconds": "runlimit", "start_time": "starttime", "end_time": "endtime", "exit_code": "exitcode",
    "reason": "pendreason", "dependencies": "depends", "array": "arrayid",
}  # fmt: skip
"""Fields of the model that servers of before the optional parts do not have -> their name on the wire."""
LATER_QUEUE_FIELDS: Mapping[str, str] = {
    "default_resources": "defaults", "node_count": "hosts", "max_walltime_seconds": "runlimit", "running_jobs": "run",
    "pending_jobs": "pend",
}  # fmt: skip
LATER_NODE_FIELDS: Mapping[str, str] = {"memory_bytes_used": "load", "gpu_count": "ngpus", "reason": "reason"}


async def absences(transport: Transport, found: Found) -> dict[str, frozenset[str]]:
    """Fields of the model that this server never has, by kind. Of an older one a sample of rows is looked at."""
    absent = {kind: set(names) for kind, names in NEVER.items()}
    for part, lacking in WITHOUT_PART.items():
        if part not in found.parts:
            for kind, names in lacking.items():
                absent.setdefault(kind, set()).update(names)
    if not found.version:
        for kind, path, known, later in (
            ("job", wire.JOBS, wire.JOB_FIELDS, LATER_JOB_FIELDS),
            ("queue", wire.QUEUES, wire.QUEUE_FIELDS, LATER_QUEUE_FIELDS),
            ("node", wire.HOSTS, wire.HOST_FIELDS, LATER_NODE_FIELDS),
        ):
            sample = rows_of((await transport.get(path, [("limit", 200)], what="Probing")).data, known, "Probing")
            seen = {name for row in sample for name in row}
            absent.setdefault(kind, set()).update(ours for ours, theirs in later.items() if theirs not in seen)
    return {kind: frozenset(names) for kind, names in absent.items()}


def capabilities(found: Found, absent: Mapping[str, frozenset[str]]) -> Capabilities:
    """The whole answer to "what can be done here, and by me"."""
    supported, unsupported = set(), {}
    for verb in INTENTS:
        why = why_not(verb, found)
        if why is None:
            supported.add(verb)
        else:
            unsupported[verb] = why
    notes = () if found.version else ("This server does not tell its version or parts; they were tried.",)
    push = may_watch(found)
    return Capabilities(
        backend=f"{found.name} {found.version}".strip(),
        supported=frozenset(supported),
        unsupported=unsupported,
        absent=absent,
        parts=found.parts,
        push=push,
        extensions={**extensions.JOB_EXTENSIONS, **extensions.QUEUE_EXTENSIONS, **extensions.NODE_EXTENSIONS},
        notes=notes if push else (*notes, "This server sends no events, so it is polled."),
    )


def may_watch(found: Found) -> bool:
    """Whether changes arrive by themselves: the server has events, and we may subscribe to them."""
    who = found.identity
    return "events" in found.parts and (who is None or not who.permissions or "event:subscribe" in who.permissions)


def why_not(verb: str, found: Found) -> str | None:
    """The reason why a verb cannot be done, None where it can."""
    needs = NEEDS.get(verb)
    if needs is None:
        return NOT_ON_THE_WIRE
    part = PART_OF.get(verb)
    if part is not None and part not in found.parts:
        return WHY_PART[part]
    who = found.identity
    if who is not None and who.permissions and needs not in who.permissions:
        return f"The role {who.role or 'of your key'} lacks the permission {needs}."
    return None
