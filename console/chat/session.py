"""A conversation: one turn at a time, without Textual. What a person says goes in, events come out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from adapters.base import AdapterError
from adapters.text import clean, clean_lines
from console.agent import Agent
from console.chat.events import Called, Ended, Event, Failure, Piece, Reply
from console.chat.planner import Planner, Turn
from console.chat.transcript import add_text, mend
from console.engine import Engine
from console.gate import Proposal

_log = logging.getLogger(__name__)
MOST_TEXT = 100_000  # characters of one sentence of the person
MOST_CALLS = 40  # in one turn
MOST_SAID = 200_000  # characters of a planner's text in one turn
Tell = Callable[[Event], None]


class Chat:
    """One conversation on an engine.

    Args:
        planner: what answers; may be replaced between turns.
        folder: where sessions are kept; None keeps none.

    Attributes:
        messages: the transcript, in the shape of the Messages API.
    """

    def __init__(self, engine: Engine, planner: Planner, folder: Path | None = None) -> None:
        self.engine = engine
        self.planner = planner
        self.agent = Agent(engine, "chat")
        self.id = _new_id(engine.store.now())
        self.messages: list[dict[str, Any]] = []
        self._folder = folder
        self._number = 0
        self._lock = asyncio.Lock()
        self._turn: Turn | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._listeners: list[Tell] = []

    @property
    def busy(self) -> bool:
        """A turn goes on, or waits for one that does."""
        return bool(self._tasks)

    @property
    def waiting(self) -> list[Proposal]:
        """What this conversation has proposed and nobody has answered."""
        return [p for p in self.engine.gate.agents.inbox.waiting if p.turn.startswith(f"{self.id}.")]

    def listen(self, listener: Tell) -> Callable[[], None]:
        """Have `listener` called with each event that comes by itself; returns what ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    async def say(self, text: str) -> AsyncGenerator[Event, None]:
        """What the person says: a sentence or a ``/`` command. The last event is `Ended`.

        Said while a turn goes on, it ends that turn's wait for the inbox and is answered after it. Closing the
        iterator stops the turn.
        """
        sentence = "\n".join(clean_lines(text[:MOST_TEXT])).strip()
        self.engine.gate.agents.person_spoke()
        if self._turn is not None:
            self._turn.spoken.set()
        events: asyncio.Queue[Event] = asyncio.Queue()
        task = self._begin(sentence, events.put_nowait)
        try:
            while True:
                event = await events.get()
                yield event
                if isinstance(event, Ended):
                    return
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def stop(self) -> None:
        """End the turn, and take back what it proposed and nobody has answered. What was sent is not undone."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def close(self) -> None:
        """End what goes on; the session stays on disk."""
        await self.stop()
        self._listeners.clear()

    # -- a turn

    def _begin(self, text: str, tell: Tell) -> asyncio.Task[None]:
        task = asyncio.create_task(self._run(text, tell), name="chat turn")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _run(self, text: str, tell: Tell) -> None:
        """One turn, whatever happens; the last it tells is `Ended`."""
        ended = Ended("stopped")
        try:
            async with self._lock:
                ended = await self._answer(text, tell)
        except asyncio.CancelledError:
            ended = Ended("stopped")
        finally:
            if (task := asyncio.current_task()) is not None:
                self._tasks.discard(task)
            tell(ended)

    async def _answer(self, text: str, tell: Tell) -> Ended:
        self._number += 1
        add_text(self.messages, text)
        turn = Turn(f"{self.id}.{self._number}", text, self.agent, self.messages)
        self._turn = turn
        if len(self._tasks) > 1:  # somebody waits for this turn already
            turn.spoken.set()
        ended = Ended("stopped")
        try:
            ended = await self._events(turn, tell)
        except Exception as error:
            _log.exception("a turn of the chat failed")
            tell(Failure("The turn failed", clean(f"{type(error).__name__}: {error}", 300), "See the log."))
            ended = Ended("failed")
        finally:
            self._turn = None
            mend(self.messages)
            if ended.how != "done":
                with suppress(AdapterError):
                    await self.engine.gate.withdraw(turn.id)
        return ended

    async def _events(self, turn: Turn, tell: Tell) -> Ended:
        """Pass on what the planner tells, within the limits of one turn."""
        calls = said = 0
        async with aclosing(self.planner.answer(turn)) as events:
            async for event in events:
                if isinstance(event, Ended):
                    return event
                calls += isinstance(event, Called)
                said += len(event.text) if isinstance(event, Piece | Reply) else 0
                if calls > MOST_CALLS or said > MOST_SAID:
                    return Ended("limit")
                tell(event)
        return Ended("done")


def _new_id(now: datetime) -> str:
    return f"{now:%Y%m%d-%H%M%S}-{uuid4().hex[:6]}"
