"""A conversation: one turn at a time, stopping, something new while a write waits, limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.chat.events import Called, Ended, Event, Failure, Reply, Waiting
from console.chat.offline import Offline
from console.chat.planner import Turn
from console.chat.session import Chat
from console.chat.turns import MOST_CALLS
from console.engine import Engine
from console.gate import Approval, Grant
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


class ReadsThenWrites:
    """Reads what others wrote, waits to be let on, then makes a write that it was told to make there."""

    name = "reads, then writes"

    def __init__(self) -> None:
        self.has_read, self.may_go_on = asyncio.Event(), asyncio.Event()
        self.states: list[str] = []

    async def answer(self, turn: Turn) -> AsyncGenerator[Event, None]:
        if turn.text != "read":
            yield Ended("done")
            return
        await turn.agent.read("scheduler_list_jobs", {})
        self.has_read.set()
        await self.may_go_on.wait()
        job = {"command": ["true"], "queue": "gpu", "cores": 1, "walltime_seconds": 60}
        self.states.append((await turn.agent.propose("scheduler_submit", job, turn.id))[0].state)
        await turn.agent.read("scheduler_list_nodes", {})
        yield Ended("done")

    async def shorten(self, messages: list[dict[str, Any]], focus: str = "") -> list[dict[str, Any]]:
        return messages


@pytest.mark.parametrize("sentence", ["go on", "/submit true", "only look at my jobs"])
async def test_what_is_said_into_a_turn_ends_no_suspension_of_that_turn(
    chat: Chat, engine: Engine, backend: MemoryBackend, sentence: str
) -> None:
    """The person did not see what was just read, and the turn that read it was not answering them."""
    await engine.gate.agents.engage(Grant(frozenset({"submit"}), 5, 10.0, datetime(2100, 1, 1, tzinfo=UTC)))
    chat.planner = planner = ReadsThenWrites()
    first = asyncio.create_task(said(chat, "read"))
    await planner.has_read.wait()
    second = asyncio.create_task(said(chat, sentence))
    await until(lambda: chat.others_wait, 20)
    planner.may_go_on.set()
    await first
    await until(lambda: second.done() or chat.waiting[1:], 20)
    assert planner.states == ["waiting"] and backend.sent == []
    assert engine.gate.agents.untrusted == ["list nodes"]  # it was read after the person had spoken
    await chat.stop()
    await second


_WORDS = (
    "cancel", "job", "1", "2", "all", "my", "pending", "run", "sleep", "then", "in queue gpu", "watch", "it", "why",
    "and tell me when it ends", "list", "jobs", "only look at", "queue", '"', "|", "/jobs", "/scope", "/watches",
    "/help", "/nonsense", "\x1b[2J", "16G", "on cluster demo", "drain", "n1", "because", "取消", "作业", "运行",
    "，结束后告诉我", "只看", "我的",
)  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(st.sampled_from(_WORDS), min_size=1, max_size=8))
async def test_whatever_is_said_ends_once_and_leaves_a_whole_transcript(engine: Engine, words: list[str]) -> None:
    chat = Chat(engine)
    events = []
    async with asyncio.timeout(60):
        async for event in chat.say(" ".join(words)):
            events.append(event)
            if isinstance(event, Waiting):
                for proposal in event.proposals:
                    await engine.gate.deny(proposal, "no")
    assert [type(event) for event in events].count(Ended) == 1 and isinstance(events[-1], Ended)
    assert not any("\x1b" in repr(event.text) for event in events if isinstance(event, Reply))
    roles = [message["role"] for message in chat.messages]
    assert all(one != two for one, two in pairwise(roles))
    made = [b["id"] for m in chat.messages for b in m["content"] if b["type"] == "tool_use"]
    have = [b["tool_use_id"] for m in chat.messages for b in m["content"] if b["type"] == "tool_result"]
    assert made == have
    await chat.close()


@pytest.mark.parametrize("text", ["", "  \n "])
async def test_nothing_said_is_no_turn(chat: Chat, text: str) -> None:
    assert await said(chat, text) == [Ended("done")] and chat.messages == []


async def test_a_yes_in_the_chat_approves_nothing(chat: Chat, engine: Engine, backend: MemoryBackend) -> None:
    task = asyncio.create_task(said(chat, "cancel job 1"))
    await until(lambda: chat.waiting, 20)
    for word in ("yes", "y", "ok", "approve", "go ahead", "确认", "好"):
        assert (await said(chat, word))[-1] == Ended("done")
    await task
    assert len(chat.waiting) == 1 and backend.sent == []


async def test_what_is_too_long_is_refused_whole(chat: Chat) -> None:
    failure, ended = await said(chat, "cancel job 1 " * 10_000)
    assert isinstance(failure, Failure) and ended == Ended("failed") and chat.messages == []
