"""A double of a worker: it speaks the worker's half of the wire, but runs nothing and does what a test tells it.

Real workers run real jobs at their own pace; a test of an adapter wants a job to start, stop or end now.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx

FACTS: dict[str, Any] = {
    "hostType": "LINUX-x86_64", "hostModel": "Double", "cpuFactor": 1.0, "maxCpus": 64, "cores": 64, "maxMem": 256_000,
    "maxSwap": 8_000, "maxTmp": 100_000, "isServer": True, "resources": ["avx512", "ssd"], "ngpus": 2,
}  # fmt: skip
BEAT = 2.0


@dataclass(slots=True)
class Run:
    """A job it holds: its lease, and the number of the last order it has obeyed."""

    job: int
    lease: str
    order: int = 0
    run_limit: int | None = None


@dataclass
class ScriptedWorker:
    """One worker of one node; thread-safe. A thread sends heartbeats between `start` and `stop`."""

    url: str
    join_token: str
    name: str
    slots: int = 64
    runs: dict[int, Run] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._http = httpx.Client(base_url=self.url, trust_env=False, timeout=20)
        self._instance = uuid4().hex
        self._thread = threading.Thread(target=self._beat_for_ever, daemon=True)
        joined = self._post("/api/node/join", {"name": self.name, "max_slots": self.slots}, self.join_token)
        self.token = str(joined["token"])
        body = {"name": self.name, "instance": self._instance, "max_slots": self.slots, "facts": FACTS,
                "mem_mb": 256_000, "gpus": 2, "users": None, "held": []}  # fmt: skip
        self._post("/api/node/register", body)
        self.beat()

    def _post(self, path: str, body: dict[str, Any], token: str | None = None) -> dict[str, Any]:
        answer = self._http.post(path, json=body, headers={"Authorization": token or self.token})
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(30)
        self._http.close()

    def _beat_for_ever(self) -> None:
        while not self._over.wait(BEAT):
            self.beat()

    def beat(self) -> None:
        """One heartbeat; obeys what it is answered."""
        with self._lock:
            held = [{"lease": r.lease, "order": r.order, "run_limit": r.run_limit} for r in self.runs.values()]
            load = {"r1m": 0.5, "r15m": 0.25, "ut": 0.1, "mem": 200_000, "swp": 8_000, "tmp": 90_000}
            body = {"instance": self._instance, "max_slots": self.slots, "active_slots": len(held), "load": load,
                    "tasks": held}  # fmt: skip
            answer = self._post("/api/node/heartbeat", body)
            for order in answer["orders"]:
                self._obey(order)

    def _obey(self, order: dict[str, Any]) -> None:
        run = next((run for run in self.runs.values() if run.lease == order["lease"]), None)
        if run is None:
            return
        verb = order["verb"]
        if verb == "limit":
            run.run_limit = order["value"]
            return
        run.order = order.get("order", run.order)
        if verb == "drop":
            del self.runs[run.job]
        elif verb == "stop":
            self._report(run, "suspended")
        elif verb == "cont":
            self._report(run, "running")
        else:
            self.end(run.job, signal=15)

    def claim(self, most: int = 1) -> list[int]:
        """Take up to `most` slots' worth of what waits, and say that it runs. Returns the jobs."""
        with self._lock:
            given = self._post("/api/task/claim", {"claim": uuid4().hex, "slots": most})["tasks"]
            started = []
            for task in given:
                job = int(task.get("task_id", task.get("jobid", task.get("id"))))
                run = Run(job, task["lease"], int(task.get("order") or 0), task.get("run_limit"))
                self.runs[job] = run
                self._report(run, "running")
                started.append(job)
            return started

    def end(self, job: int, code: int = 0, signal: int | None = None) -> None:
        """Say that a job is over."""
        with self._lock:
            run = self.runs.pop(job)
            done = code == 0 and signal is None
            usage = {"cpu_seconds": 1.5, "max_memory_bytes": 50_000_000, "limit_by": "measured"}
            codes = {"signal": signal} if signal is not None else {"exit_code": code}
            self._report(run, "done" if done else "exit", **codes, **usage)

    def _report(self, run: Run, state: str, **more: Any) -> None:
        self._post(
            "/api/task/report", {"task_id": run.job, "lease": run.lease, "state": state, "order": run.order, **more}
        )
