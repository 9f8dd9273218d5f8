"""What turns a person's sentence into tool calls: the offline grammar, or a model behind the Messages API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from console.agent import Agent
from console.chat.events import Event
from console.chat.follow import Fired, Follow


@dataclass(slots=True)
class Turn:
    """One turn: what the person said, and what both sides have said so far.

    Args:
        id: groups what the turn proposes in the inbox.
        text: the person's sentence, cleaned; already the last of `messages`.
        messages: the transcript in the shape of the Messages API ({role, content}); the planner appends the
            assistant's messages and the results of tools, never half a message.
        system: what the session knows beside the transcript (scope, watches, what was compacted away).
        spoken: set when the person says something new while the turn goes on; a wait for the inbox then ends.
        writes: the writes that were called in this turn and what came of them; `Calls` keeps it.
        follow: takes the wish to hear of a job, False where too many are watched; None where nobody keeps watches.
        fired: the watches that began this turn; empty where the person did.
        no_writes: why nothing may be proposed in this turn, or nothing.
    """

    id: str
    text: str
    agent: Agent
    messages: list[dict[str, Any]] = field(default_factory=list)
    system: str = ""
    spoken: asyncio.Event = field(default_factory=asyncio.Event)
    writes: dict[str, Literal["made", "failed", "failed twice"]] = field(default_factory=dict)
    follow: Callable[[Follow], bool] | None = None
    fired: tuple[Fired, ...] = ()
    no_writes: str = ""


class Planner(Protocol):
    """Whatever answers a turn. Cancelling the iterator stops the turn: nothing more is called or proposed."""

    @property
    def name(self) -> str:
        """For the title of the chat: ``offline``, or the name of the model."""
        ...

    def answer(self, turn: Turn) -> AsyncGenerator[Event, None]:
        """Carry the turn out; `Ended` is the last event. Expected failures are `Failure` events, never raised."""
        ...

    async def shorten(self, messages: list[dict[str, Any]], focus: str = "") -> list[dict[str, Any]]:
        """The transcript made short enough to go on with (`/compact`, or when it has grown too long): what was asked,
        decided and found stays, with every id; approvals and scope are not kept in it at all."""
        ...
