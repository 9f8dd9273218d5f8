"""A double of a backend, in memory: rows that tests put there, a Reader and a Writer of the real protocols on them.

It is no scheduler. Writes take effect at once unless a test scripts an answer: see `MemoryBackend.answers`.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from adapters import outgoing
from adapters.base import (
    AdapterError,
    Capabilities,
    HistoryFilter,
    Identity,
    InterestCell,
    JobFilter,
    LogChunk,
    NotFound,
    Reader,
    SourceState,
    WatchItem,
    Writer,
)
from adapters.intents import (
    INTENTS,
    CancelJob,
    Change,
    DrainNode,
    HttpRequest,
    Intent,
    Outcome,
    Plan,
    ReissueNodeToken,
    SetNodeQuota,
    Step,
    SubmitJob,
    SuspendJob,
    Target,
    UndrainNode,
)
from adapters.model import Delta, Job, Metrics, Node, Queue, Ref, Row

Answer = Literal["lost", "lost_but_done", "refused", "raises", "none"]
"""`lost`: no answer and nothing was done; `lost_but_done`: no answer although it was done; `raises`: a faulty adapter;
`none`: an empty tuple of outcomes."""


class MemoryBackend:
    """The rows, and what a test wants to go wrong.

    Attributes:
        answers: how the next writes are answered, in order; empty: accepted and done.
        gate: an event that each write waits for before it is done, where a test sets one.
        error: raised by every read while it is set.
        sent: the requests that were sent, in order.
        observed: how often targets were read again.
    """

    def __init__(self, cluster: str = "demo", rows: Sequence[Row] = (), *, me: str = "alice", operator: bool = True):
        self.cluster = cluster
        self.rows: dict[tuple[str, str], Row] = {}
        self.identity = Identity(me, "cluster_admin" if operator else "user", operator)
        self.capabilities = Capabilities("memory 1", supported=frozenset(INTENTS), push=True)
        self.answers: deque[Answer] = deque()
        self.gate: asyncio.Event | None = None
        self.error: AdapterError | None = None
        self.sent: list[HttpRequest] = []
        self.observed = 0
        self.made: dict[str, list[Ref]] = {}
        self._watchers: list[asyncio.Queue[WatchItem]] = []
        for row in rows:
            self._keep(row)

    def open(self, name: str = "", profile: object = None) -> tuple[Reader, Writer]:
        """In the form of `console.adapters.open_cluster`, for `Engine(open_with=…)`."""
        return MemoryReader(self), MemoryWriter(self)

    def put(self, *rows: Row) -> None:
        """Add or replace rows; whoever watches is told."""
        for row in rows:
            self._keep(row)
        self.tell(Delta(upserts=tuple(self.rows[_key(row)] for row in rows)))

    def remove(self, ref: Ref) -> None:
        self.rows.pop((ref.kind, ref.id), None)
        self.tell(Delta(removals=(ref,)))

    def tell(self, item: WatchItem) -> None:
        for queue in self._watchers:
            queue.put_nowait(item)

    def job(self, id: str) -> Job:
        row = self.rows["job", id]
        assert isinstance(row, Job)
        return row

    def node(self, name: str) -> Node:
        row = self.rows["node", name]
        assert isinstance(row, Node)
        return row

    def target(self, ref: Ref) -> Target | None:
        row = self.rows.get((ref.kind, ref.id))
        if isinstance(row, Job):
            values = {"account": row.extensions["account"]} if "account" in row.extensions else {}
            return Target(row.ref, row.owner, row.status, row.name, values=values, finished=row.finished)
        if isinstance(row, Node):
            return Target(row.ref, None, row.status, row.name, values={"slots_quota": row.slots_quota})
        return Target(row.ref, None, str(getattr(row, "status", "")), ref.id) if row is not None else None

    def watch(self) -> asyncio.Queue[WatchItem]:
        queue: asyncio.Queue[WatchItem] = asyncio.Queue()
        self._watchers.append(queue)
        return queue

    def leave(self, queue: asyncio.Queue[WatchItem]) -> None:
        self._watchers.remove(queue)

    def _keep(self, row: Row) -> None:
        row = row._replace(cluster=self.cluster)
        self.rows[_key(row)] = row

    def do(self, step: Step, body: Mapping[str, Any]) -> Outcome:
        """Let a write take effect."""
        if body["verb"] == SubmitJob.verb:
            job = Job(str(100 + len(self.rows)), "new", "pending", owner=self.identity.name, cluster=self.cluster)
            self.put(job)
            self.made.setdefault(body["intent"], []).append(job.ref)
            return Outcome("accepted", message="submitted", created=job.ref)
        ref = step.targets[0].ref
        row = self.rows.get((ref.kind, ref.id))
        if row is None:
            return Outcome("refused", ref, f"no such {ref.kind}", NotFound.code)
        change = _EFFECTS.get(body["verb"])
        if change is not None:
            self.put(change(row, body))
        secret = "xce_ak_new" if body["verb"] == ReissueNodeToken.verb else None
        return Outcome("accepted", ref, "done", secret=secret)


_EFFECTS: Mapping[str, Callable[[Any, Mapping[str, Any]], Row]] = {
    CancelJob.verb: lambda row, body: row._replace(status="cancelled"),
    SuspendJob.verb: lambda row, body: row._replace(status="suspended"),
    SetNodeQuota.verb: lambda row, body: row._replace(slots_quota=body["parameters"]["slots"]),
    DrainNode.verb: lambda row, body: row._replace(status="drain", reason=body["parameters"]["reason"]),
    UndrainNode.verb: lambda row, body: row._replace(status="idle", reason=None),
}


def _key(row: Row) -> tuple[str, str]:
    return (row.ref.kind, row.id)


class MemoryReader:
    """A double of a Reader."""

    def __init__(self, backend: MemoryBackend) -> None:
        self._backend = backend
        self.cluster = backend.cluster
        self.closed = False

    def _rows(self, row_type: type[Any]) -> list[Any]:
        if self._backend.error is not None:
            raise self._backend.error
        return [row for row in self._backend.rows.values() if isinstance(row, row_type)]

    async def list_jobs(self, filter: JobFilter | None = None) -> Sequence[Job]:
        wanted = filter or JobFilter()
        owner = self._backend.identity.name if wanted.mine else wanted.owner
        return [
            job
            for job in self._rows(Job)
            if (owner is None or job.owner == owner)
            and (wanted.queue is None or job.queue == wanted.queue)
            and (not wanted.statuses or job.status in wanted.statuses)
            and (not wanted.ids or job.id in wanted.ids)
        ]

    async def get_job(self, id: str) -> Job:
        for job in self._rows(Job):
            if job.id == id:
                return job
        raise NotFound(f"There is no job {id}.")

    async def list_queues(self) -> Sequence[Queue]:
        return self._rows(Queue)

    async def list_nodes(self) -> Sequence[Node]:
        return self._rows(Node)

    async def metrics(self) -> Metrics:
        counts: dict[str, int] = {}
        for job in self._rows(Job):
            counts[job.status] = counts.get(job.status, 0) + 1
        return Metrics(jobs=counts, cluster=self.cluster)

    async def job_logs(
        self,
        id: str,
        stream: Literal["stdout", "stderr"] = "stdout",
        tail: int | None = None,
        since: int | None = None,
        follow: bool = False,
    ) -> AsyncIterator[LogChunk]:
        await self.get_job(id)
        yield LogChunk(stream, b"line 1\nline 2\n", at_end=True)

    async def history(self, filter: HistoryFilter | None = None) -> Sequence[Job]:
        return [job for job in self._rows(Job) if job.finished]

    async def whoami(self) -> Identity:
        self._rows(Job)
        return self._backend.identity

    async def capabilities(self) -> Capabilities:
        self._rows(Job)
        return self._backend.capabilities

    async def observe(self, refs: Sequence[Ref]) -> Mapping[Ref, Target | None]:
        self._rows(Job)
        self._backend.observed += 1
        return {ref: self._backend.target(ref) for ref in refs}

    async def find_intent(self, intent_id: str) -> Sequence[Ref]:
        self._rows(Job)
        return list(self._backend.made.get(intent_id, ()))

    async def watch(self, interest: InterestCell) -> AsyncIterator[WatchItem]:
        queue = self._backend.watch()
        try:
            yield SourceState("connecting")
            rows = tuple(self._rows(object))
            kinds = frozenset({"job", "queue", "node", "metrics"})
            yield Delta(rows, reset=kinds, snapshot=True)
            yield SourceState("live")
            while True:
                yield await queue.get()
        finally:
            self._backend.leave(queue)

    async def close(self) -> None:
        self.closed = True


class MemoryWriter:
    """A double of a Writer: one request for each target, `POST /memory/<verb>`."""

    def __init__(self, backend: MemoryBackend) -> None:
        self._backend = backend
        self.cluster = backend.cluster

    async def plan(self, intent: Intent) -> Plan:
        if self._backend.error is not None:
            raise self._backend.error
        if not intent.targets_named:
            return Plan(intent, (Step(self._request(intent, None), summary=intent.describe()),))
        steps, changes = [], []
        for ref in intent.targets_named:
            target = self._backend.target(ref)
            if target is None:
                raise NotFound(f"There is no {ref.kind} {ref.id}.")
            steps.append(Step(self._request(intent, ref), (replace(target, ref=ref),), intent.describe()))
            changes.append(Change(ref, intent.verb, target.state, "changed"))
        return Plan(intent, tuple(steps), tuple(changes), undo="do the opposite")

    def _request(self, intent: Intent, ref: Ref | None) -> HttpRequest:
        body = {
            "verb": intent.verb,
            "id": ref.id if ref else None,
            "intent": str(intent.intent_id),
            "parameters": intent.parameters(),
        }
        headers = (("Idempotency-Key", str(intent.intent_id)),)
        return HttpRequest("POST", f"/memory/{intent.verb}", headers, json.dumps(body).encode())

    async def send(self, step: Step) -> tuple[Outcome, ...]:
        request = step.request
        assert isinstance(request, HttpRequest) and request.body is not None
        outgoing.report(self.cluster, request)
        self._backend.sent.append(request)
        if self._backend.gate is not None:
            await self._backend.gate.wait()
        answer = self._backend.answers.popleft() if self._backend.answers else None
        ref = step.targets[0].ref if step.targets else None
        if answer == "none":
            return ()
        if answer == "raises":
            raise ZeroDivisionError("a fault of this double, on purpose")
        if answer == "refused":
            return (Outcome("refused", ref, "not you", "forbidden"),)
        if answer == "lost":
            return (Outcome("unknown", ref, "no answer", "unknown"),)
        done = self._backend.do(step, json.loads(request.body))
        return (Outcome("unknown", ref, "no answer", "unknown"),) if answer == "lost_but_done" else (done,)

    async def close(self) -> None:
        return None
