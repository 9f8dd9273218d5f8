"""What a write looks like before it is sent: targets, exact requests, consequences, undo; and what came of it.

Everything here is shown to people and written to the audit log, so nothing here holds a credential: adapters add
their token when they send. Re-exported by `adapters.intents`, which is what widgets import.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from uuid import uuid4

from adapters.model import Ref

if TYPE_CHECKING:
    from adapters.intents import Intent


@dataclass(frozen=True, slots=True)
class Target:
    """One object a write is aimed at, as it was when the plan was made.

    Args:
        state: the model's status (``running``, ``idle``); with owner and `ref.born` it is the fingerprint.
        label: the name a person knows it by.
        version: the backend's own precondition value (ETag, resourceVersion), where it has one.
        values: what the write is about to change, as it is now (``{"slots_quota": 4}``), for verification.
        finished: it is over; a write has nothing to do here.
    """

    ref: Ref
    owner: str | None = None
    state: str = "unknown"
    label: str = ""
    version: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    finished: bool = False

    @property
    def fingerprint(self) -> tuple[str | None, str | None, str, str | None]:
        """What must not have changed between the plan and the write: born, owner, state, version."""
        return (self.ref.born, self.owner, self.state, self.version)


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """An HTTP request, exactly as it goes out but for the credential. `path` holds the query too."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None

    def lines(self) -> list[str]:
        """For a person: request line, headers, body; not yet cleaned."""
        head = [f"{self.method} {self.path}", *(f"{name}: {value}" for name, value in self.headers)]
        return head + (self.body.decode("utf-8", "backslashreplace").splitlines() if self.body else [])

    def record(self) -> dict[str, Any]:
        """For the audit log."""
        body = self.body.decode("utf-8", "backslashreplace") if self.body is not None else None
        return {"method": self.method, "path": self.path, "headers": [list(h) for h in self.headers], "body": body}


@dataclass(frozen=True, slots=True)
class Command:
    """An argv, exactly as it is run, and what goes to its standard input."""

    argv: tuple[str, ...]
    stdin: bytes | None = None

    def lines(self) -> list[str]:
        shown = [shlex.join(self.argv)]
        return shown + (self.stdin.decode("utf-8", "backslashreplace").splitlines() if self.stdin else [])

    def record(self) -> dict[str, Any]:
        stdin = self.stdin.decode("utf-8", "backslashreplace") if self.stdin is not None else None
        return {"argv": list(self.argv), "stdin": stdin}


Request: TypeAlias = HttpRequest | Command


def request_digest(request: Request) -> str:
    """SHA-256 of everything that goes out: equal digests mean equal bytes."""
    return hashlib.sha256(json.dumps(request.record(), sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that will be different: shown as ``before -> after``."""

    ref: Ref | None
    field: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Step:
    """One request and the targets it acts on: one target where the backend allows it, so that a target that has
    finished in the meantime can drop out without changing the bytes sent for the others.

    `sequel` says that the step makes sense only after the one before it was accepted: it is not sent otherwise."""

    request: Request
    targets: tuple[Target, ...] = ()
    summary: str = ""
    sequel: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything a person is asked to agree to. An approval is for these bytes, once."""

    intent: Intent
    steps: tuple[Step, ...]
    changes: tuple[Change, ...] = ()
    warnings: tuple[str, ...] = ()
    undo: str | None = None
    dry_run: str | None = None
    plan_id: str = field(default_factory=lambda: uuid4().hex)

    @property
    def targets(self) -> tuple[Target, ...]:
        seen: dict[Ref, Target] = {}
        for step in self.steps:
            seen.update({target.ref: target for target in step.targets})
        return tuple(seen.values())

    @property
    def digest(self) -> str:
        """SHA-256 over all requests, in order."""
        return hashlib.sha256("".join(request_digest(step.request) for step in self.steps).encode()).hexdigest()

    def without(self, gone: frozenset[Ref]) -> Plan:
        """The same plan without the steps all of whose targets are in `gone`."""
        kept = tuple(s for s in self.steps if not s.targets or any(t.ref not in gone for t in s.targets))
        return replace(self, steps=kept)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a step, for one target. `unknown`: no usable answer, it may have happened or not.

    `created` names what a submit made. `secret` (a new token) is shown once and never recorded.
    """

    result: Literal["accepted", "refused", "unknown"]
    ref: Ref | None = None
    message: str = ""
    error: str | None = None
    created: Ref | None = None
    secret: str | None = field(default=None, repr=False)

    def record(self) -> dict[str, Any]:
        """For the audit log."""
        return {
            "result": self.result,
            "target": str(self.ref) if self.ref else None,
            "message": self.message,
            "error": self.error,
            "created": str(self.created) if self.created else None,
        }
