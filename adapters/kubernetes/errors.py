"""What the API server's answers mean as typed errors, always with the server's own sentence.

A 403 has five meanings (missing rights, nobody signed in, a full quota, a namespace that is being deleted, an unknown
priority class), a 422 three (an invalid value, an admission policy, a failed JSON-patch test) and a 429 two (the
server is busy, a disruption budget). Bodies are a Status object, or plain text (429, and 404 of an absent group).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from adapters.base import (
    AdapterError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    ProtocolError,
    Unauthenticated,
    Unavailable,
    Unreachable,
    Unsupported,
)
from adapters.text import clean

LONGEST_MESSAGE = 2000
GENERIC_422 = "the server rejected our request due to an error in our request"


class Expired(Unavailable):
    """410: the resource version or the continue token is too old. `details["continue"]` may hold a usable token."""

    code = "unavailable"


class Throttled(Unavailable):
    """429 of the server itself. `details["retry_after"]` is in seconds."""


class BudgetBlocked(Conflict):
    """429 of an eviction: a disruption budget does not allow it now."""


class MissingGroup(Unsupported):
    """404 as plain text: the server does not have that API group or version."""


def status_of(body: bytes) -> Mapping[str, Any] | None:
    """The Status object in a body, None where it is something else."""
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) and parsed.get("kind") == "Status" else None


def sentence(status: Mapping[str, Any] | None, body: bytes, code: int) -> str:
    """The server's own words, cleaned; causes that the message leaves out follow it."""
    if status is None:
        text = body[: 4 * LONGEST_MESSAGE].decode("utf-8", "backslashreplace").strip()
        return clean(text, LONGEST_MESSAGE) or f"HTTP {code} without a word"
    message = str(status.get("message") or status.get("reason") or f"HTTP {code}")
    for cause in causes(status):
        words = str(cause.get("message") or "")
        if words and words not in message:
            message = f"{message} {words}"
    return clean(message, LONGEST_MESSAGE)


def causes(status: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    details = (status or {}).get("details")
    listed = details.get("causes") if isinstance(details, dict) else None
    return [cause for cause in listed if isinstance(cause, dict)] if isinstance(listed, list) else []


def error_of(code: int, headers: Mapping[str, str], body: bytes) -> AdapterError:
    """The typed error for an answer with an error status, or for a Status event inside a watch."""
    status = status_of(body)
    said = sentence(status, body, code)
    special = {
        400: _bad_request, 403: _forbidden, 404: _not_found, 409: _conflict, 410: _expired, 422: _unprocessable,
        429: _too_many,
    }  # fmt: skip
    if code in special:
        return special[code](said, status, headers)
    if code == 401:
        return Unauthenticated(
            said, "Sign in again (for example with your cluster's login command); it is tried again."
        )
    if code in (405, 406):
        return Unsupported(said, "This API server does not offer that operation.")
    if code == 413:
        return Invalid(said, "The request is larger than the server takes.")
    if code == 415:
        return ProtocolError(said, "The server does not take this kind of patch for this kind of object.")
    if code >= 500:
        return _server_error(said, code)
    return ProtocolError(f"HTTP {code}: {said}", "The answer is none that the Kubernetes API documents.")


def _bad_request(said: str, status: Mapping[str, Any] | None, headers: Mapping[str, str]) -> AdapterError:
    if status is None and "HTTPS server" in said:
        return Unreachable(said, "The kubeconfig's server address must begin with https://.")
    return Invalid(said, "Correct the value that the server names.")


def _forbidden(said: str, status: Mapping[str, Any] | None, headers: Mapping[str, str]) -> AdapterError:
    if 'User "system:anonymous"' in said:
        return Unauthenticated(said, "No credential reached the server: check the user of your kubeconfig context.")
    if "exceeded quota" in said:
        return Conflict(
            said,
            "The namespace's quota is full: wait, cancel something, or have the quota raised.",
            details={"meaning": "quota"},
        )
    if "because it is being terminated" in said:
        return Conflict(said, "The namespace is being deleted: use another one.", details={"meaning": "terminating"})
    if "no PriorityClass with name" in said:
        return Invalid(said, "Name a priority class that exists.", details={"meaning": "priority_class"})
    if " cannot " in said and 'User "' in said:
        hint = "Ask whoever runs the cluster for a role with that right."
        if " cannot list " in said or " cannot watch " in said:
            hint = "Name the namespaces you may read in the profile (namespaces), or ask for a role with that right."
        return Forbidden(said, hint, details={"meaning": "rbac"})
    return Forbidden(said, "An admission rule of the cluster refuses it.", details={"meaning": "admission"})


def _not_found(said: str, status: Mapping[str, Any] | None, headers: Mapping[str, str]) -> AdapterError:
    if status is None:
        return MissingGroup(said, "This cluster does not have that API.")
    return NotFound(said, "It may have been deleted in the meantime.")


def _conflict(said: str, status: Mapping[str, Any] | None, headers: Mapping[str, str]) -> AdapterError:
    meaning = str((status or {}).get("reason") or "Conflict")
    hint = "Choose another name." if meaning == "AlreadyExists" else "Look at it again, then repeat what you wanted."
    return Conflict(said, hint, details={"meaning": meaning})


def _expired(said: str, status: Mapping[str, Any] | None, headers: Mapping[str, str]) -> AdapterError:
    metadata = (status or {}).get("metadata")
    token = metadata.get("continue") if isinstance(metadata, dict) else None
    return Expired(said, "It is listed again.", details={"continue": token} if token else None)


def _unprocessable(said: str, status: Mapping[str, Any] | None, headers: Mapping[str, str]) -> AdapterError:
    if said == GENERIC_422:
        return Conflict(
            said,
            "The object is not the one the plan was made for: look at it again.",
            details={"meaning": "patch_test"},
        )
    if "metadata.uid" in said and "immutable" in said:
        return Conflict(said, "Another object has that name now.", details={"meaning": "uid"})
    if "ValidatingAdmissionPolicy" in said or "admission webhook" in said:
        return Forbidden(said, "An admission policy of the cluster refuses it.", details={"meaning": "policy"})
    return Invalid(said, "Correct the value that the server names.")


def _too_many(said: str, status: Mapping[str, Any] | None, headers: Mapping[str, str]) -> AdapterError:
    if any(cause.get("reason") == "DisruptionBudget" for cause in causes(status)):
        return BudgetBlocked(said, "Other pods of its set must be ready first; drain again later.")
    try:
        wait = max(0.0, float(headers.get("retry-after", "1")))
    except ValueError:
        wait = 1.0
    return Throttled(
        said, "The API server is busy; it is asked again by itself.", details={"retry_after": min(wait, 120)}
    )


def _server_error(said: str, code: int) -> AdapterError:
    if "failed calling webhook" in said:
        return Unavailable(said, "A webhook of the cluster does not answer: its owner must look at it.")
    if "Too large resource version" in said:
        return Expired(said, "It is listed again.")
    return Unavailable(f"HTTP {code}: {said}", "Try again in a moment.")
