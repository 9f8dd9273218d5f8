"""Calls of a turn: reads and writes, waiting, repeats, and exactly one result for each."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from adapters.base import Unavailable
from console.agent import Agent
from console.audit import AuditLog
from console.chat.calls import MOST_CHARACTERS, NOT_ANSWERED, Calls
from console.chat.events import Answered, Call, Called, Event, Waiting
from console.chat.follow import Follow
from console.chat.planner import Turn
from console.engine import Engine
from console.gate import Approval
from tests.console.waiting import until
from tests.doubles.memory_backend import MemoryBackend

CANCEL = "scheduler_cancel"


@pytest.fixture
def turn(engine: Engine) -> Turn:
    return Turn("s.1", "say", Agent(engine, "chat"))


async def carry_out(turn: Turn, *calls: Call) -> tuple[list[Event], list[dict[str, Any]]]:
    made = Calls(turn)
    events = [event async for event in made.run(calls)]
    return events, made.results


async def test_reads_give_one_result_each_in_the_order_of_the_calls(turn: Turn) -> None:
    calls = [Call("a", "scheduler_list_jobs"), Call("b", "scheduler_get_job", {"id": "77"}), Call("c", "scheduler_x")]
    events, results = await carry_out(turn, *calls)
    assert [event.call.id for event in events if isinstance(event, Called)] == ["a", "b", "c"]
    assert [result["tool_use_id"] for result in results] == ["a", "b", "c"]
    assert [result.get("is_error", False) for result in results] == [False, True, True]
    listed, missing, unknown = (json.loads(result["content"]) for result in results)
    assert listed["total"] == 4
    assert (missing["code"], missing["message"]) == ("not_found", "There is no job 77.")
    assert unknown["code"] == "invalid_call" and "scheduler_list_jobs" in unknown["hint"]


async def test_empty_and_failed_never_look_alike(turn: Turn, backend: MemoryBackend) -> None:
    empty = Call("a", "scheduler_list_jobs", {"filter": {"queue": "nowhere"}})
    (_, answered), (result,) = await carry_out(turn, empty)
    assert isinstance(answered, Answered) and (answered.ok, answered.summary) == (True, "0 jobs")
    assert json.loads(result["content"])["jobs"] == [] and "is_error" not in result
    backend.error = Unavailable("the controller is silent", "Try later.")
    (_, answered), (result,) = await carry_out(turn, empty)
    assert isinstance(answered, Answered) and not answered.ok and "the controller is silent" in answered.summary
    assert result["is_error"] and json.loads(result["content"])["hint"] == "Try later."


async def test_writes_of_one_message_are_proposed_together_and_answered_one_by_one(
    turn: Turn, engine: Engine, backend: MemoryBackend
) -> None:
    calls = Calls(turn)
    seen: list[Event] = []

    async def watch() -> None:
        async for event in calls.run([Call("a", CANCEL, {"ids": ["1"]}), Call("b", CANCEL, {"ids": ["2"]})], "I would"):
            seen.append(event)

    task = asyncio.create_task(watch())
    inbox = engine.gate.agents.inbox
    await until(lambda: any(isinstance(event, Waiting) for event in seen), 20)
    assert len(inbox) == 2 and backend.sent == []
    first, second = inbox.waiting
    assert (first.said, first.turn) == ("I would", "s.1")
    await engine.gate.deny(second, "not that one")
    await engine.gate.approve(first, Approval("dialog"))
    await task
    yes, no = (json.loads(result["content"]) for result in calls.results)
    assert (yes["state"], yes["result"]) == ("sent", "accepted")
    assert no["state"] == "declined" and "not that one" in no["note"]
    assert [event.ok for event in seen if isinstance(event, Answered)] == [True, True]


async def test_something_new_ends_the_wait_and_leaves_the_proposal(turn: Turn, engine: Engine) -> None:
    calls = Calls(turn)
    events = []
    async for event in calls.run([Call("a", CANCEL, {"ids": ["1"]})]):
        events.append(event)
        if isinstance(event, Waiting):
            turn.spoken.set()
    assert calls.interrupted and len(engine.gate.agents.inbox) == 1
    assert NOT_ANSWERED in json.loads(calls.results[0]["content"])["note"]
    assert isinstance(events[-1], Answered) and events[-1].summary == NOT_ANSWERED


async def test_stopping_the_wait_leaves_nothing_running(turn: Turn, engine: Engine) -> None:
    async def run() -> None:
        async for _ in Calls(turn).run([Call("a", CANCEL, {"ids": ["1"]})]):
            pass

    task = asyncio.create_task(run())
    await until(lambda: len(engine.gate.agents.inbox), 20)
    before = asyncio.all_tasks()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert len(asyncio.all_tasks()) < len(before)


async def test_a_write_is_made_once_a_turn(turn: Turn, audit: AuditLog) -> None:
    dry = {"command": ["true"], "dry_run": True}
    _, (first,) = await carry_out(turn, Call("a", "scheduler_submit", dry))
    assert json.loads(first["content"])["state"] == "shown"
    _, (again,) = await carry_out(turn, Call("b", "scheduler_submit", dry))
    assert again["is_error"] and "repeat" in json.loads(again["content"])["message"]


async def test_a_write_that_failed_may_be_tried_once_more(turn: Turn, backend: MemoryBackend) -> None:
    backend.error = Unavailable("busy")
    told = []
    for number in range(3):
        _, (result,) = await carry_out(turn, Call(str(number), CANCEL, {"ids": ["1"]}))
        told.append(json.loads(result["content"])["message"])
    assert told[:2] == ["busy", "busy"] and "failed twice" in told[2]


async def test_two_calls_with_one_id_have_one_result(turn: Turn) -> None:
    events, results = await carry_out(turn, Call("a", "scheduler_list_jobs"), Call("a", "scheduler_list_nodes"))
    assert len(results) == 1 and "is_error" not in results[0]
    assert [event.ok for event in events if isinstance(event, Answered)] == [False, True]


async def test_what_one_message_gives_is_bounded(turn: Turn, engine: Engine, backend: MemoryBackend) -> None:
    backend.put(*(backend.job("1")._replace(id=str(n), name="n" * 110) for n in range(1000, 1200)))
    calls = [Call(str(n), "scheduler_list_jobs", {"limit": 200}) for n in range(6)]
    _, results = await carry_out(turn, *calls)
    assert len(results) == 6 and sum(len(result["content"]) for result in results) < MOST_CHARACTERS * 1.1
    assert results[-1]["is_error"] and "limit" in json.loads(results[-1]["content"])["hint"]


async def test_a_wait_that_ran_out_becomes_a_watch(turn: Turn) -> None:
    wanted: list[Follow] = []
    turn.follow = lambda wish: wanted.append(wish) is None
    _, (result,) = await carry_out(turn, Call("a", "scheduler_wait", {"id": "1", "seconds": 0.1}))
    assert wanted == [Follow("demo", "1", "finished")]
    assert "by itself" in json.loads(result["content"])["note"]
