"""The contract of an adapter: Reader and Writer, what they may raise, what a backend can do.

Reads and writes are two protocols on purpose: only the gate is ever handed a Writer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

from adapters.intents import Intent, Outcome, Plan, Step, Target
from adapters.model import Delta, Job, Kind, Metrics, Node, Queue, Ref

__all__ = [
    "AdapterError",
    "Capabilities",
    "Conflict",
    "Delta",
    "FeedLabel",
    "Forbidden",
    "HistoryFilter",
    "Identity",
    "Interest",
    "InterestCell",
    "Invalid",
    "JobFilter",
    "LogChunk",
    "NotFound",
    "ProtocolError",
    "Reader",
    "Ref",
    "SourceState",
    "Unauthenticated",
    "Unavailable",
    "UnknownOutcome",
    "Unreachable",
    "Unsupported",
    "WatchItem",
    "Writer",
]  # fmt: skip


class AdapterError(Exception):
    """An expected failure, ready to be shown.

    Args:
        message: what happened, in one sentence that names the thing; the backend's own words where it has any.
        hint: what a person can do about it.
        title: a few words for the head of a dialog or pane; each class has its own.
    """

    title: ClassVar[str] = "Backend error"
    code: ClassVar[str] = "error"

    def __init__(self, message: str, hint: str = "", *, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details: Mapping[str, Any] = dict(details or {})

    def __str__(self) -> str:
        return self.message


class Unreachable(AdapterError):
    """No connection could be made, or the command is not there: nothing was sent."""

    title = "Cannot reach the cluster"
    code = "unreachable"


class Unavailable(AdapterError):
    """The backend answered that it cannot serve now: busy, rate limited, controller down, timeout of a read."""

    title = "The scheduler does not answer"
    code = "unavailable"


class Unauthenticated(AdapterError):
    """The credentials are missing, wrong or expired."""

    title = "Not signed in"
    code = "unauthenticated"


class Forbidden(AdapterError):
    """The backend refused this person or role."""

    title = "Refused by the scheduler"
    code = "forbidden"


class NotFound(AdapterError):
    """The object does not exist (any more)."""

    title = "Not found"
    code = "not_found"


class Conflict(AdapterError):
    """A precondition failed: somebody else changed the object in between, or its state forbids the action."""

    title = "Changed in between"
    code = "conflict"


class Invalid(AdapterError):
    """The backend, or the adapter for it, refused a value."""

    title = "Not a valid value"
    code = "invalid"


class Unsupported(AdapterError):
    """This backend, or this version of it, cannot do that; the message says why."""

    title = "Not supported here"
    code = "unsupported"


class ProtocolError(AdapterError):
    """The answer could not be read. Never mistaken for an empty one."""

    title = "Answer not understood"
    code = "protocol"


class UnknownOutcome(AdapterError):
    """A write was sent and no usable answer came: it may have happened or not. Never repeated by itself."""

    title = "Outcome unknown"
    code = "unknown"


FeedLabel: TypeAlias = Literal["connecting", "live", "polling", "stale", "failed"]


@dataclass(frozen=True, slots=True)
class SourceState:
    """How a watch fares, for the kinds named (empty: all of them). Yielded between deltas.

    `interval` is seconds between polls where `label` is polling; `retry_at` when the next attempt is due after a
    failure; `note` one short sentence for the pane (for example: only the namespaces you may read).
    """

    label: FeedLabel
    kinds: frozenset[Kind] = frozenset()
    interval: float | None = None
    error: AdapterError | None = None
    retry_at: datetime | None = None
    note: str = ""
    at: datetime | None = None
    calls_per_minute: float | None = None


WatchItem: TypeAlias = Delta | SourceState


@dataclass(frozen=True, slots=True)
class Interest:
    """What is looked at: kinds, whose jobs, and rows shown in detail."""

    kinds: frozenset[Kind] = frozenset({"job", "queue", "node", "metrics"})
    owner: Literal["mine", "all"] = "all"
    detail: tuple[Ref, ...] = ()


class InterestCell:
    """Holds the interest of a running watch; may change while it runs."""

    def __init__(self, interest: Interest | None = None) -> None:
        self._interest = interest or Interest()
        self._changed = asyncio.Event()

    @property
    def current(self) -> Interest:
        return self._interest

    def set(self, interest: Interest) -> None:
        """Replace the interest and wake the watch, if it differs."""
        if interest != self._interest:
            self._interest = interest
            self._changed.set()

    def refresh(self) -> None:
        """Wake the watch without a change: a person asked for fresh data now."""
        self._changed.set()

    async def changed(self) -> Interest:
        """Wait for the next `set` or `refresh` and return the interest then."""
        await self._changed.wait()
        self._changed.clear()
        return self._interest


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs a list holds; None does not restrict. `ids` of array parents bring their elements."""

    owner: str | None = None
    mine: bool = False
    queue: str | None = None
    statuses: frozenset[str] = frozenset()
    ids: tuple[str, ...] = ()
    name: str | None = None
    node: str | None = None
    intent_id: str | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """Which finished jobs the accounting history is asked for."""

    owner: str | None = None
    mine: bool = False
    queue: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    ids: tuple[str, ...] = ()
    limit: int | None = 1000


@dataclass(frozen=True, slots=True)
class LogChunk:
    """A piece of a job's output. `data` is raw bytes; clean it before anybody sees it.

    `offset` is where `data` begins in the file. `reset` says that the file shrank or was replaced, so that what was
    shown before is no longer its beginning. `at_end` says that the job is over and nothing will follow. `path` is the
    file on this host that `data` was read from, as it opens it (not cleaned); empty where it came another way.
    """

    stream: Literal["stdout", "stderr"]
    data: bytes = b""
    offset: int = 0
    size: int | None = None
    reset: bool = False
    at_end: bool = False
    note: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who we are to the backend. `operator` None means the backend does not tell. `accounts`: those whose members' jobs
    we may change as their owners may (Slurm's coordinators)."""

    name: str
    role: str | None = None
    operator: bool | None = None
    permissions: frozenset[str] = frozenset()
    accounts: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What this backend can do for this person, probed and not assumed.

    Args:
        backend: short name and version for people, such as ``slurm 24.11.5``.
        unsupported: intent verb -> reason why it cannot be done; verbs of `supported` are those that can.
        absent: fields of the model that this backend never has, by kind.
        parts: optional parts of the backend (events, modify, quota, history, follow, dry_run, ...).
        push: True where changes arrive by themselves.
        persons_only: supported verbs that edit live configuration on this backend: never offered to agents.
        extensions: name of an extension field -> one line on its meaning, for detail views and the planner.
        notes: sentences for `doctor` and the help.
    """

    backend: str
    supported: frozenset[str] = frozenset()
    unsupported: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, frozenset[str]] = field(default_factory=dict)
    parts: frozenset[str] = frozenset()
    push: bool = False
    persons_only: frozenset[str] = frozenset()
    extensions: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def why_not(self, verb: str) -> str | None:
        """None where the verb is supported, else the reason in a sentence."""
        if verb in self.supported:
            return None
        return self.unsupported.get(verb) or f"{self.backend} has no {verb.replace('_', ' ')}."


@runtime_checkable
class Reader(Protocol):
    """All reads of one cluster. Every method may raise an AdapterError; none ever raises anything else for
    something the backend said. An empty result means that the backend answered and there is nothing."""

    cluster: str

    async def list_jobs(self, filter: JobFilter | None = None) -> Sequence[Job]: ...
    async def get_job(self, id: str) -> Job:
        """One job with everything the backend tells. Raises NotFound."""
        ...

    async def list_queues(self) -> Sequence[Queue]: ...
    async def list_nodes(self) -> Sequence[Node]: ...
    async def metrics(self) -> Metrics: ...
    def job_logs(
        self,
        id: str,
        stream: Literal["stdout", "stderr"] = "stdout",
        tail: int | None = None,
        since: int | None = None,
        follow: bool = False,
    ) -> AsyncIterator[LogChunk]:
        """The job's output: the last `tail` lines, or from byte `since`, or all; goes on while `follow`."""
        ...

    async def history(self, filter: HistoryFilter | None = None) -> Sequence[Job]: ...
    async def whoami(self) -> Identity: ...
    async def capabilities(self) -> Capabilities: ...
    async def observe(self, refs: Sequence[Ref]) -> Mapping[Ref, Target | None]:
        """Read these objects again, for planning, re-check and verification. None where one is gone."""
        ...

    async def find_intent(self, intent_id: str) -> Sequence[Ref]:
        """What a write that was sent under this intent id made: to look up a submit without an answer."""
        ...

    def watch(self, interest: InterestCell) -> AsyncIterator[WatchItem]:
        """The only source of live data: a full snapshot, then deltas, with states in between.

        Reconnecting, back-off, resuming and re-listing belong to the adapter; it ends only when cancelled.
        """
        ...

    async def close(self) -> None: ...


@runtime_checkable
class Writer(Protocol):
    """All writes of one cluster. Only the gate holds one."""

    cluster: str

    async def plan(self, intent: Intent) -> Plan:
        """Freeze the targets and say exactly what would be sent. Sends nothing that changes anything.

        Raises Unsupported, Invalid, NotFound or what a read raises.
        """
        ...

    async def send(self, step: Step) -> tuple[Outcome, ...]:
        """Send what the step holds, byte for byte; one outcome a target. Raises nothing for what the backend said:
        a refusal is an outcome, and so is an answer that did not come (`unknown`)."""
        ...

    async def close(self) -> None: ...
