"""A double of a native server of before the optional parts: no version, no events, no node service, no modify, no keys.

Its rows come in the columnar forms that live servers were seen to use, and have the fields of then only.
"""

from __future__ import annotations

from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

TOKEN = "xce_ak_old"


def answer(data: Any, code: int = 200, status: int = 200, msg: str = "") -> Response:
    count = len(data) if isinstance(data, list) else 1
    return JSONResponse({"code": code, "msg": msg, "data": data, "count": count}, status)


class OldServer:
    """Its jobs, by number."""

    def __init__(self) -> None:
        self.jobs: dict[int, dict[str, Any]] = {}
        self.calls: list[str] = []
        for number, (user, status) in enumerate([("ann", "RUN"), ("bob", "PEND"), ("ann", "DONE")], 101):
            self.add(number, user, status)

    def add(self, number: int, user: str, status: str) -> None:
        self.jobs[number] = {
            "jobid": number, "user": user, "status": status, "jobname": f"job{number}", "queue": "normal",
            "projectname": "default", "command": "sleep 60", "resreq": "", "submittime": 1_700_000_000 + number,
            "jobdescription": "",
        }  # fmt: skip

    def app(self) -> Starlette:
        routes = [
            Route("/xce/v1/jobs", self._list, methods=["GET"]),
            Route("/xce/v1/jobs", self._submit, methods=["POST"]),
            Route("/xce/v1/jobs/{id}", self._get),
            Route("/xce/v1/jobs/{id}/control", self._control, methods=["POST"]),
            Route("/xce/v1/hosts", self._hosts),
            Route("/xce/v1/queues", self._queues),
        ]
        return Starlette(routes=routes)

    def _known(self, request: Request) -> Response | None:
        self.calls.append(f"{request.method} {request.url.path}")
        if request.headers.get("authorization") != TOKEN:
            return answer(None, 401, 401, "invalid token")
        return None

    async def _list(self, request: Request) -> Response:
        """{keys, values} a row."""
        if (refused := self._known(request)) is not None:
            return refused
        if request.query_params.get("filter"):
            return answer(None, 400, 400, "filter is not supported")
        return answer([{"keys": list(row), "values": list(row.values())} for row in self.jobs.values()])

    async def _get(self, request: Request) -> Response:
        """A list of {key, value}."""
        if (refused := self._known(request)) is not None:
            return refused
        row = self.jobs.get(int(request.path_params["id"]))
        if row is None:
            return answer(None, 404, 404, "No matching job found")
        return answer([{"key": key, "value": value} for key, value in row.items()])

    async def _submit(self, request: Request) -> Response:
        if (refused := self._known(request)) is not None:
            return refused
        number = max(self.jobs) + 1
        self.add(number, "ann", "PEND")
        return answer({"jobid": float(number), "message": f"Job <{number}> is submitted."}, 201)

    async def _control(self, request: Request) -> Response:
        if (refused := self._known(request)) is not None:
            return refused
        body = await request.json()
        row = self.jobs[int(request.path_params["id"])]
        waits = row["status"] in ("PEND", "PSUSP")
        states = {"kill": "EXIT", "stop": "PSUSP" if waits else "USUSP", "resume": "PEND" if waits else "RUN"}
        row["status"] = states[body["action"]]
        return answer({"job_status": 4.0}, 202)

    async def _hosts(self, request: Request) -> Response:
        """One object of equally long lists."""
        if (refused := self._known(request)) is not None:
            return refused
        return answer(
            {"hostName": ["h1", "h2"], "hostType": ["X86_64", "X86_64"], "maxCpus": [16, 32], "maxMem": [64000, 1]}
        )

    async def _queues(self, request: Request) -> Response:
        if (refused := self._known(request)) is not None:
            return refused
        return answer([{"name": "normal", "status": "Open:Active"}])
