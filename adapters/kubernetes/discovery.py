"""What the API server offers: its version, and which optional groups (Kueue, Volcano) in which version."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from adapters.base import AdapterError, Forbidden, ProtocolError
from adapters.kubernetes.client import Api
from adapters.kubernetes.resources import OPTIONAL_GROUPS, RESOURCES, Resource
from adapters.kubernetes.slim import items, part, text
from adapters.text import clean

LEAST_MINOR, MOST_MINOR = 28, 36
"""The releases this adapter is written for, 1.28 to 1.36."""
STREAMING_MINOR = 27
DISCOVERY_PERIOD = 60.0
"""Seconds after which the groups are looked at again: one small request, for a kind that appears later."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What a server has. `kinds`: resource key -> the resource in the version to use."""

    version: str = ""
    minor: int | None = None
    kinds: Mapping[str, Resource] = field(default_factory=dict)
    groups: frozenset[str] = frozenset()

    @property
    def streams(self) -> bool:
        """Whether a streaming list is worth asking for: a release before 1.27 does not know the parameter, and answers
        with a watch whose list never ends."""
        return self.minor is None or self.minor >= STREAMING_MINOR

    def notes(self) -> tuple[str, ...]:
        if self.minor is None or LEAST_MINOR <= self.minor <= MOST_MINOR:
            return ()
        return (
            f"Kubernetes {self.version} is outside of 1.{LEAST_MINOR} to 1.{MOST_MINOR}: some things may not work.",
        )


def parse(body: bytes) -> Mapping[str, Any]:
    """A JSON object. Raises ProtocolError."""
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise ProtocolError("The API server's answer is not a JSON object.", "Is the address of the kubeconfig right?")
    return parsed


async def discover(api: Api) -> Offer:
    """Version and groups. Raises AdapterError where the groups cannot be read at all."""
    try:
        groups = parse((await api.get("/apis")).body)
    except Forbidden:
        # Somebody who may not even see what there is: the built-in kinds are there all the same.
        groups = {}
    listed = {text(group, "name"): group for group in items(groups, "groups")}
    kinds = {key: resource for key, resource in RESOURCES.items() if resource.group not in OPTIONAL_GROUPS}
    for name in OPTIONAL_GROUPS:
        if name in listed:
            kinds.update(await _kinds_of(api, name, listed[name]))
    version, minor = await _version(api)
    return Offer(version, minor, kinds, frozenset(listed))


async def _kinds_of(api: Api, group: str, told: Mapping[str, Any]) -> dict[str, Resource]:
    """The resources of an optional group that are there, in the server's preferred version."""
    version = text(part(told, "preferredVersion"), "version")
    if not version:
        return {}
    try:
        listed = parse((await api.get(f"/apis/{group}/{version}")).body)
    except AdapterError:
        # The group is announced, but its server does not answer: it is looked at again with the next discovery.
        return {}
    plurals = {text(item, "name") for item in items(listed, "resources")}
    return {
        key: resource.at(version)
        for key, resource in RESOURCES.items()
        if resource.group == group and resource.plural in plurals
    }


async def _version(api: Api) -> tuple[str, int | None]:
    try:
        told = parse((await api.get("/version")).body)
    except AdapterError:
        return "", None
    digits = "".join(char for char in text(told, "minor") if char.isdecimal())[:4]
    return clean(text(told, "gitVersion").removeprefix("v"), 60), int(digits) if digits else None
