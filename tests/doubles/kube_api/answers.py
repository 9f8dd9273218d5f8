"""Answers as the API server words them."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from tests.doubles.kube_api.kinds import Served


class Refusal(Exception):
    """An error answer: a Status object, or plain text."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: dict[str, Any] | None = None,
        *,
        metadata: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        plain: bool = False,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.headers = headers or {}
        self.plain = plain
        self.body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": metadata or {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            **({"details": details} if details is not None else {}),
            "code": code,
        }

    def response(self) -> Response:
        if self.plain:
            text = f"{self.args[0]}\n"
            return Response(text, self.code, {**self.headers, "content-type": "text/plain; charset=utf-8"})
        return as_json(self.body, self.code, self.headers)


def as_json(body: Any, code: int = 200, headers: dict[str, str] | None = None) -> Response:
    content = (json.dumps(body, separators=(",", ":"), ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")
    return Response(content, code, {**(headers or {}), "content-type": "application/json"})


def details(served: Served, name: str | None = None, *, kind: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if name:
        found["name"] = name
    if served.group:
        found["group"] = served.group
    found["kind"] = kind or served.plural
    return found


def not_found(served: Served, name: str) -> Refusal:
    return Refusal(404, "NotFound", f'{served.name} "{name}" not found', details(served, name))


def no_such_group() -> Refusal:
    return Refusal(404, "NotFound", "404 page not found", plain=True)


def forbidden(user: str, verb: str, served: Served, namespace: str | None, name: str | None, sub: str = "") -> Refusal:
    about = f'{served.name} "{name}"' if name else served.name
    resource = f"{served.plural}/{sub}" if sub else served.plural
    where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
    message = (
        f'{about} is forbidden: User "{user}" cannot {verb} resource "{resource}" in API group "{served.group}" {where}'
    )
    return Refusal(403, "Forbidden", message, details(served, name))


def denied(served: Served, name: str, why: str) -> Refusal:
    """403 of an admission plugin: a quota, a terminating namespace, a missing priority class."""
    return Refusal(403, "Forbidden", f'{served.name} "{name}" is forbidden: {why}', details(served, name))


def already_exists(served: Served, name: str) -> Refusal:
    return Refusal(409, "AlreadyExists", f'{served.name} "{name}" already exists', details(served, name))


def modified(served: Served, name: str) -> Refusal:
    message = (
        f'Operation cannot be fulfilled on {served.name} "{name}": the object has been modified; please apply your '
        "changes to the latest version and try again"
    )
    return Refusal(409, "Conflict", message, details(served, name))


def wrong_uid(served: Served, name: str, wanted: str, held: str) -> Refusal:
    title = f"{served.kind}.{served.group}" if served.group else served.kind
    message = (
        f'Operation cannot be fulfilled on {title} "{name}": the UID in the precondition ({wanted}) does not match the '
        f"UID in record ({held}). The object might have been deleted and then recreated"
    )
    return Refusal(409, "Conflict", message, details(served, name, kind=served.kind))


def invalid(served: Served, name: str, causes: list[tuple[str, str, str]]) -> Refusal:
    """422. Each cause is (field, reason, message)."""
    title = f"{served.kind}.{served.group}" if served.group else served.kind
    said = list(dict.fromkeys(f"{field}: {message}" for field, _, message in causes))
    text = said[0] if len(said) == 1 else f"[{', '.join(said)}]"
    found = details(served, name, kind=served.kind)
    found["causes"] = [{"reason": reason, "message": message, "field": field} for field, reason, message in causes]
    return Refusal(422, "Invalid", f'{title} "{name}" is invalid: {text}', found)


def bad_request(message: str) -> Refusal:
    return Refusal(400, "BadRequest", message)


def patch_refused() -> Refusal:
    return Refusal(422, "Invalid", "the server rejected our request due to an error in our request", {})
