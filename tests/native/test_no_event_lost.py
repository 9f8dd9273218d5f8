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
from tests.doubles.tcp_proxy import proxy_to

JOBS = 1000
DEADLINE = 100.0


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

        await asyncio.gather(*(some(JOBS // 20) for _ in range(20)))
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


class Raw:
    """What the stream itself has brought."""

    def __init__(self) -> None:
        self.seen: list[int] = []
        self.losses = 0
        self.opened = asyncio.Event()

    async def follow(self, url: str, key: str) -> None:
        async with httpx.AsyncClient(trust_env=False) as client:
            stream = EventStream(
                client,
                lambda: httpx.URL(f"{url}/xce/v1/events"),
                lambda: {"Authorization": key},
                lambda status, body: pytest.fail(f"{status} {body!r}"),
                sleep=soon,
            )
            async for item in stream.items():
                if isinstance(item, Event):
                    assert item.id is not None and item.kind != "reset"
                    self.seen.append(int(item.id))
                elif isinstance(item, Lost):
                    self.losses += 1
                else:
                    self.opened.set()


async def test_nothing_is_lost_and_nothing_is_doubled(cluster: EmbeddedCluster) -> None:
    """A watch and a bare stream, both cut at random, while a thousand jobs are made."""
    watched, raw = Watched(), Raw()
    async with proxy_to(cluster.url) as proxy:
        reader, writer = open_native("c", proxy.url, fixed_token(cluster.admin_key), sleep=soon)

        async def watch() -> None:
            async for item in reader.watch(InterestCell(Interest(kinds=frozenset({"job"})))):
                watched.take(item)

        tasks = [asyncio.create_task(watch()), asyncio.create_task(raw.follow(proxy.url, cluster.admin_key))]
        try:
            await until(lambda: watched.live.is_set() and raw.opened.is_set())
            proxy.cut_randomly(Random(3), 1, 8000)
            proxy.cut()
            made = await submit_all(cluster)
            await until(lambda: made <= watched.rows.keys() and len(raw.seen) >= JOBS)
            proxy.cut_after = lambda: None
            fresh = {job.id: job for job in await reader.list_jobs()}
            await until(lambda: watched.rows == fresh)
        finally:
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            await writer.close()
            await reader.close()
    assert all(isinstance(result, asyncio.CancelledError) for result in results), results
    assert len(made) == JOBS and proxy.cuts > 40 and watched.losses > 20 and raw.losses > 20
    assert watched.doubles == [] and {id for id in made if watched.jobs[id] != 1} == set()
    assert watched.snapshots == 1, "after a cut the stream is resumed, not listed again"
    assert raw.seen == list(range(raw.seen[0], raw.seen[0] + len(raw.seen))), "the log has no gap and no repetition"
