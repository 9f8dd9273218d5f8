"""A client for the tests of the embedded cluster: it speaks the wire plainly, so that the tests see what is sent."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import httpx

FINAL = ("DONE", "EXIT")


def until(condition: Callable[[], Any], seconds: float = 30.0, what: str = "") -> Any:
    """Poll until the condition holds, and return what it returned; fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"not within {seconds} seconds: {what or condition}"
        time.sleep(0.02)


class Api:
    """Requests with one key. `http` is an httpx client, or Starlette's test client, which is one."""

    def __init__(self, http: httpx.Client, key: str) -> None:
        self.http = http
        self.key = key

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.http.request(method, path, json=body, headers={"authorization": self.key, **named})

    def get(self, path: str) -> Any:
        """The data of a read that has to succeed."""
        answer = self.send("GET", path)
        assert answer.status_code == 200, answer.text
        value = answer.json()
        return value["data"] if isinstance(value, dict) and "data" in value else value

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        """The answer of a write that has to succeed."""
        answer = self.send("POST", path, body, **headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def refused(self, status: int, method: str, path: str, body: Any = None, **headers: str) -> str:
        """The message of a request that has to be refused with that status."""
        answer = self.send(method, path, body, **headers)
        assert answer.status_code == status, f"{answer.status_code}: {answer.text}"
        value = answer.json()
        assert value["code"] == status and value["data"] is None
        return str(value["msg"])

    def submit(self, command: str = "true", **fields: Any) -> int:
        answer = self.post("/xce/v1/jobs", {"queue": "normal", "resreq": "", "command": command, **fields})
        assert answer["code"] == 201
        return int(answer["data"]["jobid"])

    def job(self, number: int) -> dict[str, Any]:
        found: dict[str, Any] = self.get(f"/xce/v1/jobs/{number}")
        return found

    def control(self, number: int, action: str, **fields: Any) -> dict[str, Any]:
        answer = self.post(f"/xce/v1/jobs/{number}/control", {"action": action, **fields})
        assert answer["code"] == 202
        data: dict[str, Any] = answer["data"]
        return data

    def wait(self, number: int, *states: str, seconds: float = 30.0) -> dict[str, Any]:
        """Until the job is in one of the states (final by default)."""
        wanted = states or FINAL
        return until(lambda: (job := self.job(number))["status"] in wanted and job, seconds, f"{number} {wanted}")  # type: ignore[no-any-return]

    def node(self, name: str) -> dict[str, Any]:
        return next(node for node in self.get("/api/admin/nodes") if node["name"] == name)

    def memory_limit_by(self) -> str:
        """The mechanism the first node holds memory limits with."""
        return str(self.get("/xce/v1/hosts")[0]["memLimitBy"])

    def quota(self, name: str, slots: Any, **headers: str) -> dict[str, Any]:
        answer = self.post(f"/api/admin/nodes/{self.node(name)['id']}/quota", {"admin_max_slots": slots}, **headers)
        data: dict[str, Any] = answer["data"]
        return data

    def key_for(self, user: str, role: str) -> Api:
        made = self.post("/xce/v1/apikeys", {"username": user, "role_name": role})
        assert made["code"] == 201
        return Api(self.http, made["data"]["key"])


class FakeNode:
    """A double of a worker: it speaks a node's part of the wire by hand and runs nothing."""

    def __init__(self, admin: Api, join_token: str, name: str, slots: int = 8, **facts: Any) -> None:
        self.name, self.slots = name, slots
        joined = Api(admin.http, join_token).post("/api/node/join", {"name": name, "max_slots": slots})
        self.api = Api(admin.http, joined["token"])
        self.claims = 0
        self.register(**facts)

    def register(self, held: list[str] | None = None, **facts: Any) -> dict[str, Any]:
        body = {"name": self.name, "max_slots": self.slots, "instance": "one", "held": held or [], **facts}
        answer: dict[str, Any] = self.api.post("/api/node/register", body)
        return answer

    def beat(self, *tasks: dict[str, Any], **more: Any) -> dict[str, Any]:
        body = {"active_slots": 0, "max_slots": self.slots, "load": {"r1m": 0.5}, "tasks": list(tasks), **more}
        answer: dict[str, Any] = self.api.post("/api/node/heartbeat", body)
        return answer

    def claim(self, slots: int = 8, number: str | None = None) -> list[dict[str, Any]]:
        self.claims += 1
        body = {"claim": number or f"{self.name}-{self.claims}", "slots": slots}
        tasks: list[dict[str, Any]] = self.api.post("/api/task/claim", body)["tasks"]
        return tasks

    def report(self, task: dict[str, Any], state: str = "done", **fields: Any) -> str:
        body = {"task_id": task["task_id"], "lease": task["lease"], "state": state, **fields}
        if state == "done":
            body.setdefault("exit_code", 0)
        return str(self.api.post("/api/task/report", body)["outcome"])
