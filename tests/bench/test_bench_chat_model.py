"""The budget of a streamed answer: 900 tokens through the SDK, our reading and the planner, in CPU time of ours.

What fails is the ratio to what the SDK's own reader takes for the same stream on the same machine; seconds are told.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from console.agent import Agent
from console.audit import AuditLog
from console.chat.endpoint import Endpoint
from console.chat.events import Ended, Event, Piece
from console.chat.model import ModelPlanner
from console.chat.planner import Turn
from console.chat.transcript import add_text
from console.engine import Engine
from tests.console.chat.endpoints import REQUEST, endpoint
from tests.console.conftest import config
from tests.doubles.memory_backend import MemoryBackend
from tests.doubles.messages_api import MessagesApi, message, raw, sse, text

pytestmark = pytest.mark.bench

TOKENS = 900
ROUNDS = 5


async def cpu(work: Callable[[], Awaitable[object]]) -> float:
    """The least CPU seconds of this process for `work`, of some rounds."""
    found = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        await work()
        found.append(time.process_time() - begun)
    return min(found)


async def by_the_sdk(at: Endpoint) -> None:
    async with at.client() as client, client.messages.stream(**REQUEST) as stream:  # type: ignore[arg-type]
        async for _ in stream:
            pass


async def by_the_planner(at: Endpoint, engine: Engine) -> list[Event]:
    turn = Turn("s.1", "go", Agent(engine, "chat"))
    add_text(turn.messages, "go")
    async with aclosing(ModelPlanner(at).answer(turn)) as events:
        return [event async for event in events]


async def test_900_streamed_tokens(tmp_path: Path) -> None:
    words = "".join(f"w{n % 1000:03} " for n in range(TOKENS))
    body = b"".join(map(sse, message(text(words, size=5))))
    api = MessagesApi(*[raw(body)] * (2 * ROUNDS + 2))
    audit = AuditLog(tmp_path / "audit")
    async with (
        endpoint(api) as at,
        Engine(config(), feeds=False, audit=audit, open_with=MemoryBackend().open) as engine,
    ):
        await by_the_sdk(at)
        events = await by_the_planner(at, engine)
        assert sum(isinstance(event, Piece) for event in events) == TOKENS and events[-1] == Ended("done")
        theirs = await cpu(lambda: by_the_sdk(at))
        ours = await cpu(lambda: by_the_planner(at, engine))
    print(f"\n{TOKENS} tokens: {ours * 1000:.0f} ms of CPU, the SDK's own reader {theirs * 1000:.0f} ms")
    assert ours < theirs
