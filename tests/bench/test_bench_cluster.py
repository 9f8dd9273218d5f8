"""The embedded cluster under load: events to many subscribers, slow ones, and a hundred thousand queued jobs.

Counts fail the bench (no event lost, none doubled, no job given out twice); seconds are printed beside their budgets.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from adapters.local import jobs, seed
from adapters.local.database import Database, Tx
from adapters.local.launch import EmbeddedCluster, launch
from tests.bench.cluster_load import IdleReader, LoadWorker, Subscriber, percentile

pytestmark = [pytest.mark.bench, pytest.mark.timeout(600)]
SECONDS, SUBSCRIBERS, SLOW, WORKERS, EVENTS_A_SECOND = 10.0, 100, 10, 50, 200


def show(name: str, value: float, budget: float, unit: str = "ms") -> None:
    print(f"  {name:<58} {value:9.1f} {unit}   (budget {budget:g} {unit})")


async def _load(cluster: EmbeddedCluster, slow: int) -> tuple[list[Subscriber], list[LoadWorker], list[int]]:
    host, port = cluster.url.removeprefix("http://").split(":")
    loop = asyncio.get_running_loop()
    join = (cluster.data_dir / seed.JOIN_TOKEN).read_text().strip()
    limits = httpx.Limits(max_connections=100, max_keepalive_connections=100)
    async with httpx.AsyncClient(base_url=cluster.url, limits=limits, timeout=30, trust_env=False) as http:
        admin = {"authorization": cluster.admin_key}
        workers = []
        # a job makes three events: submitted, started, done
        pause = WORKERS / (EVENTS_A_SECOND / 3)
        for number in range(WORKERS):
            body = {"name": f"w{slow}-{number}", "max_slots": 8}
            made = (await http.post("/api/node/join", json=body, headers={"authorization": join})).json()
            workers.append(LoadWorker(http, body["name"], made["token"], pause))
            await workers[-1].start()
        readers = [(await loop.create_connection(lambda: Subscriber(host, cluster.admin_key), host, int(port)))[1]
                   for _ in range(SUBSCRIBERS)]  # fmt: skip
        idle = [(await loop.create_connection(lambda: IdleReader(host, cluster.admin_key), host, int(port)))[1]
                for _ in range(slow)]  # fmt: skip
        await asyncio.sleep(1.0)
        submitted: list[int] = []

        async def submit() -> None:
            begun = time.monotonic()
            while (due := begun + len(submitted) * 3 / EVENTS_A_SECOND) < begun + SECONDS:
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                answer = await http.post("/xce/v1/jobs", json={"command": "true", "queue": "normal"}, headers=admin)
                submitted.append(answer.json()["data"]["jobid"])

        until = time.monotonic() + SECONDS
        await asyncio.gather(submit(), *(w.work(until, n * pause / WORKERS) for n, w in enumerate(workers)))
        due = len(submitted) + 2 * sum(len(worker.jobs) for worker in workers)
        deadline = time.monotonic() + 20
        while any(len(r.ids) < due for r in readers) and time.monotonic() < deadline:  # noqa: ASYNC110 - a double has no event
            await asyncio.sleep(0.2)
        for protocol in (*readers, *idle):
            protocol.transport.close()
        return readers, workers, submitted


@pytest.mark.parametrize("slow", [0, SLOW])
def test_events_to_many_subscribers(slow: int) -> None:
    with launch(0, serve_options=("--heartbeat", "5", "--lease", "600", "--down-after", "500")) as cluster:
        assert cluster.server is not None
        process = psutil.Process(cluster.server.popen.pid)
        before = sum(process.cpu_times()[:2])
        readers, workers, submitted = asyncio.run(_load(cluster, slow))
        spent = sum(process.cpu_times()[:2]) - before
    seen = readers[0].ids
    delays = [delay for reader in readers for delay in reader.delays]
    given = [job for worker in workers for job in worker.jobs]
    rate = len(seen) / SECONDS
    print(f"\n  {len(submitted)} jobs, {rate:.0f} job events a second to {SUBSCRIBERS} subscribers, {slow} slow ones,"
          f" {WORKERS} workers")  # fmt: skip
    show("commit to subscriber, median", statistics.median(delays) * 1000, 100)
    show("commit to subscriber, p95", percentile(delays, 0.95) * 1000, 100)
    show("claim under this load, p95", percentile([s for w in workers for s in w.claim_seconds], 0.95) * 1000, 20)
    sent = len(seen) * SUBSCRIBERS
    show("server CPU for 1,000 events to one subscriber each", spent / sent * 1e6, 20)
    assert sum(reader.resets for reader in readers) == 0
    assert all(reader.ids == seen for reader in readers), "every subscriber has the same events, none lost, none twice"
    assert len(set(seen)) == len(seen) and seen == sorted(seen)
    assert len(given) == len(set(given)), "no job was given out twice"
    assert len(seen) >= len(submitted) + 2 * len(given)


def _queue_jobs(folder: Path, count: int) -> None:
    """Fill the database of a stopped server through the store's own functions, a thousand jobs a transaction."""
    seed.set_up(folder)
    database = Database(folder)

    def portion(tx: Tx, first: int) -> None:
        for number in range(first, first + 1000):
            body: dict[str, Any] = {"command": f"run {number}", "priority": number % 7, "cores": 1 + number % 3}
            wish = jobs.check_submission({**body, "queue": ("short", "normal", "long")[number % 3]})
            jobs.submit(tx, f"user{number % 20}", wish)

    for first in range(0, count, 1000):
        database.now_sync(lambda tx, first=first: portion(tx, first))  # type: ignore[misc]
    database._connection.close()
    database._readers.shutdown()


def test_a_hundred_thousand_queued_jobs() -> None:
    with launch(0, serve_options=("--heartbeat", "5", "--lease", "600", "--down-after", "500")) as cluster:
        assert cluster.server is not None
        cluster.server.end()
        assert cluster.server.wait(20)
        _queue_jobs(cluster.data_dir, 100_000)
        begun = time.perf_counter()
        cluster.restart_server()
        ready = time.perf_counter() - begun
        claims, pages, total, given = asyncio.run(_ask(cluster))
    print("\n  100,000 queued jobs")
    show("restart until it answers", ready, 5, "s ")
    show("claim of 8 slots, p95", percentile(claims, 0.95) * 1000, 20)
    show("page of 1,000 rows, p95", percentile(pages, 0.95) * 1000, 100)
    assert total == 100_000
    assert len(given) == len(set(given)) > 300


async def _ask(cluster: EmbeddedCluster) -> tuple[list[float], list[float], int, list[int]]:
    join = (cluster.data_dir / seed.JOIN_TOKEN).read_text().strip()
    async with httpx.AsyncClient(base_url=cluster.url, timeout=60, trust_env=False) as http:
        admin = {"authorization": cluster.admin_key}
        pages, total = [], 0
        for after in range(0, 100_000, 5_000):
            begun = time.perf_counter()
            answer = await http.get(f"/xce/v1/jobs?limit=1000&after={after}", headers=admin)
            pages.append(time.perf_counter() - begun)
            total = max(total, answer.json()["count"])
        claims, given = [], []
        for number in range(100):
            body = {"name": f"n{number}", "max_slots": 8}
            made = (await http.post("/api/node/join", json=body, headers={"authorization": join})).json()
            worker = LoadWorker(http, body["name"], made["token"], 0)
            await worker.start()
            begun = time.perf_counter()
            answer_json = await worker.post("/api/task/claim", {"claim": "1", "slots": 8})
            claims.append(time.perf_counter() - begun)
            given += [task["task_id"] for task in answer_json["tasks"]]
        return claims, pages, total, given
