"""What this person may do, asked beforehand (SelfSubjectAccessReview) and kept for a few minutes."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass

from adapters.base import AdapterError, Forbidden, NotFound
from adapters.kubernetes.client import Api
from adapters.kubernetes.discovery import parse
from adapters.kubernetes.errors import MissingGroup
from adapters.kubernetes.slim import part, text
from adapters.text import clean

KEPT = 300.0
PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
WHOAMI_PATH = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_HEADERS = {"content-type": "application/json"}
_REFUSED = re.compile(r'.* is forbidden: User "([^"]{1,200})" cannot create ')


@dataclass(frozen=True, slots=True)
class Right:
    """One thing one may do. `namespace` "" is the whole cluster."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    subresource: str = ""

    def sentence(self, said: str) -> str:
        """Why it is not allowed, for a person; `said` is the server's reason, often empty."""
        what = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        where = f"in namespace {self.namespace}" if self.namespace else "in the cluster"
        because = f" ({clean(said, 200)})" if said else ""
        return f"You have no right to {self.verb} {what} {where}{because}."


class Access:
    """A cache over the server's answers. Where the server does not answer, an action counts as allowed: the server
    itself refuses it then, in its own words."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._known: dict[Right, tuple[float, str | None]] = {}

    async def why_not(self, right: Right) -> str | None:
        """None where it is allowed, else the reason in a sentence."""
        held = self._known.get(right)
        if held is not None and time.monotonic() - held[0] < KEPT:
            return held[1]
        try:
            reason = await self._ask(right)
        except AdapterError:
            return None
        self._known[right] = (time.monotonic(), reason)
        return reason

    async def _ask(self, right: Right) -> str | None:
        attributes = {
            "verb": right.verb,
            "group": right.group,
            "resource": right.resource,
            "subresource": right.subresource,
            "namespace": right.namespace,
        }
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {name: value for name, value in attributes.items() if value}},
        }
        answer = await self._api.ask("POST", self._api.prefix + PATH, _HEADERS, json.dumps(review).encode())
        if not answer.ok:
            raise answer.error()
        status = part(parse(answer.body), "status")
        if status.get("allowed") is True:
            return None
        return right.sentence(text(status, "reason") or text(status, "evaluationError"))

    def forget(self) -> None:
        self._known.clear()


async def whoami(api: Api) -> tuple[str, tuple[str, ...]]:
    """Name and groups, as the server sees us (1.28 and later). Where it may not be asked, its refusal names us; where
    it cannot be asked, the kubeconfig does. There are no groups then. Raises AdapterError."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = await api.ask("POST", api.prefix + WHOAMI_PATH, _HEADERS, json.dumps(review).encode())
    if not answer.ok:
        error = answer.error()
        refused = _REFUSED.match(error.message) if isinstance(error, Forbidden) else None
        if refused is not None and refused[1] != "system:anonymous":
            return refused[1], ()
        if isinstance(error, (NotFound, MissingGroup)):
            config = api.config
            return clean(config.impersonate or (config.basic or ("",))[0] or config.user or "unknown", 200), ()
        raise error
    user = part(part(parse(answer.body), "status"), "userInfo")
    groups = user.get("groups")
    listed = tuple(clean(str(one), 200) for one in groups) if isinstance(groups, list) else ()
    return clean(text(user, "username"), 200), listed
