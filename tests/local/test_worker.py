"""A worker's loops, against a peer that answers from a list: what needs one exact order of events."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from adapters.local.worker import Work, Worker


class LateClaim:
    """A double of the worker's client. Its claim is answered only when the worker is leaving already."""

    token = "t"
    url = "http://127.0.0.1:1"

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.answer = asyncio.Event()
        self.reports: list[dict[str, Any]] = []
        self.reported = asyncio.Event()

    async def post(self, path: str, body: dict[str, Any], timeout: float | None = None) -> dict[str, Any]:
        if path == "/api/task/claim":
            self.asked.set()
            await self.answer.wait()
            return {"tasks": [{"task_id": 7, "lease": "L7", "cores": 1, "gpus": 0}]}
        assert path == "/api/task/report"
        self.reports.append(body)
        self.reported.set()
        return {}


async def test_a_job_that_is_claimed_while_the_worker_leaves_is_given_back_unstarted(tmp_path: Path) -> None:
    worker = Worker(Work("http://127.0.0.1:1", "node1", tmp_path / "token", tmp_path, 4, finish=True))
    await worker.client.close()
    peer = LateClaim()
    worker.client = worker.jobs.client = peer  # type: ignore[assignment]
    worker.heard = True
    pull = asyncio.create_task(worker._pull())
    await peer.asked.wait()
    worker.leaving = True
    peer.answer.set()
    async with asyncio.timeout(20):
        await peer.reported.wait()
    pull.cancel()
    await asyncio.gather(pull, return_exceptions=True)
    [report] = peer.reports
    assert report == {"task_id": 7, "lease": "L7", "state": "lost", "reason": "node node1 is leaving"}
    assert not worker.jobs.active
