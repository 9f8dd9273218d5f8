"""What tools work with: an engine, and for each read the cheapest source that is fresh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from adapters.base import JobFilter, Reader
from adapters.model import Job, Kind, Node, Queue
from console.engine import Engine


@dataclass(frozen=True, slots=True)
class Origin:
    """Where figures come from: `live` (the watch keeps them current), `polled` (as old as `age_seconds`), or
    `asked` (the scheduler was asked for this answer)."""

    source: str
    age_seconds: int | None = None


ASKED = Origin("asked", 0)


class Toolbox:
    """Reads of an engine, for tools. Raises what the reader raises: a failure is never an empty answer."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def engine(self) -> Engine:
        return self._engine

    def now(self) -> datetime:
        return self._engine.store.now()

    def name(self, cluster: str | None) -> str:
        """The name of the cluster meant. Raises ConfigError for one that is not configured."""
        return self._engine.cluster(cluster).name

    def reader(self, cluster: str) -> Reader:
        return self._engine.reader(cluster)

    async def me(self, cluster: str) -> str:
        """Whose jobs are "mine": the person the profile names, else the account the backend knows."""
        known = self._engine.cluster(cluster)
        await known.learn()
        assert known.identity is not None
        return known.profile.owner or known.identity.name

    def _fresh(self, cluster: str, kind: Kind) -> Origin | None:
        """The store's rows may be used: they are complete and their source is well."""
        state = self._engine.store.state(cluster, kind)
        if not state.loaded or state.label not in ("live", "polling") or state.at is None:
            return None
        age = max(0, int((self.now() - state.at).total_seconds()))
        return Origin("live" if state.label == "live" else "polled", age)

    async def jobs(self, cluster: str, wanted: JobFilter) -> tuple[list[Job], Origin]:
        """Jobs that match, in no particular order."""
        if wanted.mine:
            wanted = JobFilter(
                owner=await self.me(cluster), queue=wanted.queue, statuses=wanted.statuses, ids=wanted.ids,
                name=wanted.name, node=wanted.node,
            )  # fmt: skip
        origin = self._fresh(cluster, "job")
        if origin is None or self._engine.cluster(cluster).interest.current.owner == "mine":
            return list(await self.reader(cluster).list_jobs(wanted)), ASKED
        rows = cast("Sequence[Job]", list(self._engine.store.rows("job", [cluster])))
        return [job for job in rows if _matches(job, wanted)], origin

    async def queues(self, cluster: str) -> tuple[list[Queue], Origin]:
        origin = self._fresh(cluster, "queue")
        if origin is None:
            return list(await self.reader(cluster).list_queues()), ASKED
        return cast("list[Queue]", list(self._engine.store.rows("queue", [cluster]))), origin

    async def nodes(self, cluster: str) -> tuple[list[Node], Origin]:
        origin = self._fresh(cluster, "node")
        if origin is None:
            return list(await self.reader(cluster).list_nodes()), ASKED
        return cast("list[Node]", list(self._engine.store.rows("node", [cluster]))), origin


def _matches(job: Job, wanted: JobFilter) -> bool:
    return (
        (wanted.owner is None or job.owner == wanted.owner)
        and (wanted.queue is None or job.queue == wanted.queue)
        and (not wanted.statuses or job.status in wanted.statuses)
        and (not wanted.ids or job.id in wanted.ids or (job.array is not None and job.array.id in wanted.ids))
        and (wanted.name is None or wanted.name.casefold() in job.name.casefold())
        and (wanted.node is None or wanted.node in job.node_names)
    )
