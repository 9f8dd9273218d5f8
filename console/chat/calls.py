"""The one place where the calls of a turn are carried out, for every planner: exactly one result for each call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from adapters.base import AdapterError
from adapters.text import clean
from console.agent_answers import Proposed, plan_answer, sent_answer
from console.audit.redact import redact
from console.chat.events import Answered, Call, Called, Event, Waiting
from console.chat.follow import Follow, Until
from console.chat.planner import Turn
from console.chat.summary import summary
from console.gate import Proposal, Refused
from console.tools import TOOLS, ToolError
from console.tools.reads import Waited
from console.tools.tool import Result

MOST_CHARACTERS = 120_000  # of the results of one message together
NOT_ANSWERED = "It has not been answered yet; it waits in the inbox. The person has said something new meanwhile."
_FOLLOWED = "Pilothouse reports by itself when it happens. Do not ask again until then."


@dataclass(slots=True)
class Outcome:
    """What came of one call.

    Args:
        result: what the tool gave; for a write the plan and what became of it. None where `error` says why.
        note: what is told beside the result.
    """

    call: Call
    result: Result | None = None
    error: AdapterError | None = None
    proposal: Proposal | None = None
    note: str = ""

    @property
    def ok(self) -> bool:
        return self.error is None


class Calls:
    """The calls of one message.

    Attributes:
        outcomes: one for each call, in the order of the calls, once `run` has ended.
        interrupted: the person said something new while a write waited: the turn ends without another word.
    """

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._done: dict[str, Outcome] = {}
        self._calls: Sequence[Call] = ()
        self.interrupted = False

    async def run(self, calls: Sequence[Call], said: str = "") -> AsyncGenerator[Event, None]:
        """Carry them out: writes are proposed, in order; reads run beside each other; then the answers are awaited.

        `said` are the planner's own words, shown with each proposal. Raises nothing for what a call meets. Call ids
        must differ; of two calls with one id the second is refused.
        """
        for call in calls:
            yield Called(call)
        for call in _repeated(calls):
            error = ToolError(f"Two calls of one message have the id {clean(call.id, 80)}.")
            yield Answered(call, False, summary(error), told(Outcome(call, error=error)))
        self._calls = calls = list({call.id: call for call in reversed(calls)}.values())[::-1]
        writes = [call for call in calls if _kind(call) == "write"]
        reads = [call for call in calls if _kind(call) != "write"]
        waiting: list[Outcome] = []
        for call in writes:
            outcome = await self._propose(call, said)
            if outcome.proposal is not None:
                waiting.append(outcome)
            else:
                yield self._answered(outcome)
        if waiting:
            yield Waiting(tuple(outcome.proposal for outcome in waiting if outcome.proposal is not None))
        async with aclosing(self._read(reads)) as events:
            async for event in events:
                yield event
        for outcome in waiting:
            await self._wait(outcome)
            yield self._answered(outcome)

    @property
    def outcomes(self) -> list[Outcome]:
        return [self._done[call.id] for call in self._calls if call.id in self._done]

    @property
    def results(self) -> list[dict[str, Any]]:
        """One ``tool_result`` for each call, in order, bounded together."""
        found, left = [], MOST_CHARACTERS
        for outcome in self.outcomes:
            content = told(outcome)
            if len(content) > left:
                content = _TOO_MUCH
                outcome = Outcome(outcome.call, error=ToolError(_TOO_MUCH))
            left -= len(content)
            result = {"type": "tool_result", "tool_use_id": outcome.call.id, "content": content}
            found.append(result if outcome.ok else {**result, "is_error": True})
        return found

    # -- writes

    async def _propose(self, call: Call, said: str) -> Outcome:
        """Into the inbox; or what kept it out."""
        if self._turn.no_writes:
            return Outcome(call, error=Refused("second_failure", self._turn.no_writes, "Tell the person, and stop."))
        key = json.dumps([call.tool, call.arguments], sort_keys=True, default=str)
        before = self._turn.writes.get(key)
        if before in ("made", "failed twice"):
            why = (
                "It failed twice in this turn." if before == "failed twice" else "This turn has made that call already."
            )
            return Outcome(call, error=ToolError(f"{call.tool} is a repeat. {why}", "Tell the person, and stop."))
        try:
            answer, proposal = await self._turn.agent.propose(call.tool, dict(call.arguments), self._turn.id, said)
        except AdapterError as error:
            self._turn.writes[key] = "failed twice" if before == "failed" else "failed"
            return Outcome(call, error=error)
        self._turn.writes[key] = "made"
        return Outcome(call, answer, proposal=proposal)

    async def _wait(self, outcome: Outcome) -> None:
        """Until the person has answered, or says something new."""
        proposal = outcome.proposal
        assert proposal is not None
        answer = asyncio.ensure_future(proposal.wait())
        spoken = asyncio.ensure_future(self._turn.spoken.wait())
        try:
            await asyncio.wait({answer, spoken}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                self.interrupted = True
                outcome.note = NOT_ANSWERED
                return
        finally:
            answer.cancel()
            spoken.cancel()
        if proposal.operation is not None:
            await self._turn.agent.sent(proposal.operation)
        outcome.result, outcome.error = answered(proposal)

    # -- reads

    async def _read(self, calls: Sequence[Call]) -> AsyncGenerator[Event, None]:
        tasks = [asyncio.create_task(self._one(call), name=f"chat {call.tool}") for call in calls]
        try:
            for task in tasks:
                yield self._answered(await task)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _one(self, call: Call) -> Outcome:
        try:
            result = await self._turn.agent.read(call.tool, dict(call.arguments))
        except AdapterError as error:
            return Outcome(call, error=error)
        outcome = Outcome(call, result)
        if isinstance(result, Waited) and not result.reached and self._turn.follow is not None:
            until: Until = "finished"
            if call.arguments.get("until") == "started":
                until = "started"
            if self._turn.follow(Follow(result.cluster, result.id, until)):
                outcome.note = _FOLLOWED
        return outcome

    def _answered(self, outcome: Outcome) -> Answered:
        call = outcome.call
        self._done[call.id] = outcome
        line = outcome.note if outcome.note == NOT_ANSWERED else summary(outcome.error or outcome.result)
        return Answered(call, outcome.ok, line, told(outcome), outcome.proposal)


_TOO_MUCH = json.dumps(
    {
        "error": "Too much for one message",
        "message": f"The answers of this message are longer than {MOST_CHARACTERS} characters together.",
        "hint": "Ask again for less: a filter, a smaller limit, a shorter tail.",
    }
)


def _repeated(calls: Sequence[Call]) -> list[Call]:
    """The calls whose id an earlier one of the message has."""
    first: dict[str, Call] = {}
    return [call for call in calls if first.setdefault(call.id, call) is not call]


def _kind(call: Call) -> str:
    """An unknown tool is refused as a write is: on record."""
    return TOOLS[call.tool].kind if call.tool in TOOLS else "write"


def answered(proposal: Proposal) -> tuple[Proposed | None, AdapterError | None]:
    """What to tell of a proposal that a person has answered."""
    if proposal.operation is not None:
        return sent_answer(proposal.prepared, proposal.operation), None
    if proposal.answer == "refused":
        return None, Refused("gate", proposal.note or "The gate refused it when the person agreed.")
    if proposal.answer == "withdrawn":
        return plan_answer(proposal.prepared, "declined", "The turn was stopped; nothing was sent."), None
    said = f" The person says: {proposal.note}" if proposal.note else ""
    return plan_answer(proposal.prepared, "declined", f"The person said no; nothing was sent.{said}"), None


def told(outcome: Outcome) -> str:
    """The JSON that goes back for a call; a failure never looks like an empty answer."""
    if (error := outcome.error) is not None:
        found: dict[str, Any] = {"error": error.title, "code": error.code, "message": clean(error.message, 1000)}
        if isinstance(error, Refused):
            found["rule"] = error.rule
        if error.hint:
            found["hint"] = clean(error.hint, 500)
        return json.dumps(redact(found), ensure_ascii=False)
    assert outcome.result is not None
    found = outcome.result.model_dump(mode="json", exclude_none=True)
    if outcome.note:
        found["note"] = " ".join(part for part in (found.get("note", ""), outcome.note) if part)
    return json.dumps(found, ensure_ascii=False)
