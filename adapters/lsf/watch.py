"""The live data of one LSF: polls at a pace LSF's administrators can live with.

Own jobs every 30 s, all users' jobs, queues, hosts and load every 60 s: six calls a minute. Hardware and limits once
an hour. While mbatchd is silent LIM's load goes on. A few seconds after a write its targets are read once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, cast

from adapters.base import AdapterError, Interest, InterestCell, Unavailable, WatchItem
from adapters.lsf.facts import Facts
from adapters.lsf.listing import jobs_by_id, own_selection, read_jobs
from adapters.lsf.longform_hosts import HostDetail, read_hosts
from adapters.lsf.metrics import metrics
from adapters.lsf.nodes import nodes
from adapters.lsf.queues import queue
from adapters.lsf.session import Session
from adapters.lsf.tables import HOSTS, LOAD, QUEUES, Record
from adapters.model import Delta, Job, Kind, Node, Queue, Ref, Row
from adapters.polling import Fetched, Poller, PollSource

_EARLY = 1.0
"""Seconds by which a poll may come early without skipping a turn."""


def _nodes_in_detail(interest: Interest) -> list[str]:
    """Hosts whose comment and thresholds are looked at."""
    return [ref.id for ref in interest.detail if ref.kind == "node" and not ref.id.startswith("-")]


class LsfWatch:
    """What one watch has read so far, and how it goes on."""

    def __init__(self, session: Session, facts: Facts) -> None:
        self._session = session
        self._facts = facts
        self._own: dict[str, Job] = {}
        self._others: dict[str, Job] = {}
        self._others_at: float | None = None
        self._hosts: Sequence[Record] = ()
        self._loads: Sequence[Record] = ()
        self._details: Mapping[str, HostDetail] = {}
        self._queues: dict[str, Record] = {}
        self._loaded: set[Kind] = set()
        self._shown: frozenset[Kind] = frozenset()  # kinds whose snapshot is on its way to whoever watches
        self._extra: dict[str, Ref] = {}
        self._strays: list[Ref] = []

    def sources(self) -> list[PollSource]:
        options = self._session.options
        return [
            PollSource(frozenset({"job"}), self._fetch_jobs, options.own_interval, self._jobs_cost, True),
            PollSource(frozenset({"queue"}), self._fetch_queues, options.interval, self._queues_cost),
            PollSource(frozenset({"node"}), self._fetch_nodes, options.interval, self._nodes_cost, True),
            PollSource(frozenset({"metrics"}), self._fetch_metrics, options.own_interval, 0),
        ]

    async def run(self, cell: InterestCell) -> AsyncIterator[WatchItem]:
        """Poll, and look at what was written in between. Ends only when cancelled."""
        session = self._session
        poller = Poller(
            self.sources(),
            floor=session.options.floor,
            meter=session.meter,
            clock=session.clock,
            sleep=session.sleep,
            now=session.now,
        )
        items: asyncio.Queue[WatchItem] = asyncio.Queue(maxsize=1)

        async def pump(source: AsyncIterator[WatchItem]) -> None:
            async for item in source:
                await items.put(item)
                if isinstance(item, Delta):
                    self._shown |= item.reset

        tasks = [asyncio.create_task(pump(poller.run(cell))), asyncio.create_task(pump(self._written()))]
        try:
            while True:
                get = asyncio.ensure_future(items.get())
                done, _ = await asyncio.wait({get, *tasks}, return_when=asyncio.FIRST_COMPLETED)
                if get in done:
                    yield get.result()
                    continue
                get.cancel()
                for task in done:
                    await cast("asyncio.Task[None]", task)  # a bug in a pump shows as what it is
                return
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # Jobs

    def _others_due(self, interest: Interest) -> bool:
        if interest.owner != "all":
            return False
        age = None if self._others_at is None else self._session.clock() - self._others_at
        return age is None or age >= self._session.options.interval - _EARLY

    def _jobs_cost(self, interest: Interest) -> int:
        return 0 if self._session.pause.left else 2 if self._others_due(interest) else 1

    async def _fetch_jobs(self, interest: Interest) -> Fetched:
        session = self._session
        if session.pause.left:
            raise self._held_back()
        with session.polled(self._jobs_cost(interest)):
            all_due = self._others_due(interest)
            self._own = await jobs_by_id(session, own_selection(session))
            if all_due:
                self._others = await jobs_by_id(session, ["-u", "all"], without=session.user)
                self._others_at = session.clock()
        self._loaded.add("job")
        rows = self._jobs(interest)
        self._look_for_strays(rows)
        return Fetched(list(rows.values()), session.now(), self._note())

    def _jobs(self, interest: Interest) -> dict[str, Job]:
        return self._others | self._own if interest.owner == "all" else self._own

    # Queues

    def _queues_cost(self, interest: Interest) -> int:
        if self._session.pause.left:
            return 0
        return 2 if "queue" in self._loaded and self._facts.queues_due else 1

    async def _fetch_queues(self, interest: Interest) -> Fetched:
        session = self._session
        if session.pause.left:
            raise self._held_back()
        with session.polled(self._queues_cost(interest)):
            found = await session.table(QUEUES)
            self._queues = {record["QUEUE_NAME"]: record for record in found.records}
            if "queue" in self._loaded:
                await self._facts.read_queues()
        self._loaded.add("queue")
        return Fetched(self._queue_rows(), session.now(), self._note())

    def _queue_rows(self) -> list[Row]:
        details = self._facts.queues
        return [queue(self._session.cluster, record, details.get(name)) for name, record in self._queues.items()]

    # Nodes

    def _nodes_cost(self, interest: Interest) -> int:
        hosts = 0 if self._session.pause.left else 1 + bool(_nodes_in_detail(interest))
        return hosts + 1 + int("node" in self._loaded and self._facts.lims_due)

    async def _fetch_nodes(self, interest: Interest) -> Fetched:
        """Hosts from mbatchd and load from LIM; if only one of them answers, that is what is shown, with a note."""
        session, silent, dead = self._session, "", None
        with session.polled(self._nodes_cost(interest)):
            if session.pause.left:
                silent = session.pause.cause
            else:
                try:
                    self._hosts = (await session.table(HOSTS)).records
                    if names := _nodes_in_detail(interest):
                        self._details = read_hosts(await session.text(["bhosts", "-l", *names]))
                except Unavailable as error:
                    silent, dead = error.message, error
            asked = session.clock()
            try:
                self._loads = (await session.table(LOAD)).records
            except AdapterError as error:
                if silent:
                    raise dead or error from error
                self._loads = ()
                silent = f"no load indices: {error.message}"
            if "node" in self._loaded:
                await self._facts.read_lims()
        self._loaded.add("node")
        note = f"{silent}; states and slots are of the last answer" if dead or session.pause.left else silent
        # To wait for mbatchd is no work for LIM, whose answers are to go on.
        cost = session.clock() - asked if dead else None
        return Fetched(self._node_rows(), session.now(), note or self._note(), cost)

    def _node_rows(self) -> list[Row]:
        return list(nodes(self._session.cluster, self._hosts, self._loads, self._facts.lims, self._details))

    # Metrics

    async def _fetch_metrics(self, interest: Interest) -> Fetched:
        """Totals of what has been read; costs no call."""
        missing = {"job", "queue", "node"} & interest.kinds - self._loaded
        if missing:
            raise Unavailable("The rows that totals are made of have not been read yet.", details={"retry_after": 1.0})
        now = self._session.now()
        rows = metrics(
            self._session.cluster,
            self._jobs(interest).values(),
            cast("list[Queue]", self._queue_rows()),
            cast("list[Node]", self._node_rows()),
            now,
        )
        return Fetched([rows], now)

    # Holding back

    def _note(self) -> str:
        """One sentence for the pane: that LSF is busy, or in which way its last answers were odd."""
        remarks, self._session.remarks = self._session.remarks, []
        if self._session.pause.left:
            return f"LSF is busy: {self._session.pause.cause}"
        return "; ".join(dict.fromkeys(remarks))

    def _held_back(self) -> Unavailable:
        """Nothing is asked while LSF wants to be left alone."""
        pause = self._session.pause
        return Unavailable(
            pause.cause or "LSF does not answer.",
            f"Polls hold back for {pause.left:.0f} s more.",
            details={"retry_after": pause.left},
        )

    # After a write

    async def _written(self) -> AsyncIterator[WatchItem]:
        """Read the targets of writes again once they are due, all of a moment in one call; show what others read."""
        session = self._session
        while True:
            await self._next_turn()
            jobs, session.read = session.read, []
            if jobs and "job" in self._shown:
                yield Delta(upserts=tuple(self._merge_jobs(jobs)), at=session.now())
            if strays := self._strays:
                self._strays = []
                yield Delta(removals=tuple(strays), at=session.now())
            targets = {(kind, id) for due, kind, id in session.written if due <= session.clock()}
            if not targets:
                continue
            session.written = [entry for entry in session.written if entry[1:] not in targets]
            rows: list[Row] = []
            for kind in ("job", "node", "queue"):
                ids = sorted(id for target, id in targets if target == kind)
                if ids and kind in self._shown:
                    rows += await self._again(cast("Kind", kind), ids)
            if rows:
                yield Delta(upserts=tuple(rows), at=session.now())

    async def _next_turn(self) -> None:
        """Wait until something was written or read, or a target is due."""
        session = self._session
        waits: set[asyncio.Future[Any]] = {asyncio.ensure_future(session.wrote.wait())}
        if session.written:
            due = min(entry[0] for entry in session.written)
            waits.add(asyncio.ensure_future(session.sleep(max(0.0, due - session.clock()))))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
        session.wrote.clear()

    async def _again(self, kind: Kind, ids: Sequence[str]) -> list[Row]:
        """The rows of these ids as they are now; none where LSF does not answer, for the next poll comes anyway."""
        session = self._session
        try:
            if kind == "job":
                return self._merge_jobs(await read_jobs(session, ["-a", *ids]))
            if kind == "queue":
                fresh = {record["QUEUE_NAME"]: record for record in (await session.table(QUEUES, ids)).records}
                self._queues |= fresh
                return [row for row in self._queue_rows() if row.id in fresh]
            hosts = {record["HOST_NAME"]: record for record in (await session.table(HOSTS, ids)).records}
        except AdapterError:
            return []
        self._hosts = [hosts.get(record["HOST_NAME"], record) for record in self._hosts]
        return [row for row in self._node_rows() if row.id in hosts]

    def _merge_jobs(self, jobs: Sequence[Job]) -> list[Row]:
        """Jobs that no poll brought; the next one may leave them out (others' jobs that are over)."""
        for job in jobs:
            held = self._own if job.owner == self._session.user else self._others
            held[job.id] = job
            self._extra[job.id] = job.ref
        return list(jobs)

    def _look_for_strays(self, rows: Mapping[str, Job]) -> None:
        """Take away what was shown in between and no poll has brought."""
        self._strays += [ref for id, ref in self._extra.items() if id not in rows]
        self._extra.clear()
        if self._strays:
            self._session.wrote.set()
