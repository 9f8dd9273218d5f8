"""The planner behind a Messages API: it asks the model, carries out what it calls, and asks again until it is done.

The model routes, `Calls` acts. Nothing of an answer is carried out before the answer has ended properly.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from console.chat.endpoint import Endpoint, endpoint_for
from console.chat.events import Ended, Event, Failure
from console.chat.planner import Planner, Turn
from console.chat.prompt import tools
from console.chat.retry import Patience
from console.chat.rounds import Rounds
from console.chat.shorten import brief, divided, shortened
from console.chat.stream import Message, streamed
from console.chat.trouble import Trouble
from console.chat.wire import request, tokens
from console.config import Config

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

SUMMARY_TOKENS = 1200


@dataclass(frozen=True, slots=True)
class ModelPlanner:
    """One model, for any number of conversations: it keeps nothing of them.

    Args:
        rounds: the most requests of one turn.
        sleep: waits between two attempts; tests put their own here.
    """

    endpoint: Endpoint
    patience: Patience = field(default_factory=Patience)
    rounds: int = 40
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep

    @property
    def name(self) -> str:
        return self.endpoint.model

    async def answer(self, turn: Turn) -> AsyncGenerator[Event, None]:
        await asyncio.to_thread(tools)  # some schemas to be made, the first time
        try:
            async with self.endpoint.client() as client, aclosing(Rounds(self, client, turn).events()) as events:
                async for event in events:
                    yield event
        except Trouble as trouble:
            yield Failure(trouble.title, trouble.message, trouble.hint)
            yield Ended("failed")

    async def shorten(self, messages: list[dict[str, Any]], focus: str = "") -> list[dict[str, Any]]:
        try:
            async with self.endpoint.client() as client:
                return await self.shorter(client, messages, focus)
        except Trouble:  # without the model, in fixed form
            return await self.shorter(None, messages, focus)

    async def shorter(
        self, client: AsyncAnthropic | None, messages: list[dict[str, Any]], focus: str = ""
    ) -> list[dict[str, Any]]:
        """`messages` in about a third of their size, and of what the endpoint takes, at most. Raises nothing that
        the endpoint could cause: without its summary the transcript is shortened in fixed form."""
        size = tokens([message["content"] for message in messages])
        keep = max(200, min(size // 3, self.endpoint.settings.context_tokens // 4))
        parts = divided(messages, keep)
        summary = await self._summary(client, parts.old, focus) if client is not None and parts.old else ""
        return shortened(parts, summary, keep, focus)

    async def _summary(self, client: AsyncAnthropic, old: list[dict[str, Any]], focus: str) -> str:
        asked = request(self.endpoint, brief(old))
        if focus:
            asked["messages"][-1]["content"].append({"type": "text", "text": f"Above all: {focus}"})
        asked |= {"max_tokens": min(SUMMARY_TOKENS, asked["max_tokens"]), "tool_choice": {"type": "none"}}
        try:
            async with aclosing(streamed(client, asked, self.endpoint.host)) as events:
                async for event in events:
                    if isinstance(event, Message) and event.stop in ("end_turn", "stop_sequence", "max_tokens"):
                        return event.text.strip()
        except Trouble:
            pass
        return ""


def planner_for(config: Config, environ: Mapping[str, str], model: str | None = None) -> Planner | None:
    """The planner that the configuration and the environment name; None where they name no model or no key, or the
    chat's model is turned off: then the grammar answers. Loads no SDK, reads no file; what is wrong with either is
    told by the first turn. `model` is used in place of the one that is set."""
    endpoint = endpoint_for(config, environ, model)
    return ModelPlanner(endpoint) if endpoint is not None else None
