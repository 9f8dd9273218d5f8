"""The OpenAPI document of the server, made from its table of routes: what is not routed cannot be documented."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from adapters.local.access import ROLES
from adapters.local.calls import Handler

_TEXT, _WHOLE = {"type": "string"}, {"type": "integer"}
_OBJECT: dict[str, Any] = {"type": "object"}
_MAYBE_WHOLE = {"type": ["integer", "null"], "minimum": 0}

# fields of request bodies, by route; those with a ! are required
BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("POST", "/xce/v1/auth/logon"): {"username!": _TEXT, "password!": _TEXT},
    ("POST", "/xce/v1/apikeys"): {"username!": _TEXT, "role_name!": _TEXT},
    ("POST", "/xce/v1/users"): {"username!": _TEXT, "role_name!": _TEXT, "password": _TEXT},
    ("POST", "/xce/v1/jobs"): {
        "command!": _TEXT, "queue": _TEXT, "resreq": _TEXT, "jobname": _TEXT, "projectname": _TEXT,
        "jobdescription": _TEXT, "cores": _WHOLE, "gpus": _WHOLE, "mem_limit": _TEXT, "run_limit": _TEXT,
        "depends_on": {"type": ["string", "array"]}, "array": _TEXT, "output": _TEXT, "error": _TEXT, "env": _OBJECT,
        "cwd": _TEXT, "hold": {"type": "boolean"}, "priority": _WHOLE,
    },
    ("PATCH", "/xce/v1/jobs/{job}"): {
        "queue": _TEXT, "cores": _WHOLE, "mem_limit": _TEXT, "run_limit": _TEXT, "jobname": _TEXT, "priority": _WHOLE,
    },
    ("POST", "/xce/v1/jobs/{job}/control"): {
        "action!": {"enum": ["kill", "stop", "resume", "requeue"]}, "signal": {"type": ["string", "integer"]},
    },
    ("POST", "/xce/v1/queues/{queue}/control"): {
        "action!": {"enum": ["open", "close", "activate", "inactivate"]}, "reason": _TEXT,
    },
    ("POST", "/api/admin/nodes/{node}/quota"): {"admin_max_slots!": _MAYBE_WHOLE},
    ("POST", "/api/admin/nodes/{node}/disable"): {"reason": _TEXT},
    ("POST", "/api/node/join"): {"name!": _TEXT, "max_slots": _WHOLE},
    ("POST", "/api/node/register"): {
        "name!": _TEXT, "max_slots!": _WHOLE, "instance": _TEXT, "users": {"type": ["array", "null"]}, "facts": _OBJECT,
        "mem_mb": _WHOLE, "gpus": _WHOLE, "held": {"type": "array"},
    },
    ("POST", "/api/node/heartbeat"): {
        "active_slots": _WHOLE, "max_slots": _WHOLE, "load": _OBJECT, "tasks": {"type": "array"}, "instance": _TEXT,
    },
    ("POST", "/api/task/claim"): {"claim!": _TEXT, "slots": _WHOLE},
    ("POST", "/api/task/report"): {
        "task_id!": _WHOLE, "lease!": _TEXT, "state!": {"enum": ["running", "suspended", "done", "exit", "lost"]},
        "exit_code": _WHOLE, "signal": _WHOLE, "order": _WHOLE,
    },
}  # fmt: skip
QUERIES: dict[str, tuple[str, ...]] = {
    "/xce/v1/jobs": ("filter", "fields", "mine", "limit", "offset", "after", "layout"),
    "/xce/v1/history": ("filter", "fields", "mine", "since", "until", "limit", "offset", "layout"),
    "/xce/v1/jobs/{job}/logs": ("stream", "tail", "since", "follow"),
    "/xce/v1/events": ("after", "queue", "owner", "kinds"),
}


def document(routes: Iterable[tuple[str, str, str, Handler]], version: str) -> dict[str, Any]:
    """The whole document, OpenAPI 3.1."""
    paths: dict[str, dict[str, Any]] = {}
    for method, path, permission, handler in routes:
        paths.setdefault(path, {})[method.lower()] = _operation(method, path, permission, handler)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Pilothouse embedded cluster", "version": version},
        "components": {
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "Authorization"}},
            "schemas": {"Envelope": _envelope()},
        },
        "paths": paths,
    }


_ENVELOPE = "#/components/schemas/Envelope"


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _envelope() -> dict[str, Any]:
    return {
        "type": "object", "required": ["code", "msg", "data", "count"],
        "properties": {"code": _WHOLE, "msg": _TEXT, "data": {}, "count": _WHOLE},
    }  # fmt: skip


def _operation(method: str, path: str, permission: str, handler: Handler) -> dict[str, Any]:
    summary = (handler.__doc__ or handler.__name__.replace("_", " ")).strip().splitlines()[0]
    names = [{"name": n, "in": "path", "required": True, "schema": _TEXT} for n in re.findall(r"{(\w+)}", path)]
    query = [{"name": n, "in": "query", "schema": _TEXT} for n in (QUERIES.get(path, ()) if method == "GET" else ())]
    found: dict[str, Any] = {
        "summary": summary, "operationId": handler.__name__, "parameters": names + query,
        "responses": {"200": {"description": "done; the logical status is in `code`"},
                      "default": {"description": "refused", "content": _json({"$ref": _ENVELOPE})}},
    }  # fmt: skip
    if permission:
        roles = sorted(role for role, permissions in ROLES.items() if permission in permissions)
        found |= {"security": [{"key": []}], "x-permission": permission, "x-roles": roles}
    fields = BODIES.get((method, path))
    if fields:
        schema = {
            "type": "object", "properties": {name.rstrip("!"): kind for name, kind in fields.items()},
            "required": [name[:-1] for name in fields if name.endswith("!")],
        }  # fmt: skip
        found["requestBody"] = {"content": _json(schema)}
    return found
