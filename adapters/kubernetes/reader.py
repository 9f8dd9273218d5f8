"""All reads of one Kubernetes cluster."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Literal

from adapters.base import (
    Capabilities,
    HistoryFilter,
    Identity,
    InterestCell,
    JobFilter,
    LogChunk,
    Unsupported,
    WatchItem,
)
from adapters.intents import Target
from adapters.kubernetes.access import Access, Right, whoami
from adapters.kubernetes.capabilities import probe
from adapters.kubernetes.client import Api
from adapters.kubernetes.detail import Details, element_rows
from adapters.kubernetes.discovery import Offer, discover
from adapters.kubernetes.loader import load
from adapters.kubernetes.logs import LogRequest, job_log
from adapters.kubernetes.observing import observe
from adapters.kubernetes.reflector import Timing
from adapters.kubernetes.resources import PRIMARY, RESOURCES, Resource, keys_for
from adapters.kubernetes.rows import Memory, Rows
from adapters.kubernetes.scope import Scope
from adapters.kubernetes.slim import INTENT_LABEL
from adapters.kubernetes.watch import Watch
from adapters.kubernetes.world import World
from adapters.model import FINISHED, Job, Kind, Metrics, Node, Queue, Ref

OFFER_KEPT = 30.0
"""Seconds for which what the server offers is not asked again."""


class KubernetesReader:
    """Reads by lists and single objects; `watch` follows by reflectors of its own."""

    def __init__(
        self,
        cluster: str,
        api: Api,
        namespaces: Sequence[str] = (),
        timing: Timing | None = None,
        owner: str | None = None,
    ) -> None:
        self.cluster = cluster
        self.api = api
        self.access = Access(api)
        self.memory = Memory()
        self.details = Details(api, cluster, self.memory)
        self._scope = Scope(api, namespaces)
        self._timing = timing
        self._offer: tuple[float, Offer] | None = None
        self._me = owner
        self._owner = owner

    async def offer(self) -> Offer:
        """What the server has, remembered for half a minute. Raises AdapterError."""
        if self._offer is None or time.monotonic() - self._offer[0] > OFFER_KEPT:
            self._offer = (time.monotonic(), await discover(self.api))
        return self._offer[1]

    async def narrow(self, resource: Resource) -> tuple[str, ...]:
        """The namespaces whose objects of this kind may be read, where the whole cluster's may not."""
        return self._scope.of(resource) or await self._scope.narrow(resource)

    async def _find_offer(self) -> Offer:
        self._offer = None
        return await self.offer()

    async def _rows(self, kinds: frozenset[Kind]) -> tuple[Rows, World]:
        required = frozenset(PRIMARY[kind] for kind in kinds)
        offer = await self.offer()
        world, _ = await load(self.api, offer, self._scope, keys_for(kinds), required)
        rows = Rows(world, self.cluster, self.api.config.namespace, self.memory)
        now = self.api.now()
        rows.recall(now)
        while world.dirty:
            rows.flush(now, 500)
            await asyncio.sleep(0)
        return rows, world

    async def list_jobs(self, filter: JobFilter | None = None) -> Sequence[Job]:
        """Jobs and pods that stand alone. With `ids`, the elements of Indexed jobs come too."""
        wanted = filter or JobFilter()
        owner = await self.me() if wanted.mine else wanted.owner
        if wanted.intent_id is not None:
            made = {ref.id for ref in await self.find_intent(wanted.intent_id)}
        rows, world = await self._rows(frozenset({"job"}))
        found = list(rows.jobs.values())
        if wanted.ids:
            named = {self.details.full_id(id) for id in wanted.ids}
            found = [row for row in found if row.id in named]
            found += [element for row in list(found) for element in element_rows(row, world, self.cluster)]
        kept = [row for row in found if _matches(row, wanted, owner) and (wanted.intent_id is None or row.id in made)]
        return kept[: wanted.limit]

    async def get_job(self, id: str) -> Job:
        return await self.details.job(id, await self.offer())

    async def list_queues(self) -> Sequence[Queue]:
        rows, _ = await self._rows(frozenset({"queue"}))
        return list(rows.queues.values())

    async def list_nodes(self) -> Sequence[Node]:
        rows, _ = await self._rows(frozenset({"node"}))
        return list(rows.nodes.values())

    async def metrics(self) -> Metrics:
        kinds: frozenset[Kind] = frozenset({"metrics"})
        rows, _ = await self._rows(kinds)
        return rows.metrics(self.api.now())

    async def job_logs(
        self,
        id: str,
        stream: Literal["stdout", "stderr"] = "stdout",
        tail: int | None = None,
        since: int | None = None,
        follow: bool = False,
        container: str | None = None,
        previous: bool = False,
    ) -> AsyncIterator[LogChunk]:
        """The output of a job's pods. Beyond the contract: one container, and the run before the last restart."""
        if stream == "stderr":
            raise Unsupported("A container has one log.", "Standard error is in the log of standard output.")
        pods = await self.details.pods(id)
        async for chunk in job_log(self.api, pods, LogRequest(tail, since, follow, container, previous)):
            yield chunk

    async def history(self, filter: HistoryFilter | None = None) -> Sequence[Job]:
        """Finished jobs that the cluster still has: Kubernetes keeps no accounting of those it has deleted."""
        wanted = filter or HistoryFilter()
        rows = await self.list_jobs(
            JobFilter(wanted.owner, wanted.mine, wanted.queue, FINISHED, wanted.ids, limit=None)
        )
        kept = [
            row
            for row in rows
            if (wanted.since is None or (row.end_time is not None and row.end_time >= wanted.since))
            and (wanted.until is None or (row.end_time is not None and row.end_time <= wanted.until))
        ]
        return kept[: wanted.limit]

    async def me(self) -> str:
        """The person that "mine" means: the profile's owner, or our name to the server. Raises AdapterError."""
        if self._me is None:
            self._me = (await whoami(self.api))[0]
        return self._me

    async def whoami(self) -> Identity:
        name, groups = await whoami(self.api)
        self._me = self._owner or name
        refused = await self.access.why_not(Right("patch", "", "nodes"))
        return Identity(name, role=", ".join(groups) or None, operator=refused is None, permissions=frozenset(groups))

    async def capabilities(self) -> Capabilities:
        return await probe(self.api, await self.offer(), self.access)

    async def report(self) -> tuple[str, ...]:
        """Sentences for `doctor`: version, identity, rights, what is watched and what is not."""
        from adapters.kubernetes.doctor import report  # which needs this module

        return (await report(self)).lines

    async def observe(self, refs: Sequence[Ref]) -> Mapping[Ref, Target | None]:
        return await observe(self.api, self.details, await self.offer(), refs)

    async def find_intent(self, intent_id: str) -> Sequence[Ref]:
        """Jobs that carry this intent's id as a label."""
        selector = {"labelSelector": f"{INTENT_LABEL}={intent_id}"}
        return await self.details.jobs_with(selector, self._scope.of(RESOURCES["jobs"]))

    async def watch(self, interest: InterestCell) -> AsyncIterator[WatchItem]:
        running = Watch(self.api, self._scope, self._find_offer, self.memory, self.cluster, self.me, self._timing)
        items = running.run(interest)
        try:
            async for item in items:
                yield item
        finally:
            await items.aclose()  # type: ignore[attr-defined]

    async def close(self) -> None:
        await self.api.close()


def _matches(row: Job, wanted: JobFilter, owner: str | None) -> bool:
    return (
        (owner is None or row.owner == owner)
        and (wanted.queue is None or wanted.queue in (row.queue, row.id.partition("/")[0]))
        and (not wanted.statuses or row.status in wanted.statuses)
        and (wanted.name is None or row.name == wanted.name)
        and (wanted.node is None or wanted.node in row.node_names)
    )
