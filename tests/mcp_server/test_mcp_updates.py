"""Resource updates: told to who listens, and nothing is watched for nobody."""

from __future__ import annotations

import asyncio

from mcp import Client

from console.engine import Engine
from console.gate import PlanFiles
from console.mcp_server.server import build
from console.mcp_server.updates import FeedBus
from tests.console.waiting import until
from tests.doubles.memory_backend import MemoryBackend


async def test_a_listener_hears_of_a_job_that_changed(engine: Engine, plans: PlanFiles, backend: MemoryBackend) -> None:
    bus = FeedBus(engine)
    heard: list[str] = []
    try:
        async with Client(build(engine, plans, bus), mode="2026-07-28") as session:
            assert not engine.store.state("demo", "job").loaded
            async with session.listen(resource_subscriptions=["pilothouse://demo/job/2"]) as events:

                async def hear() -> None:
                    async for event in events:
                        heard.append(getattr(event, "uri", ""))

                listening = asyncio.create_task(hear())
                try:
                    await until(lambda: engine.store.state("demo", "job").loaded)
                    await until(lambda: heard)
                    seen = len(heard)
                    backend.put(backend.job("1")._replace(status="suspended"))
                    backend.put(backend.job("2")._replace(status="running"))
                    await until(lambda: len(heard) > seen)
                finally:
                    listening.cancel()
    finally:
        await bus.close()
    assert set(heard) == {"pilothouse://demo/job/2"}
