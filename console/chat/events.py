"""What a turn of the chat tells whoever shows it: plain facts, in the order in which they happen.

Every text in an event has passed `clean`; nothing here is markup. One turn ends with exactly one `Ended`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from console.gate import Proposal


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool, as the planner made it.

    Args:
        id: names it within the session; its answer carries the same.
        tool: a name of the table of tools.
        arguments: as they were parsed; nobody has checked them yet.
    """

    id: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the planner's text while it streams."""

    text: str


@dataclass(frozen=True, slots=True)
class Reply:
    """The whole text of one message, once it has ended properly (Markdown; links and images are not followed)."""

    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """A tool call was accepted and begins."""

    call: Call


@dataclass(frozen=True, slots=True)
class Answered:
    """A tool call has its result.

    Args:
        summary: one line, shown folded. detail: the bounded result (JSON), shown unfolded.
    """

    call: Call
    ok: bool
    summary: str
    detail: str = ""
    proposal: Proposal | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """These writes are in the inbox now; the turn goes on when the person has answered each of them."""

    proposals: tuple[Proposal, ...]


@dataclass(frozen=True, slots=True)
class Retrying:
    """The endpoint could not serve the request; it is asked again after `seconds`, unless the person stops it."""

    why: str
    seconds: float
    attempt: int


@dataclass(frozen=True, slots=True)
class Notice:
    """Something said by Pilothouse itself: a scope narrowed, a watch that fired, a transcript compacted."""

    text: str
    kind: Literal["info", "warning"] = "info"


@dataclass(frozen=True, slots=True)
class Failure:
    """The turn could not go on: an error as the console shows errors."""

    title: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Wants:
    """A `/` command that only a screen can carry out: a dialog of one's own, such as autopilot."""

    what: Literal["autopilot", "scope", "submit", "jobs", "why", "export"]
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ended:
    """How the turn ended. `limit`: it was cut after too many calls or too much text."""

    how: Literal["done", "stopped", "failed", "limit"]


Event: TypeAlias = (
    Piece | Reply | Called | Answered | Waiting | Retrying | Notice | Failure | Wants | Ended
)  # fmt: skip
