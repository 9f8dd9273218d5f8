"""Runs a scenario as a conversation with the chat's offline planner: the person says, reads, answers in the inbox.

The record holds what was called and what came of it, proposals, requests and audit lines: the same in English and
Chinese. What was replied is kept apart, a golden a language.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from console.agent_answers import sent_answer
from console.chat.events import Answered, Called, Ended, Event, Failure, Notice, Reply, Waiting, Wants
from console.chat.session import Chat
from console.chat.words import ACTIONS_ZH
from console.engine import Engine
from console.gate import Approval, PlanChanged, Refused
from tests.scenarios.runner import DEADLINE, ME, Run

_SPAN = re.compile(r"(?<![\d:])\d\d:\d\d(?::\d\d)?(?![\d:])")
_SUFFIX = re.compile(r"(?<=\bmove-1)-[0-9a-f]{8}\b")  # that the Kubernetes adapter gives a job's name
_COUNTS = re.compile(
    r"^(\| (?:short|normal|long) \| \S+ \|) \d+ \| \d+ \|", re.MULTILINE
)  # of queues that others use, too
_HISTORY = re.compile(r"^- history of this name: .*\n", re.MULTILINE)  # what earlier tests ran on the cluster
_VERBS = "|".join(ACTIONS_ZH.values())
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC")


class Worded(str):
    """Text in which ids and times have been named already."""


@dataclass(slots=True)
class Turned:
    """A turn as the person sees it."""

    state: Literal["goes on", "waits", "ended"] = "goes on"
    task: asyncio.Task[None] | None = None


class Conversation(Run):
    """One conversation on an engine. `replies` are the planner's own words, in order."""

    def __init__(self, engine: Engine, language: str) -> None:
        super().__init__(engine, language)
        self.chat = Chat(engine)
        self.replies: list[str] = []
        self._turns: list[Turned] = []

    async def run(self, scenario: Mapping[str, Any]) -> str:
        try:
            return await super().run(scenario)
        finally:
            await self.chat.close()
            await asyncio.gather(*(turn.task for turn in self._turns if turn.task), return_exceptions=True)

    async def do_say(self, sentences: Mapping[str, str]) -> None:
        """The person says something; what waits then stays in the inbox."""
        sentence = self._filled(sentences[self.language])
        before = [turn.task for turn in self._turns if turn.task]
        turn = Turned()
        self._turns.append(turn)
        turn.task = asyncio.create_task(self._listen(sentence, turn))
        await asyncio.wait_for(asyncio.gather(*before), DEADLINE)
        await self._settled()

    async def do_approve(self, typed: str) -> None:
        proposal = self.engine.gate.agents.inbox.waiting[0]
        answer = Approval("dialog", None if typed == "y" else self._filled(typed))
        self._answering()
        try:
            operation = await self.engine.gate.approve(proposal, answer)
        except PlanChanged as changed:
            self.events.append({"shown again": [self._worded(note) for note in changed.prepared.notes]})
            self._turns[-1].state = "waits"
            return
        except Refused as refusal:
            self.events.append({"refused": refusal.rule, "message": self._worded(refusal.message)})
            if proposal.answer is None:
                self._turns[-1].state = "waits"
            await self._settled()
            return
        await operation.wait()
        self._made(sent_answer(proposal.prepared, operation).created)
        await self._settled()

    async def do_deny(self, reason: str) -> None:
        self._answering()
        await self.engine.gate.deny(self.engine.gate.agents.inbox.waiting[0], reason)
        await self._settled()

    def _answering(self) -> None:
        """What waits goes on with the answer; a turn that has ended stays so."""
        if self._turns[-1].state == "waits":
            self._turns[-1].state = "goes on"

    async def _listen(self, sentence: str, turn: Turned) -> None:
        async for event in self.chat.say(sentence):
            self._take(event)
            if isinstance(event, Waiting):
                turn.state = "waits"
        turn.state = "ended"

    def _take(self, event: Event) -> None:
        match event:
            case Called():
                self.events.append({"call": event.call.tool, "args": dict(event.call.arguments)})
            case Answered():
                self._made(self._created(event))
                self.events.append({"got" if event.ok else "error": self._worded(event.summary)})
            case Waiting():
                self.events.append({"waits": [self._worded(p.prepared.intent.describe()) for p in event.proposals]})
            case Reply():
                self.replies.append(self._worded(event.text))
            case Notice():
                self.events.append({"notice": event.kind})
                self.replies.append(self._worded(event.text))
            case Failure():
                self.events.append({"failure": self._worded(f"{event.title}: {event.message}")})
            case Wants():
                self.events.append({"wants": event.what})
            case Ended(how) if how != "done":
                self.events.append({"ended": how})

    def _made(self, ids: list[str]) -> None:
        self.ids += [id for id in ids if id not in self.ids]

    def _created(self, event: Answered) -> list[str]:
        if event.proposal is None or event.proposal.operation is None:
            return []
        return sent_answer(event.proposal.prepared, event.proposal.operation).created

    def _named(self, value: Any) -> Any:
        if isinstance(value, Worded):
            return str(value)
        return super()._named(_SUFFIX.sub("-<suffix>", value) if isinstance(value, str) else value)

    def _worded(self, text: str) -> Worded:
        """Ids, times and spans of time named; an id only where that of a job stands: no figure is taken for one."""
        for number, id in enumerate(self.ids, 1):
            job = rf"(?<![\w.-]){re.escape(id)}(?![\w.-])"
            text = re.sub(
                rf"((?:[Jj]obs?|作业|{_VERBS}|[A-Z][a-z]+|accepted:|New job:|新作业：|ok|any)\s?){job}",
                rf"\1${number}",
                text,
            )
            text = re.sub(rf"^\| {job} \|", f"| ${number} |", text, flags=re.MULTILINE)
        text = _HISTORY.sub("", text.replace(f"| {ME} |", "| <me> |"))
        text = _COUNTS.sub(r"\1 <number> | <number> |", _SUFFIX.sub("-<suffix>", text))
        return Worded(_SPAN.sub("<span>", _TIME.sub("<time>", text)))

    async def _settled(self) -> None:
        """The last turn has ended, or waits for the person."""
        end = time.monotonic() + DEADLINE
        while self._turns[-1].state == "goes on":
            assert time.monotonic() < end, f"the turn goes on: {self.events[-3:]}"
            await asyncio.sleep(0.01)
