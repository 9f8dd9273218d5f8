"""Keeps one reflector a kind (and a namespace, where the cluster is forbidden) running, and knows how each fares."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from adapters.base import AdapterError, FeedLabel, Forbidden
from adapters.kubernetes.client import Api
from adapters.kubernetes.discovery import DISCOVERY_PERIOD, Offer
from adapters.kubernetes.errors import MissingGroup
from adapters.kubernetes.records import Key, Raw
from adapters.kubernetes.reflector import Reflector, Timing
from adapters.kubernetes.resources import Resource
from adapters.kubernetes.scope import KEPT, Scope
from adapters.kubernetes.slim_more import slim
from adapters.kubernetes.world import World


@dataclass(frozen=True, slots=True)
class Fare:
    """How one reflector fares. `loaded`: a complete list of it has been told."""

    label: FeedLabel = "connecting"
    error: AdapterError | None = None
    retry_at: datetime | None = None
    loaded: bool = False


class Supervisor:
    """The reflectors of one watch. `wake` is set whenever there is something to look at."""

    def __init__(
        self, api: Api, scope: Scope, find_offer: Callable[[], Awaitable[Offer]], timing: Timing | None = None
    ) -> None:
        self.world = World()
        self.offer: Offer | None = None
        self.trouble: AdapterError | None = None
        self.wake = asyncio.Event()
        self.unreadable = 0
        self._api = api
        self._scope = scope
        self._find_offer = find_offer
        self.timing = timing or Timing()
        self._fares: dict[tuple[str, str | None], Fare] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._wanted: tuple[str, ...] = ()
        self._discovering: asyncio.Task[None] | None = None
        self._kick = asyncio.Event()
        self._missed: frozenset[str] = frozenset()  # kinds that the last discovery did not find any more

    def want(self, keys: tuple[str, ...]) -> None:
        """Follow these kinds, and no others."""
        self._wanted = keys
        if self._discovering is None:
            self._discovering = asyncio.create_task(self._discover())
        self._reconcile()

    def kick(self) -> None:
        """Try at once whatever waits for its next attempt."""
        kicked, self._kick = self._kick, asyncio.Event()
        kicked.set()

    async def stop(self) -> None:
        tasks = [*self._tasks.values(), *([self._discovering] if self._discovering else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def fares_of(self, key: str) -> list[Fare]:
        return [fare for (name, _), fare in self._fares.items() if name == key]

    def is_offered(self, key: str) -> bool:
        return self.offer is not None and key in self.offer.kinds

    async def nap(self, seconds: float) -> None:
        """Sleep, or until somebody asks for fresh data."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._kick.wait()

    async def _discover(self) -> None:
        failures = 0
        while True:
            try:
                offer = await self._find_offer()
            except AdapterError as error:
                failures += 1
                self.trouble = error
                self.wake.set()
                await self.nap(min(self.timing.longest_delay, self.timing.first_delay * 2.0 ** min(failures, 10)))
                continue
            failures, self.trouble = 0, None
            offer, doubtful = self._patient(offer)
            if self.offer is None or offer.kinds != self.offer.kinds:
                await self._adopt(offer)
            self.wake.set()
            await self.nap(self.timing.doubt if doubtful else DISCOVERY_PERIOD)

    def _patient(self, offer: Offer) -> tuple[Offer, bool]:
        """The offer, with the kinds that are missing from it for the first time kept, and whether there are any: an API
        server that has just begun lists its groups one by one (seen on 1.20), and their objects are not gone."""
        before = self.offer.kinds if self.offer is not None else {}
        missed = frozenset(before.keys() - offer.kinds.keys())
        if not missed or missed == self._missed:
            self._missed = frozenset()
            return offer, False
        self._missed = missed
        return replace(offer, kinds={**offer.kinds, **{key: before[key] for key in missed}}), True

    async def _adopt(self, offer: Offer) -> None:
        """Begin to follow kinds that are new or have another version; forget those that are gone."""
        before = dict(self.offer.kinds) if self.offer is not None else {}
        self.offer = offer
        for key in [key for key in self._tasks if offer.kinds.get(key) != before.get(key)]:
            await self._end(key)
            if key not in offer.kinds:
                self.world.sweep(key, None, set())
        self._reconcile()

    async def _end(self, key: str) -> None:
        task = self._tasks.pop(key)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        for name in [name for name in self._fares if name[0] == key]:
            del self._fares[name]

    def _reconcile(self) -> None:
        if self.offer is None:
            return
        for key in self._wanted:
            if key not in self._tasks and key in self.offer.kinds:
                self._fares.setdefault((key, None), Fare())
                self._tasks[key] = asyncio.create_task(self._keep(self.offer.kinds[key]))
        for key in [key for key in self._tasks if key not in self._wanted]:
            self._tasks.pop(key).cancel()
            for name in [name for name in self._fares if name[0] == key]:
                del self._fares[name]

    async def _keep(self, resource: Resource) -> None:
        """Follow one kind wherever it may be read, for ever."""
        while True:
            namespaces = self._scope.of(resource)
            try:
                if namespaces is None:
                    await self._reflector(resource, None).run()
                else:
                    await self._keep_namespaces(resource, namespaces)
            except Forbidden as error:
                if resource.namespaced:
                    await self._scope.narrow(resource)
                else:
                    await self._wait_after(resource, error)
            except MissingGroup as error:
                await self._wait_after(resource, error)

    async def _wait_after(self, resource: Resource, error: AdapterError) -> None:
        self.fares(resource, None, "failed", error, self.timing.refused)
        await self.nap(self.timing.refused)

    async def _keep_namespaces(self, resource: Resource, namespaces: tuple[str, ...]) -> None:
        """Follow these namespaces until it is time to see whether the rights have become larger."""
        wanted: set[tuple[str, str | None]] = {(resource.key, namespace) for namespace in namespaces}
        for name in wanted:
            self._fares.setdefault(name, Fare())
        for name in [name for name in self._fares if name[0] == resource.key and name not in wanted]:
            del self._fares[name]
        self.wake.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(KEPT), asyncio.TaskGroup() as group:
                for namespace in namespaces:
                    group.create_task(self._reflector(resource, namespace).run())
        self._scope.forget(resource)

    def _reflector(self, resource: Resource, namespace: str | None) -> Reflector:
        streams = self.offer is None or self.offer.streams
        return Reflector(self._api, resource, namespace, self, self.timing, self.nap, streams=streams)

    def put(self, resource: Resource, raw: Raw) -> None:
        record = slim(resource.key, raw)
        if record is None:
            self.unreadable += 1
            return
        self.world.put(resource.key, record)
        self.wake.set()

    def drop(self, resource: Resource, key: Key) -> None:
        self.world.drop(resource.key, key)
        self.wake.set()

    def sweep(self, resource: Resource, namespace: str | None, seen: set[Key]) -> None:
        self.world.sweep(resource.key, namespace, seen)
        if resource.key == "pods":
            self.world.know_pods(namespace is None)
        name = (resource.key, namespace)
        self._fares[name] = Fare("live", loaded=True)
        self.wake.set()

    def fares(
        self, resource: Resource, namespace: str | None, label: FeedLabel, error: AdapterError | None, wait: float
    ) -> None:
        name = (resource.key, namespace)
        before = self._fares.get(name) or Fare()
        if label == "connecting" and before.loaded:
            return
        retry_at = self._api.now() + timedelta(seconds=wait) if error is not None else None
        fare = Fare(label, error, retry_at, before.loaded)
        if fare != before:
            self._fares[name] = fare
            self.wake.set()
