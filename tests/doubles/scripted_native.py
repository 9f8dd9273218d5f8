"""A double of a native server whose events, lists and failures a test scripts; everything is in memory.

Where the real embedded server can be made to do it, tests use that; this one does what a real server does rarely.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route


def job_row(number: int, status: str = "PEND", **more: Any) -> dict[str, Any]:
    return {"jobid": number, "user": "ann", "status": status, "jobname": f"job{number}", "queue": "normal", **more}


class ScriptedNative:
    """Its state is public: change it, then `say` or do not say so.

    Attributes:
        fail: what a path is answered with in place of rows, as (status, words).
        events_open: whether the stream is served; else it is answered like `fail`.
        before_list: awaited by each list of jobs after the rows were taken, before the answer leaves.
        greet: whether the stream begins with a comment and its position.
    """

    def __init__(self) -> None:
        self.jobs: dict[int, dict[str, Any]] = {}
        self.log: list[tuple[int, str, str]] = []
        self.fail: dict[str, tuple[int, str]] = {}
        self.parts = ["events", "quota", "logs"]
        self.role = "cluster_admin"
        self.calls: list[str] = []
        self.greet = True
        self.before_list: Any = None
        self._news = asyncio.Event()
        self._cut = asyncio.Event()

    def app(self) -> Starlette:
        paths = {
            "/xce/v1/version": self._version,
            "/xce/v1/whoami": self._whoami,
            "/xce/v1/jobs": self._jobs,
            "/xce/v1/queues": self._queues,
            "/xce/v1/hosts": self._hosts,
            "/xce/v1/events": self._events,
        }
        return Starlette(routes=[Route(path, self._guarded(path, handler)) for path, handler in paths.items()])

    def put(self, row: dict[str, Any], *, say: bool = True) -> None:
        """Make or change a job, and tell of it."""
        kind = "updated" if row["jobid"] in self.jobs else "created"
        self.jobs[row["jobid"]] = row
        if say:
            self.say("job", json.dumps({"kind": kind, "object": row}))

    def remove(self, number: int) -> None:
        self.say("job", json.dumps({"kind": "removed", "object": self.jobs.pop(number)}))

    def say(self, event: str, data: str) -> None:
        """Put an event into the log."""
        number = self.log[-1][0] + 1 if self.log else 1
        self.log.append((number, event, data))
        self._news.set()

    def cut(self) -> None:
        """End all streams."""
        self._cut.set()
        self._cut = asyncio.Event()

    def _guarded(self, path: str, handler: Any) -> Any:
        async def endpoint(request: Request) -> Response:
            self.calls.append(path)
            if (failure := self.fail.get(path)) is not None:
                status, words = failure
                return JSONResponse({"code": status, "msg": words, "data": None, "count": 0}, status)
            answer: Response = await handler(request)
            return answer

        return endpoint

    async def _version(self, request: Request) -> Response:
        return data({"version": "9", "parts": self.parts})

    async def _whoami(self, request: Request) -> Response:
        return data({"user": "ann", "role": self.role})

    async def _jobs(self, request: Request) -> Response:
        rows = [dict(row) for row in self.jobs.values()]
        if self.before_list is not None:
            await self.before_list()
        return data(rows)

    async def _queues(self, request: Request) -> Response:
        return data([{"name": "normal", "status": "Open:Active", "pend": 0, "run": 0}])

    async def _hosts(self, request: Request) -> Response:
        return data([{"hostName": "h1", "status": "ok", "cores": 4, "node": {"name": "h1", "id": 1, "max_slots": 4}}])

    async def _events(self, request: Request) -> Response:
        after = request.headers.get("last-event-id")
        place = int(after) if after else (self.log[-1][0] if self.log else 0)
        return StreamingResponse(self._stream(place, self._cut), media_type="text/event-stream")

    async def _stream(self, place: int, cut: asyncio.Event) -> AsyncIterator[bytes]:
        if self.greet:
            yield f": hello\nid: {place}\n\n".encode()
        while not cut.is_set():
            self._news.clear()
            for number, event, text in [line for line in self.log if line[0] > place]:
                place = number
                yield f"id: {number}\nevent: {event}\ndata: {text}\n\n".encode()
            waits = [asyncio.ensure_future(self._news.wait()), asyncio.ensure_future(cut.wait())]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED, timeout=0.2)
            for wait in waits:
                wait.cancel()


def data(value: Any) -> Response:
    return JSONResponse({"code": 200, "msg": "", "data": value, "count": 1})
