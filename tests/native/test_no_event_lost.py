"""1,000 events of the real server while the stream is cut in the middle of bytes: none lost, none doubled."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import httpx
import pytest

from adapters.base import Delta, Interest, InterestCell, SourceState
from adapters.events import Event, EventStream, Lost
from adapters.local.launch import EmbeddedCluster, launch
from adapters.model import Job
from adapters.native import open_native
from adapters.native.token import fixed_token
from tests.doubles.tcp_proxy import Proxy, proxy_to

JOBS = 1000
DEADLINE = 60.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with launch(workers=0) as running:
        yield running


async def soon(seconds: float) -> None:
    """The pauses between attempts, shortened."""
    await asyncio.sleep(min(seconds, 0.02))


async def submit_all(cluster: EmbeddedCluster) -> set[str]:
    """Each submission is one event `created`."""
    made: set[str] = set()
    headers = {"Authorization": cluster.admin_key}
    async with httpx.AsyncClient(base_url=cluster.url, headers=headers, trust_env=False, timeout=30) as http:

        async def some(count: int) -> None:
            for _ in range(count):
                answer = await http.post("/xce/v1/jobs", json={"command": "true", "queue": "normal", "hold": True})
                made.add(str(answer.json()["data"]["jobid"]))
                await asyncio.sleep(0.001)

        await asyncio.gather(*(some(JOBS // 4) for _ in range(4)))
    return made


class Watched:
    """What a watch has told."""

    def __init__(self) -> None:
        self.jobs: Counter[str] = Counter()
        self.rows: dict[str, Job] = {}
        self.doubles: list[Job] = []
        self.snapshots = 0
        self.losses = 0
        self.live = asyncio.Event()

    def take(self, item: Any) -> None:
        if isinstance(item, SourceState):
            self.losses += item.label in ("stale", "failed")
            if item.label == "live":
                self.live.set()
            return
        assert isinstance(item, Delta)
        self.snapshots += bool(item.reset)
        for row in item.upserts:
            assert isinstance(row, Job)
            if self.rows.get(row.id) == row and not item.snapshot:
                self.doubles.append(row)
            self.rows[row.id] = row
            self.jobs[row.id] += 1


async def until(condition: Any) -> None:
    deadline = asyncio.get_running_loop().time() + DEADLINE
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, "not within the time"
        await asyncio.sleep(0.02)


async def test_the_watch_loses_and_doubles_nothing(cluster: EmbeddedCluster) -> None:
    async with proxy_to(cluster.url) as proxy:
        reader, writer = open_native("c", proxy.url, fixed_token(cluster.admin_key), sleep=soon)
        watched = Watched()

        async def follow() -> None:
            async for item in reader.watch(InterestCell(Interest(kinds=frozenset({"job"})))):
                watched.take(item)

        task = asyncio.create_task(follow())
        try:
            await until(watched.live.is_set)
            proxy.cut_randomly(Random(3), 1, 6000)
            proxy.cut()
            made = await submit_all(cluster)
            await until(lambda: made <= watched.rows.keys())
            proxy.cut_after = lambda: None
            fresh = {job.id: job for job in await reader.list_jobs()}
            await until(lambda: watched.rows == fresh)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await writer.close()
            await reader.close()
        assert len(made) == JOBS
        assert watched.doubles == []
        assert {id for id in made if watched.jobs[id] != 1} == set()
        assert proxy.cuts > 20 and watched.losses > 20
        assert watched.snapshots == 1, "after a cut the stream is resumed, not listed again"


async def follow_stream(proxy: Proxy, key: str, seen: list[int], losses: list[Lost], opened: asyncio.Event) -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        url = httpx.URL(f"{proxy.url}/xce/v1/events")
        stream = EventStream(
            client, lambda: url, lambda: {"Authorization": key}, lambda s, b: pytest.fail(str(b)), sleep=soon
        )
        async for item in stream.items():
            if isinstance(item, Event):
                assert item.id is not None and item.kind != "reset"
                seen.append(int(item.id))
            elif isinstance(item, Lost):
                losses.append(item)
            else:
                opened.set()


async def test_the_stream_brings_each_event_of_the_log_once(cluster: EmbeddedCluster) -> None:
    seen: list[int] = []
    losses: list[Lost] = []
    opened = asyncio.Event()
    async with proxy_to(cluster.url) as proxy:
        task = asyncio.create_task(follow_stream(proxy, cluster.admin_key, seen, losses, opened))
        try:
            await until(opened.is_set)
            first = asyncio.create_task(submit_all(cluster))
            await until(lambda: seen)
            proxy.cut_randomly(Random(5), 1, 9000)
            proxy.cut()
            made = await first
            await until(lambda: len(seen) >= len(made))
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    assert seen == list(range(seen[0], seen[0] + len(seen))), "the numbers of the log have no gap and no repetition"
    assert len(losses) > 20
