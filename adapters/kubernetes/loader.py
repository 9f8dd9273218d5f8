"""A World filled by lists, once: for the command line, for checks, and for everything that is not watched."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from adapters.base import AdapterError, Forbidden
from adapters.kubernetes.client import Api
from adapters.kubernetes.discovery import Offer
from adapters.kubernetes.errors import MissingGroup
from adapters.kubernetes.lists import ListPosition, listed
from adapters.kubernetes.resources import Resource
from adapters.kubernetes.scope import Scope
from adapters.kubernetes.slim_more import slim
from adapters.kubernetes.world import World


async def load(
    api: Api, offer: Offer, scope: Scope, keys: Iterable[str], required: frozenset[str]
) -> tuple[World, dict[str, AdapterError]]:
    """Read these kinds side by side. Raises the error of a required one; of others it is returned."""
    world = World()
    kinds = [offer.kinds[key] for key in keys if key in offer.kinds]
    done = await asyncio.gather(*(_one(api, scope, kind, world) for kind in kinds), return_exceptions=True)
    errors: dict[str, AdapterError] = {}
    for kind, error in zip(kinds, done, strict=True):
        if isinstance(error, AdapterError):
            if kind.key in required:
                raise error
            errors[kind.key] = error
        elif error is not None:
            raise error
    return world, errors


async def _one(api: Api, scope: Scope, resource: Resource, world: World) -> None:
    namespaces = scope.of(resource)
    try:
        if namespaces is None:
            await _fill(api, resource, None, world)
            if resource.key == "pods":
                world.know_pods(True)
            return
    except MissingGroup:
        return
    except Forbidden:
        if not resource.namespaced:
            raise
        namespaces = await scope.narrow(resource)
    refused: list[AdapterError] = []
    for namespace in namespaces or ():
        try:
            await _fill(api, resource, namespace, world)
        except Forbidden as error:
            refused.append(error)
    if refused and len(refused) == len(namespaces or ()):
        raise refused[0]


async def _fill(api: Api, resource: Resource, namespace: str | None, world: World) -> None:
    async for item in listed(api, resource, namespace, ListPosition()):
        record = slim(resource.key, item)
        if record is not None:
            world.put(resource.key, record)
