"""All reads of a Slurm cluster by its commands."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
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
    Unavailable,
    WatchItem,
)
from adapters.intents import Target
from adapters.model import Job, Metrics, Node, Queue, Ref, Reservation
from adapters.polling import CallMeter
from adapters.slurm import lists, paths
from adapters.slurm.calls import SlurmCalls
from adapters.slurm.facts import Facts, login_name
from adapters.slurm.history import read_history
from adapters.slurm.ids import matches, parse_id
from adapters.slurm.logs import Place, read_log
from adapters.slurm.nodes import with_counts
from adapters.slurm.observe import observe
from adapters.slurm.options import SlurmOptions
from adapters.slurm.rights import capabilities
from adapters.slurm.submit import comment_of_id
from adapters.slurm.totals import totals
from adapters.slurm.watch import JOBS_EVERY, NODES_EVERY, CommandSource, watch


class SlurmReader:
    """Reads a cluster by `squeue`, `sinfo`, `scontrol show`, `sacct` and `sacctmgr show`. See docs/slurm.md."""

    def __init__(
        self,
        options: SlurmOptions,
        meter: CallMeter,
        *,
        floor: float = 0.0,
        intervals: tuple[float, float] = (JOBS_EVERY, NODES_EVERY),
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.cluster = options.cluster
        self.calls = SlurmCalls(options, meter)
        self.facts = Facts(self.calls)
        self._floor = floor
        self._intervals = intervals
        self._now = now

    @property
    def me(self) -> str:
        """Whose jobs "mine" are."""
        return self.calls.options.owner or self.calls.options.login or login_name()

    async def list_jobs(self, filter: JobFilter | None = None) -> list[Job]:
        """Jobs that the controller knows: those of the last minutes too, after their end. Arrays stay folded but for
        those named in `ids`."""
        wanted = filter or JobFilter()
        arguments: list[str] = []
        owner = self.me if wanted.mine else wanted.owner
        if owner:
            arguments += ["-u", owner]
        if wanted.queue:
            arguments += ["-p", wanted.queue]
        found = await self._by_ids(wanted.ids, arguments) if wanted.ids else await self._list(arguments)
        jobs = [job for job in found if _wanted(job, wanted)]
        return jobs if wanted.limit is None else jobs[: wanted.limit]

    async def _list(self, arguments: Sequence[str]) -> list[Job]:
        return await lists.read_jobs(self.calls, *arguments)

    async def _by_ids(self, ids: Sequence[str], arguments: Sequence[str]) -> list[Job]:
        """A folded row by its own id stays folded; the bare id of an array brings its elements."""
        parsed = [parse_id(each) for each in ids]
        found: dict[str, Job] = {}
        for folded in (False, True):
            some = [each for each in parsed if (each.range is not None) == folded]
            if some:
                queries = ("-j", ",".join(dict.fromkeys(each.query for each in some)))
                jobs = await self._list((*arguments, *(() if folded else ("-r",)), *queries))
                found.update((job.id, job) for job in jobs if not folded or any(matches(e, job.id) for e in some))
        return list(found.values())

    async def get_job(self, id: str) -> Job:
        """One job in full; from the accounting where the controller has forgotten it. Raises NotFound."""
        try:
            return (await self.detail(id)).job
        except NotFound as error:
            found = await self._forgotten(id)
            if found is None:
                raise error
            return found

    async def detail(self, id: str) -> lists.Detail:
        """One job in full with its fields as they came. Raises NotFound."""
        asked = parse_id(id)
        try:
            details = await lists.read_details(self.calls, asked.query)
        except NotFound as error:
            raise NotFound(f"Slurm knows no job {id}: {error.message}", error.hint) from error
        found = [each for each in details if matches(asked, each.job.id)]
        if not found and asked.index is None:
            found = details
        if not found:
            raise NotFound(f"Slurm knows no job {id}.", "It may have ended and left Slurm's memory.")
        return found[0]

    async def _forgotten(self, id: str) -> Job | None:
        """The job in the accounting; None where that has no such job or does not answer."""
        try:
            jobs = await self.history(HistoryFilter(ids=(id,)))
        except AdapterError:
            return None
        return next((job for job in jobs if matches(parse_id(id), job.id)), jobs[0] if jobs else None)

    async def list_queues(self) -> list[Queue]:
        """All partitions, hidden ones too, with the counts of their jobs."""
        found = await lists.read_nodes(self.calls)
        return list(with_counts(found.partitions, await lists.read_jobs(self.calls)))

    async def list_nodes(self) -> list[Node]:
        """All nodes, each once, with the quota that reservations keep."""
        reservations = await lists.read_reservations(self.calls)
        return list((await lists.read_nodes(self.calls, reservations=reservations)).nodes)

    async def list_reservations(self) -> list[Reservation]:
        return list(await lists.read_reservations(self.calls))

    async def metrics(self) -> Metrics:
        found = await lists.read_nodes(self.calls)
        jobs = await lists.read_jobs(self.calls)
        return totals(self.cluster, jobs, with_counts(found.partitions, jobs), found.nodes, at=self._now())

    async def job_logs(
        self,
        id: str,
        stream: Literal["stdout", "stderr"] = "stdout",
        tail: int | None = None,
        since: int | None = None,
        follow: bool = False,
    ) -> AsyncIterator[LogChunk]:
        """The job's output, read in place. Raises NotFound where it has none or the file is not on this host."""
        job, path = await self._output(id, stream)

        async def finished() -> bool:
            try:
                return (await self.get_job(id)).finished
            except NotFound:
                return True
            except AdapterError:
                return False  # the controller does not answer: the job may well run on

        place = Place(path, job.node_names, job.start_time is not None)
        chunks = read_log(stream, place, tail=tail, since=since, follow=follow, over=job.finished, finished=finished)
        async for chunk in chunks:
            yield chunk

    async def _output(self, id: str, stream: str) -> tuple[Job, str]:
        try:
            job, fields = await self.detail(id)
        except NotFound:
            found = await self.get_job(id)
            return found, self._remembered(found, stream)
        path = paths.output_path(fields, stream)
        if path is None:
            raise NotFound(f"Slurm tells no output file for job {id}.", "An interactive job writes to its terminal.")
        return job, path

    def _remembered(self, job: Job, stream: str) -> str:
        """The output file of a job of which only the accounting is left. Releases before 24.05 do not keep its name:
        then it is Slurm's default in the working directory, or nothing."""
        folder = str(job.extensions.get("work_dir", ""))
        if not folder:
            raise Unavailable(f"Slurm no longer knows where job {job.id} wrote.", "Only the accounting is left of it.")
        fields = {
            "WorkDir": folder,
            "JobID": str(job.extensions.get("job_id", job.id)),
            "ArrayJobID": job.array.id if job.array else job.id,
            "ArrayTaskID": str(job.array.index) if job.array and job.array.index is not None else "N/A",
            "NodeList": ",".join(job.node_names),
            "UserName": job.owner or "",
            "Name": job.name,
            "STDOUT": str(job.extensions.get("stdout", "")),
            "STDERR": str(job.extensions.get("stderr", "")),
        }
        return paths.output_path(fields, stream) or paths.default_output(fields)

    async def history(self, filter: HistoryFilter | None = None) -> list[Job]:
        """Jobs of the last seven days, if nothing else is asked for, from the accounting."""
        known = (await self.facts.version()).accounts_for_paths
        return await read_history(self.calls, filter or HistoryFilter(), self.me, self._now(), paths=known)

    async def whoami(self) -> Identity:
        return (await self.facts.person()).identity()

    async def capabilities(self) -> Capabilities:
        version = await self.facts.version()
        found = capabilities(version, await self.facts.person(), await self.facts.settings())
        limit = self.calls.meter.limit
        pace = f"The controller is asked at most {limit:g} times a minute." if limit is not None else ""
        return replace(found, notes=(*found.notes, pace) if pace else found.notes)

    async def observe(self, refs: Sequence[Ref]) -> Mapping[Ref, Target | None]:
        return await observe(self.calls, refs)

    async def find_intent(self, intent_id: str) -> list[Ref]:
        """Jobs whose comment carries the id: those the controller knows, else those of the accounting."""
        found = [job for job in await self.list_jobs(JobFilter(mine=True)) if _carries(job, intent_id)]
        if not found:
            found = [job for job in await self.history(HistoryFilter(mine=True)) if _carries(job, intent_id)]
        return [job.ref for job in found]

    def watch(self, interest: InterestCell) -> AsyncIterator[WatchItem]:
        source = CommandSource(self.calls, self.facts, me=self.calls.options.owner)
        return watch(source, self.calls.meter, interest, floor=self._floor, intervals=self._intervals)

    async def close(self) -> None:
        """Nothing is held open between calls."""


def _carries(job: Job, intent_id: str) -> bool:
    return comment_of_id(intent_id) in str(job.extensions.get("comment", ""))


def _wanted(job: Job, wanted: JobFilter) -> bool:
    """What squeue cannot filter without reading more into the text than is there (a name may hold a comma)."""
    return (
        (not wanted.statuses or job.status in wanted.statuses)
        and (wanted.name is None or job.name == wanted.name)
        and (wanted.node is None or wanted.node in job.node_names)
        and (wanted.intent_id is None or _carries(job, wanted.intent_id))
    )
