"""What loads an embedded cluster for the bench: subscribers that count every event, and workers that run nothing.

Both are doubles that speak the wire; the server they load is the real one in a process of its own.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import httpx

_ID = re.compile(rb"^id: (\d+)$", re.MULTILINE)
_TIMES = re.compile(rb'"(submittime|starttime|endtime)":"([^"]+)"')


class Subscriber(asyncio.Protocol):
    """Reads an event stream; notes the numbers seen and, for job events, the time from change to arrival."""

    def __init__(self, host: str, key: str) -> None:
        self._request = (
            f"GET /xce/v1/events?kinds=job HTTP/1.1\r\nhost: {host}\r\nauthorization: {key}\r\n\r\n".encode()
        )
        self._buffer = b""
        self.ids: list[int] = []
        self.delays: list[float] = []
        self.resets = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        now = time.time()
        self._buffer += data
        whole, mark, rest = self._buffer.rpartition(b"\n\n")
        if not mark:
            return
        self._buffer = rest
        for block in whole.split(b"\n\n"):
            if b"event: reset" in block:
                self.resets += 1
            number = _ID.search(block)
            if number is None or b"data: " not in block:
                continue
            self.ids.append(int(number[1]))
            if len(self.ids) % 7 == 0:  # a sample: the double must not be the slow one
                times = _TIMES.findall(block)
                newest = max(datetime.fromisoformat(text.decode()).timestamp() for _, text in times)
                self.delays.append(now - newest)


class IdleReader(asyncio.Protocol):
    """A subscriber that never reads."""

    def __init__(self, host: str, key: str) -> None:
        self._request = f"GET /xce/v1/events HTTP/1.1\r\nhost: {host}\r\nauthorization: {key}\r\n\r\n".encode()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.pause_reading()
        transport.write(self._request)


class LoadWorker:
    """A node that claims a job at a steady pace and reports it done at once."""

    def __init__(self, http: httpx.AsyncClient, name: str, token: str, pause: float) -> None:
        self.http, self.name, self.pause = http, name, pause
        self.headers = {"authorization": token}
        self.claim_seconds: list[float] = []
        self.jobs: list[int] = []

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = await self.http.post(path, json=body, headers=self.headers)
        answer.raise_for_status()
        value: dict[str, Any] = answer.json()
        return value

    async def start(self) -> None:
        await self.post("/api/node/register", {"name": self.name, "max_slots": 8, "instance": "x", "held": []})
        await self.post("/api/node/heartbeat", {"active_slots": 0, "max_slots": 8, "instance": "x"})

    async def work(self, until: float, first: float) -> None:
        """Claim at `first` seconds from now and then every `pause`. Workers know nothing of each other's clocks:
        a bench that has them all claim at once measures its own queue."""
        begun_at, number = time.monotonic() + first, 0
        while (due := begun_at + number * self.pause) < until:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            number += 1
            begun = time.perf_counter()
            answer = await self.post("/api/task/claim", {"claim": f"{number}", "slots": 1})
            self.claim_seconds.append(time.perf_counter() - begun)
            for task in answer["tasks"]:
                body = {"task_id": task["task_id"], "lease": task["lease"], "state": "done", "exit_code": 0}
                await self.post("/api/task/report", body)
                self.jobs.append(task["task_id"])


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else float("nan")
