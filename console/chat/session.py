"""A conversation: one turn at a time, without Textual. What a person says goes in, events come out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias
from uuid import uuid4
from weakref import WeakKeyDictionary

from adapters.base import AdapterError
from adapters.text import clean_lines
from console.agent import Agent
from console.audit.redact import redact
from console.chat import slash
from console.chat.events import Ended, Event, Failure, Notice
from console.chat.follow import Fired, Follow, Work, watch_of
from console.chat.keeping import Keeping
from console.chat.narrowing import scope_said
from console.chat.offline import Offline
from console.chat.planner import Planner
from console.chat.reports import Reports
from console.chat.saying import language
from console.chat.scoping import narrow
from console.chat.sessions import Listed, listed
from console.chat.transcript import add_answer, add_text, markdown
from console.chat.turns import run_turn
from console.chat.watches import Watches
from console.engine import Engine
from console.gate import Proposal

MOST_TEXT = 100_000  # characters of one sentence of the person
Tell: TypeAlias = Callable[[Event], None]
Task: TypeAlias = Literal["sentence", "report", "command"]
Models: TypeAlias = Callable[[str], "Planner | None"]


class Chat:
    """One conversation on an engine.

    Args:
        planner: what answers; may be replaced between turns. None: the offline grammar.
        folder: where sessions are kept; None keeps none.
        models: gives the planner for the name of a model (`/model`), or None where there is none.

    Attributes:
        id: names the session.
        messages: the transcript, in the shape of the Messages API.
        watches: the jobs that the session waits for.
    """

    def __init__(
        self, engine: Engine, planner: Planner | None = None, folder: Path | None = None, models: Models | None = None
    ) -> None:
        self.engine = engine
        self.planner: Planner = planner or Offline()
        self.models = models
        self.agent = Agent(engine, "chat")
        self.messages: list[dict[str, Any]] = []
        self.left: list[Proposal] = []  # what a turn ended without an answer to
        self.folder = folder
        self.lock = asyncio.Lock()
        self.spoken: asyncio.Event | None = None  # of the turn that goes on
        self._number = 0
        self._tasks: dict[asyncio.Task[None], Task] = {}
        self._read_before: WeakKeyDictionary[asyncio.Task[Any], int] = WeakKeyDictionary()  # what the person spoke
        self._beside: set[asyncio.Task[None]] = set()
        self._listeners: list[Tell] = []
        self._begin_session(_new_id(engine.store.now()))

    def _begin_session(self, id: str) -> None:
        self.id = id
        self.keeping = Keeping(self.folder, id)
        self.watches = Watches(self.engine, self._fired, lambda: self.beside(self.keep()))
        self._reports = Reports(self)

    # -- what the panel asks

    @property
    def busy(self) -> bool:
        """A turn goes on, or waits for one that does."""
        return any(kind != "command" for kind in self._tasks.values())

    @property
    def waiting(self) -> list[Proposal]:
        """What this conversation has proposed and nobody has answered."""
        return [p for p in self.engine.gate.agents.inbox.waiting if p.turn.startswith(f"{self.id}.")]

    def listen(self, listener: Tell) -> Callable[[], None]:
        """Have `listener` called with each event that comes by itself; returns what ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def tell(self, event: Event) -> None:
        """An event that nobody asked for."""
        for listener in tuple(self._listeners):
            listener(event)

    async def sessions(self) -> list[Listed]:
        """The sessions that are kept, newest first."""
        return await asyncio.to_thread(listed, self.folder) if self.folder is not None else []

    def export(self) -> str:
        """The conversation as Markdown, without what looks like a secret."""
        head = f"# Chat {self.id}\n\n{self.engine.store.now():%Y-%m-%d %H:%M} UTC, {self.planner.name}\n\n"
        return head + markdown(redact(self.messages))

    # -- saying something

    async def say(self, text: str) -> AsyncGenerator[Event, None]:
        """What the person says: a sentence or a ``/`` command. The last event is `Ended`.

        Said while a turn goes on, a sentence ends that turn's wait for the inbox and is answered after it. Closing
        the iterator stops the turn.
        """
        if len(text) > MOST_TEXT:
            yield Failure("Too long", f"That is longer than {MOST_TEXT} characters; nothing of it was read.")
            yield Ended("failed")
            return
        sentence = "\n".join(clean_lines(text)).strip()
        if not sentence:
            yield Ended("done")
            return
        events: asyncio.Queue[Event] = asyncio.Queue()
        command = slash.is_command(sentence)
        turn = not command or slash.is_turn(sentence)
        if turn and self.spoken is not None:
            self.spoken.set()
        run = self._command if command else self._sentence
        task = self._spawn(run(sentence, events.put_nowait), "sentence" if turn else "command")
        if turn:
            self._read_before[task] = self.engine.gate.agents.person_speaks()
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
        tasks = [task for task, kind in self._tasks.items() if kind != "command"]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def new(self) -> None:
        """Begin a new session; this one stays on disk, and its watches with it."""
        await self._leave()
        self._begin_session(_new_id(self.engine.store.now()))

    async def resume(self, id: str) -> None:
        """Go on with a session: its transcript and its watches; never its scope, its approvals or its autopilot.
        Raises SessionError; then the session that goes on stays."""
        keeping = Keeping(self.folder, id)
        stored = await asyncio.to_thread(keeping.open)
        await self._leave()
        self._begin_session(id)
        self.keeping = keeping
        self.messages[:] = stored.messages
        self._number = sum(message["role"] == "user" for message in stored.messages)
        self.watches.restore(stored.watches)

    async def close(self) -> None:
        """End what goes on; the session stays on disk."""
        await self._leave()
        self._listeners.clear()

    async def _leave(self) -> None:
        await self.stop()
        await self.watches.close()
        for task in (beside := list(self._beside)):
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        await self.keep()
        self.keeping.close()
        self.messages.clear()
        self.left.clear()
        if isinstance(self.planner, Offline):
            self.planner = Offline()

    # -- a turn

    def next_turn(self) -> str:
        """The id of the turn that begins."""
        self._number += 1
        return f"{self.id}.{self._number}"

    @property
    def others_wait(self) -> bool:
        """The person has said something that is answered after the turn that goes on."""
        this = asyncio.current_task()
        return any(kind == "sentence" and task is not this for task, kind in self._tasks.items())

    async def _command(self, text: str, tell: Tell) -> None:
        ended = Ended("stopped")
        try:
            ended = await slash.run(self, text, tell)
        except AdapterError as error:
            tell(Failure(error.title, error.message, error.hint))
            ended = Ended("failed")
        except asyncio.CancelledError:
            ended = Ended("stopped")
        finally:
            self.ended()
            tell(ended)

    async def _sentence(self, text: str, tell: Tell) -> None:
        ended = Ended("stopped")
        try:
            said = scope_said(text)
            if said is not None:
                told = await narrow(self.engine, said, language(text), tell)
                async with self.lock:
                    self._heard()
                    add_text(self.messages, text)
                    add_answer(self.messages, {"type": "text", "text": told})
                    await self.keep(tell)
                ended = Ended("done")
                if not said.rest:
                    return
                text = said.rest
            async with self.lock:
                self._heard()
                ended = await run_turn(self, text, tell)
        except asyncio.CancelledError:
            ended = Ended("stopped")
        finally:
            self.ended()
            tell(ended)

    async def submit(self, text: str, tell: Tell) -> Ended:
        """A sentence for the grammar, whatever planner answers otherwise."""
        async with self.lock:
            self._heard()
            return await run_turn(self, text, tell, Offline())

    def _heard(self) -> None:
        """What the person said begins to be answered. The turn before goes on as suspended as it was."""
        this = asyncio.current_task()
        if this is not None and (before := self._read_before.pop(this, None)) is not None:
            self.engine.gate.agents.person_spoke(before)

    async def keep(self, tell: Tell | None = None) -> None:
        """Put on disk what is new. Where that fails the chat goes on, and says so once."""
        told = await self.keeping.keep(self.engine.store.now(), self.messages, self.watches.records())
        if told is not None:
            (tell or self.tell)(Notice(told, "warning"))

    # -- watches

    def follow(self, wanted: Follow, work: Work | None = None) -> bool:
        """Take the wish to hear of a job; of one that waits in the inbox as soon as it is sent. False: too many are
        watched."""
        if wanted.proposal is None:
            return self.watches.add(watch_of(wanted, work))
        self.beside(self._follow_later(wanted, wanted.proposal, work))
        return True

    async def _follow_later(self, wanted: Follow, proposal: Proposal, work: Work | None) -> None:
        if await proposal.wait() != "approved" or proposal.operation is None:
            return
        await proposal.operation.wait()
        for outcome in proposal.operation.outcomes:
            if outcome.created is not None:
                made = Follow(wanted.cluster, outcome.created.id, wanted.until, wanted.only_failed, wanted.arguments)
                self.watches.add(watch_of(made, work))

    def _fired(self, fired: Fired) -> None:
        self._reports.take(fired)

    def begin_report(self, report: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """A turn that a watch begins."""
        self._spawn(report(), "report")

    # -- tasks

    def _spawn(self, coroutine: Coroutine[Any, Any, None], kind: Task) -> asyncio.Task[None]:
        task = asyncio.create_task(coroutine, name=f"chat {kind}")
        self._tasks[task] = kind
        task.add_done_callback(lambda ended: self._tasks.pop(ended, None))
        return task

    def ended(self) -> None:
        """The task that runs now is over, but for its last event."""
        task = asyncio.current_task()
        if task is not None:
            self._tasks.pop(task, None)

    def beside(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run something that no turn waits for."""
        task = asyncio.create_task(coroutine, name="chat beside")
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)


def _new_id(now: datetime) -> str:
    return f"{now:%Y%m%d-%H%M%S}-{uuid4().hex[:6]}"
