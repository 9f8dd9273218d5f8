"""What turns a person's sentence into tool calls: the offline grammar, or a model behind the Messages API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from console.agent import Agent
from console.chat.events import Event


@dataclass(slots=True)
class Turn:
    """One turn: what the person said, and what both sides have said so far.

    Args:
        id: groups what the turn proposes in the inbox.
        text: the person's sentence, cleaned; already the last of `messages`.
        messages: the transcript in the shape of the Messages API ({role, content}); the planner appends the
            assistant's messages and the results of tools, never half a message.
        system: what the session knows beside the transcript (scope, watches, what was compacted away).
    """

    id: str
    text: str
    agent: Agent
    messages: list[dict[str, Any]] = field(default_factory=list)
    system: str = ""


class Planner(Protocol):
    """Whatever answers a turn. Cancelling the iterator stops the turn: nothing more is called or proposed."""

    @property
    def name(self) -> str:
        """For the title of the chat: ``offline``, or the name of the model."""
        ...

    def answer(self, turn: Turn) -> AsyncIterator[Event]:
        """Carry the turn out; `Ended` is the last event. Expected failures are `Failure` events, never raised."""
        ...

    async def shorten(self, messages: list[dict[str, Any]], focus: str = "") -> list[dict[str, Any]]:
        """The transcript made short enough to go on with (`/compact`, or when it has grown too long): what was asked,
        decided and found stays, with every id; approvals and scope are not kept in it at all."""
        ...
