"""Where we may look: the whole cluster, or the namespaces that a person may read when the cluster is forbidden.

The kubeconfig's namespace is always tried; where the namespaces can be listed, SelfSubjectRulesReview says which of
them are readable. What was found is kept for a while: rights change seldom.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from adapters.base import AdapterError
from adapters.kubernetes.client import Api
from adapters.kubernetes.discovery import parse
from adapters.kubernetes.lists import ListPosition, listed
from adapters.kubernetes.resources import RESOURCES, Resource
from adapters.kubernetes.slim import items, key_of, part

KEPT = 300.0
"""Seconds until the whole cluster is tried again."""
MOST_NAMESPACES = 30
"""Namespaces that are followed, as each takes a connection a kind; whoever has more is told to name theirs."""
MOST_ASKED = 300
"""Namespaces whose rules are asked for."""
AT_ONCE = 8
"""Reviews asked for side by side."""
RULES_PATH = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"


class Scope:
    """Per kind: None for the whole cluster, or the namespaces to look at instead."""

    def __init__(self, api: Api, namespaces: Sequence[str] = ()) -> None:
        self._api = api
        self._fixed = tuple(namespaces)
        self._found: dict[str, tuple[float, tuple[str, ...]]] = {}
        self._names: tuple[float, tuple[str, ...]] | None = None
        self._rules: dict[str, tuple[float, list[Mapping[str, Any]]]] = {}
        self._more = 0
        self._lock = asyncio.Lock()
        self._gate = asyncio.Semaphore(AT_ONCE)

    def of(self, resource: Resource) -> tuple[str, ...] | None:
        """What is known now; None means that the whole cluster is to be tried."""
        if not resource.namespaced:
            return None
        if self._fixed:
            return self._fixed
        held = self._found.get(resource.key)
        if held is None or time.monotonic() - held[0] > KEPT:
            return None
        return held[1]

    def forget(self, resource: Resource) -> None:
        """Have the whole cluster tried again."""
        self._found.pop(resource.key, None)

    async def narrow(self, resource: Resource) -> tuple[str, ...]:
        """After a 403 for the whole cluster: the namespaces whose objects of this kind may be listed and watched."""
        own = self._api.config.namespace
        async with self._lock:
            names = await self._namespaces()
            candidates = [own, *(name for name in names if name != own)][:MOST_ASKED]
            readable = await asyncio.gather(*(self._readable(name, resource) for name in candidates))
        # Without a rule that says so our own is tried all the same: the review may be incomplete.
        found = tuple(name for name, may in zip(candidates, readable, strict=True) if may or name == own)
        self._more = max(self._more, len(found) - MOST_NAMESPACES)
        found = found[:MOST_NAMESPACES]
        self._found[resource.key] = (time.monotonic(), found)
        return found

    async def _namespaces(self) -> tuple[str, ...]:
        if self._names is not None and time.monotonic() - self._names[0] < KEPT:
            return self._names[1]
        names: list[str] = []
        try:
            async for item in listed(self._api, RESOURCES["namespaces"], None, ListPosition()):
                names.append(key_of(item)[1])
        except AdapterError:
            names = []
        self._names = (time.monotonic(), tuple(names))
        return self._names[1]

    async def _readable(self, namespace: str, resource: Resource) -> bool:
        return any(
            _covers(rule.get("apiGroups"), resource.group)
            and _covers(rule.get("resources"), resource.plural)
            and _covers(rule.get("verbs"), "list")
            for rule in await self._rules_of(namespace)
            if not rule.get("resourceNames")
        )

    async def _rules_of(self, namespace: str) -> list[Mapping[str, Any]]:
        """What one may do in a namespace; nothing where the server does not say."""
        held = self._rules.get(namespace)
        if held is not None and time.monotonic() - held[0] < KEPT:
            return held[1]
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": namespace},
        }
        headers, body = {"content-type": "application/json"}, json.dumps(review).encode()
        try:
            async with self._gate:
                answer = await self._api.ask("POST", self._api.prefix + RULES_PATH, headers, body)
            rules = items(part(parse(answer.body), "status"), "resourceRules")
        except AdapterError:
            return []
        self._rules[namespace] = (time.monotonic(), rules)
        return rules

    def note(self, keys: Sequence[str]) -> str:
        """One sentence for the pane where only a part of the cluster is looked at; empty where all of it is."""
        narrowed: set[str] = set(self._fixed)
        for key in keys:
            held = self._found.get(key)
            if held is not None:
                narrowed.update(held[1])
        if not narrowed:
            return ""
        names = sorted(narrowed)
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        if self._fixed:
            return f"Only the namespaces {shown}."
        more = f" {self._more} more are left out: name yours in the profile (namespaces)." if self._more > 0 else ""
        return f"Only the namespaces you may read: {shown}.{more}"


def _covers(listed_: object, name: str) -> bool:
    return isinstance(listed_, list) and (name in listed_ or "*" in listed_)
