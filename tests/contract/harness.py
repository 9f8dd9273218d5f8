"""What an adapter brings to take part in the contract suite.

Put one module `tests/contract/harness_<name>.py` beside this one. It is found by its name and offers:

    NAME: str                         shown in the test ids
    READ_ONLY: bool = False           True for an adapter whose Writer refuses everything (replay)

    def start_backend(folder: Path) -> AbstractContextManager[Any]
        Starts the peer (a server, command doubles, recordings) once for all tests; whatever it yields is handed to
        `open_harness`. Leaves no process, port or file behind.

    def open_harness(backend: Any, folder: Path) -> AbstractAsyncContextManager[Harness]
        One test's view of it: a reader and a writer of the adapter under test, and ways to reach behind its back.
        `folder` is empty and belongs to this test. A polling adapter is opened with intervals of a few tenths of a
        second and without a cap on calls a minute, so that the suite stays quick.

Nothing in a harness may know what a test asserts; it only makes things happen at the peer and reports what arrived.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from adapters.base import Reader, Writer
from adapters.intents import Intent
from adapters.plan import Request

ErrorCase = Callable[[], Awaitable[object]]
"""Makes the peer answer in some way and then uses the adapter, which raises."""

ERROR_CODES = (
    "unreachable", "unavailable", "unauthenticated", "forbidden", "not_found", "conflict", "invalid", "unsupported",
    "protocol",
)  # fmt: skip
"""Every error class of adapters.base by its `code`; `unknown` is an outcome and is tested as one."""


@dataclass(frozen=True, slots=True)
class Lesser:
    """A peer that can do less (an older version, a person with fewer rights), to prove that capabilities are probed.

    Args:
        reader: a reader on that peer.
        verbs: intent verbs that the fuller peer supports and this one does not.
        parts: optional parts (`Capabilities.parts`) that the fuller peer has and this one has not.
    """

    reader: Reader
    verbs: frozenset[str] = frozenset()
    parts: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Logged:
    """A finished job with known output."""

    id: str
    stdout: bytes
    stderr: bytes | None = None


@dataclass(frozen=True, slots=True)
class Allowed:
    """What the suite may not insist on for this adapter, each with its reason in a sentence.

    Args:
        errors: error code -> why this backend never gives rise to it.
        many_targets: verbs whose step has several targets -> why (one step a target is the rule).
        fields: "kind.field" -> why no row of the harness's world has it although the backend could.
    """

    errors: Mapping[str, str] = field(default_factory=dict)
    many_targets: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)


class Harness(Protocol):
    """One adapter under test, and the other side of it."""

    reader: Reader
    writer: Writer
    allowed: Allowed

    async def populate(self) -> None:
        """Make the peer hold a world in which every field that the backend can have is set on some row: jobs of every
        status it has, an array, a dependency, queues, nodes; and at least one name with hostile characters."""
        ...

    async def intent(self, verb: str) -> Intent:
        """A new intent of this verb that the peer will accept now, on an object made for it (a pending job to hold,
        a suspended one to resume). Called for every verb of `Capabilities.supported`."""
        ...

    def received(self) -> Sequence[Request]:
        """Every mutating request that reached the peer, oldest first, exactly as the peer got it (argv and standard
        input of commands; method, path with query, all headers, body of HTTP). Writes of the harness itself that go
        behind the adapter's back are not among them."""
        ...

    def mute(self) -> AbstractAsyncContextManager[None]:
        """While open, writes reach the peer but no answer comes back within the adapter's write timeout (which the
        harness has set to at most 2 s)."""
        ...

    def garble(self) -> AbstractAsyncContextManager[None]:
        """While open, writes reach the peer and the answer is the backend's own way of failing without saying whether
        it has done it (an HTTP 500, a controller time-out, a connection cut in the answer)."""
        ...

    def refuse(self) -> AbstractAsyncContextManager[str]:
        """While open, the peer refuses writes in its own words; the value is a part of those words that a person must
        get to see."""
        ...

    async def change(self, random: Random) -> str:
        """Change something behind the adapter's back (submit, start, finish, remove, drain, quota ...), chosen by
        `random`; returns a word on what it did."""
        ...

    async def cut(self, random: Random) -> None:
        """Break what the adapter's watch stands on (a stream cut mid-byte, a poll that fails); the peer stays up."""
        ...

    def error_cases(self) -> Mapping[str, ErrorCase]:
        """Error code -> a way to provoke it by the backend's own answer. Every code of `ERROR_CODES` is here or in
        `allowed.errors`."""
        ...

    def lesser(self) -> AbstractAsyncContextManager[Lesser]:
        """A reader on a lesser peer."""
        ...

    async def logged_job(self) -> Logged | None:
        """A job with known output, None where the adapter reads no logs (then job_logs raises Unsupported)."""
        ...
