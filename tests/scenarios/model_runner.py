"""Runs a scenario through the whole chat: the person's sentences, a scripted model behind the real SDK, the answers in
the inbox. The record adds what the person was shown and how each turn ended to what `runner.Run` records.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from itertools import groupby
from typing import Any

import yaml

from console.chat.events import Answered, Called, Ended, Event, Failure, Notice, Reply, Retrying, Waiting, Wants
from console.chat.planner import Planner
from console.chat.session import Chat
from console.engine import Engine
from console.gate import Approval, PlanChanged, Proposal, Refused
from tests.doubles.messages_api import CUT, MessagesApi, message, status, text, use
from tests.scenarios.runner import DEADLINE, ME, Run

_KEPT = (
    "error", "code", "rule", "total", "by_status", "cause", "confidence", "status", "reached", "exit_code", "lines",
    "resources", "state", "action", "summary", "target_count", "confirmation", "result", "created",
)  # fmt: skip


class ModelRun(Run):
    """One run. `api` is the scripted endpoint that `planner` asks."""

    def __init__(self, engine: Engine, language: str, planner: Planner, api: MessagesApi) -> None:
        super().__init__(engine, language)
        self.chat = Chat(engine, planner)
        self.api = api
        self.heard: asyncio.Queue[Event] = asyncio.Queue()
        self.chat.listen(self.heard.put_nowait)
        self._answers: list[Any] = []

    async def run(self, scenario: Mapping[str, Any]) -> str:
        """The record. Reads of one message are made beside each other, so that their lines stand in any order."""
        record = yaml.safe_load(await super().run(scenario))
        lines: list[str] = []
        for reads, group in groupby(record["audit"], key=lambda line: line.startswith("read ")):
            found = list(group)
            lines += sorted(found) if reads else found
        record["audit"] = lines
        return yaml.safe_dump(record, sort_keys=False, allow_unicode=True, width=150)

    # -- the steps

    async def do_say(self, given: Mapping[str, Any]) -> None:
        """The person says something; the model's messages and the person's answers are those of the step."""
        self._script(given)
        async for event in self.chat.say(self._filled(given[self.language])):
            await self._event(event)
        self._used()

    async def do_report(self, given: Mapping[str, Any]) -> None:
        """A watch begins a turn by itself."""
        self._script(given)
        async with asyncio.timeout(DEADLINE):
            while True:
                event = await self.heard.get()
                await self._event(event)
                if isinstance(event, Ended):
                    break
        self._used()

    async def do_approve(self, typed: str) -> None:
        """The person answers later what still waits in the inbox."""
        await self._answer(self.chat.waiting[0], typed)

    # -- the model and the person

    def _script(self, given: Mapping[str, Any]) -> None:
        self._answers = list(given.get("answers", ()))
        self.api.steps += [self._step(blocks) for blocks in given.get("model", ())]

    def _step(self, blocks: Any) -> Any:
        """One message of the model; ids of jobs are filled in when it is asked for."""

        def made(body: dict[str, Any]) -> Any:
            if isinstance(blocks, Mapping):
                found = status(int(blocks["status"]), "overloaded_error", retry_after="0")
                return found(body)  # type: ignore[operator]
            if blocks == ["cut"]:
                return [*message(text("I will"), use("scheduler_cancel", {"ids": ["1"]}))[:7], CUT]
            filled = [self._filled(block) for block in blocks]
            return message(*[self._block(number, block) for number, block in enumerate(filled)])

        return made

    def _block(self, number: int, block: Mapping[str, Any]) -> dict[str, Any]:
        if "text" in block:
            return text(str(block["text"]))
        return use(block["use"], block.get("args", {}), f"toolu_{len(self.api.requests)}_{number}")

    def _used(self) -> None:
        assert not self.api.steps, f"{len(self.api.steps)} messages of the model were never asked for"
        assert not self._answers, f"nobody asked for the answers {self._answers}"

    async def _event(self, event: Event) -> None:
        told: Any = None
        if isinstance(event, Called):
            told = {"call": event.call.tool, "args": dict(event.call.arguments)}
        elif isinstance(event, Answered):
            if event.proposal is not None:  # before the golden names the ids of what was made
                self._made(json.loads(event.detail))
            told = {"ok" if event.ok else "failed": event.call.tool, **_brief(json.loads(event.detail))}
        elif isinstance(event, Reply):
            told = {"says": event.text}
        elif isinstance(event, Notice | Failure):
            told = {"told": event.text if isinstance(event, Notice) else f"{event.title}: {event.message}"}
        elif isinstance(event, Retrying):
            told = {"retrying": event.attempt}
        elif isinstance(event, Wants):
            told = {"wants": event.what}
        elif isinstance(event, Ended):
            told = {"ended": event.how}
        if told is not None:
            self.events.append(told)
        if isinstance(event, Waiting):
            self.events.append({"waiting": [proposal.prepared.intent.verb for proposal in event.proposals]})
            for proposal in event.proposals:
                if self._answers:
                    await self._answer(proposal, self._answers.pop(0))

    async def _answer(self, proposal: Proposal, answer: Any) -> None:
        """`y`, what is typed, `deny: reason`, or `later`."""
        verb = proposal.prepared.intent.verb
        if answer == "later":  # the person says something else instead
            assert self.chat.spoken is not None
            self.chat.spoken.set()
            return
        if isinstance(answer, Mapping):
            await self.engine.gate.deny(proposal, str(answer["deny"]))
            self.events.append({"denied": verb})
            return
        given = Approval("dialog", None if answer == "y" else str(self._filled(answer)))
        for _ in range(2):
            try:
                operation = await self.engine.gate.approve(proposal, given)
            except PlanChanged as changed:
                self.events.append({"shown again": list(changed.prepared.notes)})
                continue
            except Refused as refusal:
                self.events.append({"refused": refusal.rule, "message": refusal.message})
                return
            await operation.wait()
            self.events.append({"approved": verb})
            return

    def _made(self, detail: Mapping[str, Any]) -> None:
        self.ids += [id for id in detail.get("created", ()) if id not in self.ids]


def _brief(detail: Mapping[str, Any]) -> dict[str, Any]:
    """What of a result a scenario is about."""
    found = {name: detail[name] for name in _KEPT if detail.get(name) not in (None, [], "")}
    if "error" in detail:
        found["message"] = detail["message"]
    if isinstance(detail.get("job"), Mapping):
        found["job"] = {name: detail["job"].get(name) for name in ("name", "status")}
    targets = detail.get("targets")
    if targets:
        found["targets"] = [
            f"{one['kind']} {one['id']} {one['status']} of {'<me>' if one.get('owner') == ME else one.get('owner')}"
            if one["kind"] == "job" else f"{one['kind']} {one['id']}"
            for one in targets
        ]  # fmt: skip
    return found
