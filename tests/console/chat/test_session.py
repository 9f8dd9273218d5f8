"""A conversation: one turn at a time, stopping, something new while a write waits, limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import pytest

from console.chat.events import Called, Ended, Event, Failure, Reply, Waiting
from console.chat.offline import Offline
from console.chat.planner import Turn
from console.chat.session import Chat
from console.chat.turns import MOST_CALLS
from console.engine import Engine
from console.gate import Approval
from tests.console.waiting import until
from tests.doubles.memory_backend import MemoryBackend


@pytest.fixture
async def chat(engine: Engine) -> AsyncIterator[Chat]:
    chat = Chat(engine, Offline())
    yield chat
    await chat.close()


async def said(chat: Chat, text: str) -> list[Event]:
    return [event async for event in chat.say(text)]


def reply(events: list[Event]) -> str:
    return "\n".join(event.text for event in events if isinstance(event, Reply))


async def test_a_read_is_called_answered_and_told(chat: Chat) -> None:
    events = await said(chat, "list jobs")
    assert events[-1] == Ended("done") and not chat.busy
    assert "4 jobs" in reply(events)


async def test_a_write_waits_for_the_person_and_goes_on(chat: Chat, engine: Engine, backend: MemoryBackend) -> None:
    events = []
    async for event in chat.say("cancel job 1"):
        events.append(event)
        if isinstance(event, Waiting):
            assert chat.busy and chat.waiting == list(event.proposals)
            await engine.gate.approve(event.proposals[0], Approval("dialog"))
    assert events[-1] == Ended("done") and backend.job("1").status == "cancelled"


async def test_stop_takes_back_what_was_proposed(chat: Chat, engine: Engine, backend: MemoryBackend) -> None:
    task = asyncio.create_task(said(chat, "cancel job 1"))
    await until(lambda: chat.waiting, 20)
    proposal = chat.waiting[0]
    await chat.stop()
    assert (await task)[-1] == Ended("stopped")
    assert proposal.answer == "withdrawn" and not chat.waiting and backend.sent == []


async def test_something_new_is_answered_and_the_proposal_stays(chat: Chat, engine: Engine) -> None:
    task = asyncio.create_task(said(chat, "cancel job 1"))
    await until(lambda: chat.waiting, 20)
    assert "4 jobs" in reply(await said(chat, "list jobs"))
    assert (await task)[-1] == Ended("done")
    assert len(chat.waiting) == 1


async def test_leaving_the_events_stops_the_turn(chat: Chat) -> None:
    events = chat.say("cancel job 1")
    async for event in events:
        if isinstance(event, Waiting):
            break
    await events.aclose()
    assert not chat.busy and not chat.waiting


class Runaway(Offline):
    """A double of a planner that never ends, or fails."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    async def answer(self, turn: Turn) -> AsyncGenerator[Event, None]:
        if self.error is not None:
            raise self.error
        turn.messages.append({"role": "assistant", "content": [{"type": "tool_use", "id": "x", "name": "y"}]})
        while True:
            async for event in self.calls(turn):
                yield event

    async def calls(self, turn: Turn) -> AsyncGenerator[Event, None]:
        from console.chat.calls import Calls
        from console.chat.events import Call

        async for event in Calls(turn).run([Call("a", "scheduler_list_queues")]):
            yield event


async def test_a_turn_that_never_ends_is_cut(chat: Chat) -> None:
    chat.planner = Runaway()
    events = await said(chat, "go")
    assert events[-1] == Ended("limit") and sum(isinstance(event, Called) for event in events) == MOST_CALLS
    last: dict[str, Any] = chat.messages[-1]
    assert last["role"] == "user" and last["content"][0]["tool_use_id"] == "x" and last["content"][0]["is_error"]


async def test_a_fault_of_a_planner_is_told(chat: Chat) -> None:
    chat.planner = Runaway(ZeroDivisionError("on purpose"))
    *_, failure, ended = await said(chat, "go")
    assert isinstance(failure, Failure) and "on purpose" in failure.message and ended == Ended("failed")
    chat.planner = Offline()
    assert (await said(chat, "list jobs"))[-1] == Ended("done")


async def test_a_person_who_speaks_ends_the_suspension_of_autopilot(chat: Chat, engine: Engine) -> None:
    await said(chat, "list jobs")
    assert engine.gate.agents.untrusted == ["list jobs"]
    await said(chat, "/help")
    assert engine.gate.agents.untrusted == ["list jobs"]  # a command is no word on what was read
    await said(chat, "what is the weather")
    assert engine.gate.agents.untrusted == []


async def test_what_is_too_long_is_refused_whole(chat: Chat) -> None:
    failure, ended = await said(chat, "cancel job 1 " * 10_000)
    assert isinstance(failure, Failure) and ended == Ended("failed") and chat.messages == []
