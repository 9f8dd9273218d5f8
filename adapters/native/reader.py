"""Reads of a native cluster."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from random import random
from typing import Literal

from adapters.base import (
    AdapterError,
    Capabilities,
    Forbidden,
    HistoryFilter,
    Identity,
    Interest,
    InterestCell,
    Invalid,
    JobFilter,
    LogChunk,
    NotFound,
    ProtocolError,
    SourceState,
    Unsupported,
    WatchItem,
)
from adapters.events import EventStream, Limits
from adapters.intents import Target
from adapters.keys import ApiKey
from adapters.model import Job, Metrics, Node, Queue, Ref
from adapters.native import keys, probe, rows, wire
from adapters.native.answers import RawRow, row_of, rows_of, unwrap
from adapters.native.follower import NoEventsError
from adapters.native.listing import JobLister, history_query
from adapters.native.logs import LogReader
from adapters.native.observe import observe
from adapters.native.polled import polled
from adapters.native.token import TokenSource
from adapters.native.transport import Timeouts, Transport
from adapters.native.watch import EventWatch
from adapters.text import clean

PROBE_RETRY = 2.0
LONGEST_RETRY = 30.0


def utc_now() -> datetime:
    return datetime.now(UTC)


class NativeReader:
    """Implements `adapters.base.Reader` over the native wire.

    Args:
        owner: whose jobs "mine" are, where that is not the account the server knows us by.
        poll_floor: seconds between two polls at least, where the server has no events.
        silence: seconds without a byte after which a stream of events is taken for dead.
        clock, sleep, jitter, now: time and chance, injected by tests.
    """

    def __init__(
        self,
        cluster: str,
        url: str,
        token: TokenSource,
        *,
        timeouts: Timeouts | None = None,
        allow_insecure: bool = False,
        verify: bool | str = True,
        owner: str | None = None,
        poll_floor: float = 0.0,
        silence: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self.cluster = cluster
        self._transport = Transport(
            cluster, url, token, timeouts=timeouts, allow_insecure=allow_insecure, verify=verify
        )
        self._owner = owner
        self._poll_floor = poll_floor
        self._limits = Limits() if silence is None else Limits(silence=silence)
        self._clock, self._sleep, self._jitter, self._now = clock, sleep, jitter, now
        self._lister = JobLister(self._transport)
        self._logs = LogReader(self._transport, self._open, sleep, self._is_over)
        self._found: probe.Found | None = None

    async def close(self) -> None:
        await self._transport.close()

    # -- rows --------------------------------------------------------------------------------------------------------

    async def list_jobs(self, filter: JobFilter | None = None) -> Sequence[Job]:
        wanted = filter or JobFilter()
        owner = wanted.owner if not wanted.mine else await self._me()
        return await self._lister.jobs(wanted, owner)

    async def jobs_of(self, owner: str | None) -> Sequence[Job]:
        """All jobs, or those of one owner."""
        return await self._lister.jobs(JobFilter(), owner)

    def job_pages(self, owner: str | None) -> AsyncGenerator[list[Job], None]:
        """The same, page by page."""
        return self._lister.pages(owner)

    async def get_job(self, id: str) -> Job:
        what = f"Reading job {clean(id, 64)}"
        if not id:
            raise NotFound("A job has an id, and none was given.")
        answer = await self._transport.get(wire.job_path(id), what=what)
        job = rows.job(row_of(answer.data, wire.JOB_FIELDS, what), self.cluster)
        if job.id != id:
            raise ProtocolError(f"{what}: the server answered with job {job.id}.")
        return job

    async def _is_over(self, id: str) -> bool:
        return (await self.get_job(id)).finished

    async def list_queues(self) -> Sequence[Queue]:
        what = "Listing queues"
        answer = await self._transport.get(wire.QUEUES, what=what)
        return [rows.queue(row, self.cluster) for row in rows_of(answer.data, wire.QUEUE_FIELDS, what)]

    async def list_nodes(self) -> Sequence[Node]:
        return (await self.nodes_and_services())[0]

    async def nodes_and_services(self) -> tuple[Sequence[Node], Sequence[RawRow]]:
        """Nodes, and the node service's rows of them. A host may bring its node along; else both are asked."""
        what = "Listing hosts"
        answer = await self._transport.get(wire.HOSTS, what=what)
        hosts = rows_of(answer.data, wire.HOST_FIELDS, what)
        services: list[RawRow] = [dict(row["node"]) for row in hosts if isinstance(row.get("node"), Mapping)]
        if len(services) < len(hosts) or not hosts:
            services = await self._services()
        return rows.join_nodes(hosts, services, self.cluster), services

    async def _services(self) -> list[RawRow]:
        """The node service's rows; none where there is no such service, or it is not for us."""
        what = "Listing nodes"
        try:
            answer = await self._transport.get(wire.NODES, what=what, envelope=False)
        except (NotFound, Unsupported, Forbidden):
            return []
        return rows_of(answer.data, wire.NODE_FIELDS, what)

    async def metrics(self) -> Metrics:
        """Totals: jobs as the server counts them where it does, the rest added up from queues and nodes."""
        queues, nodes = await asyncio.gather(self.list_queues(), self.list_nodes())
        counted = await self._counted()
        jobs = [] if counted is not None else await self.list_jobs()
        totals = rows.metrics(jobs, nodes, queues, self.cluster, self._now())
        return totals if counted is None else totals._replace(jobs=counted)

    async def _counted(self) -> dict[str, int] | None:
        """Jobs by status, None where the server does not count them."""
        try:
            answer = await self._transport.get(wire.METRICS, what="Reading the totals")
        except (NotFound, Unsupported, Forbidden, ProtocolError):
            return None
        jobs = answer.data.get("jobs") if isinstance(answer.data, Mapping) else None
        return wire.count_by_status(jobs) if isinstance(jobs, Mapping) else None

    async def history(self, filter: HistoryFilter | None = None) -> Sequence[Job]:
        wanted = filter or HistoryFilter()
        owner = wanted.owner if not wanted.mine else await self._me()
        query = history_query(wanted, owner)
        try:
            return await self._lister.history(query, wanted, owner)
        except NotFound as error:
            raise Unsupported("This server keeps no history that can be read.") from error

    async def job_logs(
        self,
        id: str,
        stream: Literal["stdout", "stderr"] = "stdout",
        tail: int | None = None,
        since: int | None = None,
        follow: bool = False,
    ) -> AsyncGenerator[LogChunk, None]:
        pieces = self._logs.follow(id, stream, tail, since) if follow else self._logs.read(id, stream, tail, since)
        async with aclosing(pieces):
            async for chunk in pieces:
                yield chunk

    async def list_keys(self) -> Sequence[ApiKey]:
        """The API keys, without their secrets: `adapters.keys.KeyReader`."""
        what = "Listing API keys"
        answer = await self._transport.get(wire.KEYS, what=what)
        return [keys.key(row) for row in rows_of(answer.data, wire.KEY_FIELDS, what)]

    # -- who and what ------------------------------------------------------------------------------------------------

    async def probed(self) -> probe.Found:
        """What the server is, asked once."""
        if self._found is None:
            self._found = await probe.probe(self._transport)
        return self._found

    async def whoami(self) -> Identity:
        found = await probe.identity(self._transport)
        return found or Identity("unknown")

    async def _me(self) -> str:
        """Whose jobs "mine" are. Raises Invalid where nobody knows."""
        if self._owner is not None:
            return self._owner
        who = (await self.probed()).identity
        if who is None:
            raise Invalid(
                "This server does not say whose jobs are yours.", "Set owner for this cluster in the configuration."
            )
        return who.name

    async def owner_of(self, interest: Interest) -> str | None:
        """The one whose jobs are looked at; None for everybody's."""
        return await self._me() if interest.owner == "mine" else None

    async def capabilities(self) -> Capabilities:
        """Asked anew each time: a server may be updated, a role changed."""
        self._found = await probe.probe(self._transport)
        return probe.capabilities(self._found, await probe.absences(self._transport, self._found))

    async def observe(self, refs: Sequence[Ref]) -> Mapping[Ref, Target | None]:
        return await observe(self, refs)

    async def find_intent(self, intent_id: str) -> Sequence[Ref]:
        if "idempotency" not in (await self.probed()).parts:
            raise Unsupported("This server does not remember the keys of requests, so a lost one cannot be looked up.")
        found = await self._lister.jobs(JobFilter(intent_id=intent_id), None)
        return [job.ref for job in found]

    # -- live --------------------------------------------------------------------------------------------------------

    def stream(self, kinds: Sequence[str]) -> EventStream:
        """The events of these kinds, from now on."""
        path = self._transport.path(wire.EVENTS, [("kinds", ",".join(kinds))])
        return self._open(lambda: path)

    def _open(self, path: Callable[[], str]) -> EventStream:
        transport = self._transport
        return EventStream(
            transport.client,
            lambda: transport.url(path()),
            transport.credential,
            _refused,
            limits=self._limits,
            clock=self._clock,
            sleep=self._sleep,
            jitter=self._jitter,
        )

    async def watch(self, interest: InterestCell) -> AsyncGenerator[WatchItem, None]:
        """A full snapshot, then events; or polls, where the server has no events for us."""
        yield SourceState("connecting")
        failures = 0
        while True:
            try:
                found = await self.probed()
                break
            except AdapterError as error:
                failures += 1
                pause = min(PROBE_RETRY * 2.0 ** (failures - 1), LONGEST_RETRY) * (0.5 + 0.5 * self._jitter())
                yield SourceState("failed", error=error, retry_at=self._now() + timedelta(seconds=pause))
            await self._sleep(pause)
        note = "This server sends no events."
        if probe.may_watch(found):
            try:
                async with aclosing(EventWatch(self, interest, self._now, self._jitter).run()) as events:
                    async for item in events:
                        yield item
            except NoEventsError as error:
                note = str(error)
        polls = polled(self, interest, note, floor=self._poll_floor, clock=self._clock, sleep=self._sleep)
        async with aclosing(polls):
            async for item in polls:
                yield item


def _refused(status: int, body: bytes) -> AdapterError:
    """The error of an answer to the request for a stream."""
    try:
        unwrap(status, body, "Opening the event stream")
    except AdapterError as error:
        return error
    return ProtocolError("The event stream was answered by something else.")
