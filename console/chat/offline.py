"""The planner without a model: the grammar makes calls of a sentence, and what they give is told in fixed words."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from console.chat.calls import Calls
from console.chat.events import Call, Ended, Event, Reply
from console.chat.grammar import understand
from console.chat.planner import Turn
from console.chat.said import Ask, NotUnderstood
from console.chat.summary import summary


class Offline:
    """Deterministic: the same sentence on the same state is the same calls and the same words."""

    name = "offline"

    async def answer(self, turn: Turn) -> AsyncGenerator[Event, None]:
        """Carry the turn out."""
        meant = understand(turn.text)
        if isinstance(meant, Ask):
            yield _reply(turn, meant.question)
        elif isinstance(meant, NotUnderstood):
            yield _reply(turn, "That is no sentence I know.")
        else:
            calls = Calls(turn)
            async for event in calls.run([Call(f"{turn.id}.1", meant.tool, dict(meant.args))]):
                yield event
            yield _reply(turn, "\n".join(summary(o.error or o.result) for o in calls.outcomes))
        yield Ended("done")

    async def shorten(self, messages: list[dict[str, Any]], focus: str = "") -> list[dict[str, Any]]:
        """Nothing reads the transcript here: the last turns are kept."""
        return messages[-20:]


def _reply(turn: Turn, text: str) -> Reply:
    turn.messages.append({"role": "assistant", "content": text})
    return Reply(text)
