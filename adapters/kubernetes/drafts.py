"""What the writers of every topic share: requests with their guards, and a plan in the making."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adapters.base import Forbidden
from adapters.intents import Change, HttpRequest, Step, Target
from adapters.kubernetes.access import Access, Right
from adapters.kubernetes.client import Api
from adapters.kubernetes.detail import Details
from adapters.kubernetes.discovery import Offer
from adapters.kubernetes.manifest import Defaults

Ops = Sequence[Mapping[str, Any]]
JSON_PATCH = (("accept", "application/json"), ("content-type", "application/json-patch+json"))
JSON_BODY = (("accept", "application/json"), ("content-type", "application/json"))
MANAGER = "pilothouse"


@dataclass(frozen=True, slots=True)
class Desk:
    """What planning stands on."""

    cluster: str
    api: Api
    access: Access
    details: Details
    offer: Offer
    defaults: Defaults
    me: str | None = None
    propagation: str = "Background"
    evict: bool = True

    async def must_be_allowed(self, right: Right) -> None:
        """Raises Forbidden with the reason, before anything is shown."""
        reason = await self.access.why_not(right)
        if reason is not None:
            raise Forbidden(reason, "Ask whoever runs the cluster for a role with that right.")


@dataclass(slots=True)
class Draft:
    """A plan in the making."""

    steps: list[Step] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    undo: str | None = None

    def add(self, step: Step, *changes: Change) -> None:
        self.steps.append(step)
        self.changes.extend(changes)


def patch(path: str, uid: str, ops: Ops) -> HttpRequest:
    """A JSON patch that changes nothing unless the object still has this uid (else 422)."""
    guarded = [{"op": "test", "path": "/metadata/uid", "value": uid}, *ops]
    return HttpRequest("PATCH", f"{path}?fieldManager={MANAGER}", JSON_PATCH, dump(guarded))


def delete(path: str, uid: str, propagation: str, grace: int | None = None) -> HttpRequest:
    """A DELETE that always says what becomes of the pods, and only of the object with this uid (else 409)."""
    options: dict[str, Any] = {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "preconditions": {"uid": uid},
        "propagationPolicy": propagation,
    }
    if grace is not None:
        options["gracePeriodSeconds"] = grace
    return HttpRequest("DELETE", path, JSON_BODY, json.dumps(options).encode())


def dump(ops: Ops) -> bytes:
    """One operation a line, so that a person can read them."""
    return ("[" + ",\n ".join(json.dumps(op) for op in ops) + "]").encode()


def pointer(*names: str) -> str:
    """A JSON pointer (RFC 6901)."""
    return "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in names)


def step(request: HttpRequest, target: Target | None, summary: str) -> Step:
    return Step(request, (target,) if target is not None else (), summary)
