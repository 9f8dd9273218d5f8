"""All reads of a Slurm cluster through slurmrestd, for hosts without Slurm's commands.

Full lists are dear for slurmrestd (129 CPU seconds and 5 GB at 50,000 jobs were measured): they are asked for seldom,
and on releases that have it ``/jobs/state`` stands in between.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal

from adapters.base import (
    AdapterError,
    Capabilities,
    HistoryFilter,
    Identity,
    InterestCell,
    JobFilter,
    LogChunk,
    NotFound,
    WatchItem,
)
from adapters.intents import INTENTS, Target
from adapters.model import Job, Metrics, Node, Queue, Ref, Reservation
from adapters.slurm import observe, paths, rest_rows
from adapters.slurm.history import DEFAULT_SPAN
from adapters.slurm.ids import matches, parse_id
from adapters.slurm.jobs import EXTENSIONS
from adapters.slurm.logs import Place, read_log
from adapters.slurm.nodes import NODE_EXTENSIONS, QUEUE_EXTENSIONS, NodeList, with_counts
from adapters.slurm.reservations import by_node
from adapters.slurm.rest_client import RestClient
from adapters.slurm.rights import ABSENT, NEVER
from adapters.slurm.submit import comment_of_id
from adapters.slurm.totals import totals
from adapters.slurm.watch import tick_key, watch

JOBS_EVERY, NODES_EVERY = 60.0, 120.0
WITHOUT_COMMANDS = "slurmrestd offers no way to do that; use the commands of Slurm on a login node."
COST = (
    "slurmrestd builds full lists at a high cost (minutes of CPU at 50,000 jobs): prefer the commands where they are."
)


class RestReader:
    """Reads by slurmrestd; `user` is whose jobs "mine" are."""

    def __init__(
        self,
        client: RestClient,
        user: str,
        *,
        floor: float = 0.0,
        intervals: tuple[float, float] = (JOBS_EVERY, NODES_EVERY),
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.cluster = client.cluster
        self.client = client
        self._user = user
        self._floor = floor
        self._intervals = intervals
        self._now = now

    async def list_jobs(self, filter: JobFilter | None = None) -> list[Job]:
        wanted = filter or JobFilter()
        owner = self._user if wanted.mine else wanted.owner
        asked = [parse_id(each) for each in wanted.ids]
        found = [
            job
            for job in rest_rows.jobs_of(await self.client.get("/jobs"), self.cluster)
            if (owner is None or job.owner == owner)
            and (wanted.queue is None or wanted.queue in str(job.extensions.get("partitions", job.queue)).split(","))
            and (not wanted.statuses or job.status in wanted.statuses)
            and (wanted.name is None or job.name == wanted.name)
            and (wanted.node is None or wanted.node in job.node_names)
            and (wanted.intent_id is None or comment_of_id(wanted.intent_id) in str(job.extensions.get("comment")))
            and (not asked or any(matches(each, job.id) or job.id.startswith(f"{each.base}_") for each in asked))
        ]
        return found if wanted.limit is None else found[: wanted.limit]

    async def get_job(self, id: str) -> Job:
        return (await self._detail(id))[0]

    async def _detail(self, id: str) -> tuple[Job, dict[str, str]]:
        asked = parse_id(id)
        try:
            found = rest_rows.details_of(await self.client.get(f"/job/{asked.base}"), self.cluster)
        except NotFound as error:
            raise NotFound(f"Slurm knows no job {id}: {error.message}", error.hint) from error
        exact = [each for each in found if matches(asked, each[0].id)]
        if not exact and (asked.index is not None or not found):
            raise NotFound(f"Slurm knows no job {id}.", "It may have ended and left Slurm's memory.")
        return (exact or found)[0]

    async def list_reservations(self) -> Sequence[Reservation]:
        return rest_rows.reservations_of(await self.client.get("/reservations"), self.cluster)

    async def nodes(self, *, counted: bool = False) -> NodeList:
        reservations = rest_rows.reservations_of(await self.client.get("/reservations", counted=counted), self.cluster)
        nodes = await self.client.get("/nodes", counted=counted)
        partitions = await self.client.get("/partitions")
        return rest_rows.nodes_of(nodes, partitions, self.cluster, by_node(reservations))

    async def list_queues(self) -> list[Queue]:
        return list(with_counts((await self.nodes()).partitions, await self.list_jobs()))

    async def list_nodes(self) -> list[Node]:
        return list((await self.nodes()).nodes)

    async def metrics(self) -> Metrics:
        found, jobs = await self.nodes(), await self.list_jobs()
        return totals(self.cluster, jobs, with_counts(found.partitions, jobs), found.nodes, at=self._now())

    async def job_logs(
        self,
        id: str,
        stream: Literal["stdout", "stderr"] = "stdout",
        tail: int | None = None,
        since: int | None = None,
        follow: bool = False,
    ) -> AsyncIterator[LogChunk]:
        """The job's output, where its file system is mounted on this host."""
        job, fields = await self._detail(id)
        path = paths.output_path(fields, stream)
        if path is None:
            raise NotFound(f"Slurm tells no output file for job {id}.", "An interactive job writes to its terminal.")

        async def finished() -> bool:
            try:
                return (await self.get_job(id)).finished
            except NotFound:
                return True
            except AdapterError:
                return False

        place = Place(path, job.node_names, job.start_time is not None)
        async for chunk in read_log(
            stream, place, tail=tail, since=since, follow=follow, over=job.finished, finished=finished
        ):
            yield chunk

    async def history(self, filter: HistoryFilter | None = None) -> list[Job]:
        wanted = filter or HistoryFilter()
        start = int((wanted.since or self._now() - DEFAULT_SPAN).timestamp())
        query = f"start_time=uts{start}&end_time=uts{int((wanted.until or self._now()).timestamp()) + 1}"
        version = await self.client.version()
        body = await self.client.get(f"/jobs?{query}" if version > 38 else "/jobs", database=True)
        owner = self._user if wanted.mine else wanted.owner
        asked = [parse_id(each) for each in wanted.ids]
        found = [
            job
            for job in rest_rows.history_of(body, self.cluster, trust_exit=version > 38)
            if (owner is None or job.owner == owner)
            and (wanted.queue is None or job.queue == wanted.queue)
            and (not asked or any(matches(each, job.id) for each in asked))
        ]
        found.reverse()
        return found if wanted.limit is None else found[: wanted.limit]

    async def whoami(self) -> Identity:
        return Identity(self._user)

    async def capabilities(self) -> Capabilities:
        """What the interface of this version can do; rights are told by Slurm when something is sent."""
        version = await self.client.version()
        supported = {"submit", "cancel", "hold", "release", "modify"} | (
            {"drain", "undrain"} if version > 38 else set()
        )
        unsupported = {verb: NEVER.get(verb, WITHOUT_COMMANDS) for verb in INTENTS if verb not in supported}
        parts = {"modify", "history", "follow", "logs", "arrays", "dependencies"}
        return Capabilities(
            backend=f"slurmrestd v0.0.{version}",
            supported=frozenset(supported),
            unsupported=unsupported,
            absent=ABSENT,
            parts=frozenset(parts | ({"job_state_tick"} if await self.ticks() else set())),
            extensions={**EXTENSIONS, **NODE_EXTENSIONS, **QUEUE_EXTENSIONS},
            notes=(COST,),
        )

    async def observe(self, refs: Sequence[Ref]) -> Mapping[Ref, Target | None]:
        found: dict[Ref, Target | None] = dict.fromkeys(refs)
        lists = await self.nodes() if any(ref.kind in ("node", "queue") for ref in refs) else NodeList((), ())
        nodes = {row.name: observe.node_target(row) for row in lists.nodes}
        queues = {row.name: observe.queue_target(row) for row in lists.partitions}
        for ref in refs:
            if ref.kind == "job":
                found[ref] = await self._observed(ref)
            elif ref.kind in ("node", "queue"):
                found[ref] = (nodes if ref.kind == "node" else queues).get(ref.id)
        return found

    async def _observed(self, ref: Ref) -> Target | None:
        try:
            job = await self.get_job(ref.id)
        except NotFound:
            return None
        if ref.born not in (None, job.born) and not job.extensions.get("restarts"):
            return None
        return observe.job_target(job)

    async def find_intent(self, intent_id: str) -> list[Ref]:
        return [job.ref for job in await self.list_jobs(JobFilter(intent_id=intent_id))]

    # What a feed reads (adapters.slurm.watch.Source).
    async def jobs(self, *, mine: bool) -> list[Job]:
        jobs = rest_rows.jobs_of(await self.client.get("/jobs", counted=True), self.cluster)
        return [job for job in jobs if job.owner == self._user] if mine else jobs

    async def elements(self, arrays: Sequence[str]) -> list[Job]:
        found = [rest_rows.jobs_of(await self.client.get(f"/job/{base}"), self.cluster) for base in arrays]
        return [job for jobs in found for job in jobs]

    async def ticks(self) -> bool:
        return await self.client.version() >= 42

    async def states(self) -> dict[str, str]:
        body = await self.client.get("/jobs/state", counted=True)
        return {tick_key(str(e.get("job_id"))): rest_rows.state(e.get("state")) for e in rest_rows.listed(body, "jobs")}

    def watch(self, interest: InterestCell) -> AsyncIterator[WatchItem]:
        return watch(self, self.client.meter, interest, floor=self._floor, intervals=self._intervals)

    async def close(self) -> None:
        await self.client.close()
