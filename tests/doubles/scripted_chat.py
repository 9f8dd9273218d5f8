"""A double of a chat: it tells what a test has written down for a sentence. It plans and calls nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from console.chat.events import Ended, Event, Reply
from console.engine import Engine
from console.gate import Proposal

Part: TypeAlias = Event | asyncio.Event
"""An event to tell, or one of asyncio to wait for before the next is told."""


@dataclass(frozen=True)
class Named:
    name: str = "scripted"


class ScriptedChat:
    """Answers each sentence with the parts a test gives for it.

    Attributes:
        said: the sentences, in order. stopped, closed: how often that was asked for.
    """

    def __init__(self, engine: Engine, turns: Mapping[str, Sequence[Part]] | None = None) -> None:
        self.engine = engine
        self.turns = dict(turns or {})
        self.planner = Named()
        self.said: list[str] = []
        self.stopped = self.closed = 0
        self.watches: Sequence[Any] = ()
        self._running: set[asyncio.Event] = set()
        self._listeners: list[Callable[[Event], None]] = []

    @property
    def busy(self) -> bool:
        return bool(self._running)

    @property
    def waiting(self) -> Sequence[Proposal]:
        return self.engine.gate.agents.inbox.waiting

    def listen(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def tell(self, event: Event) -> None:
        """What comes by itself."""
        for listener in self._listeners:
            listener(event)

    async def say(self, text: str) -> AsyncGenerator[Event, None]:
        self.said.append(text)
        stop = asyncio.Event()
        self._running.add(stop)
        try:
            for part in self.turns.get(text, [Reply(f"You said: {text}")]):
                if isinstance(part, asyncio.Event):
                    await _first(part, stop)
                if stop.is_set():
                    break
                if not isinstance(part, asyncio.Event):
                    yield part
        finally:
            self._running.discard(stop)
        yield Ended("stopped" if stop.is_set() else "done")

    async def stop(self) -> None:
        self.stopped += 1
        for running in tuple(self._running):
            running.set()

    async def close(self) -> None:
        self.closed += 1
        await self.stop()


async def _first(*events: asyncio.Event) -> None:
    """Wait for the first of these."""
    tasks = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
