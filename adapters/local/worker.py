"""The worker process: pulls jobs while its quota allows, runs them, reports, obeys.

Order of things: sign in, end and report what an earlier worker left, register, heartbeat; only after the first
answer to a heartbeat is anything claimed.
"""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from adapters.local import cgroups, leftovers, machine, runs
from adapters.local.lockfile import hold
from adapters.local.problem import StartError
from adapters.local.program import install_program
from adapters.local.worker_client import Refused, ServerAway, WorkerClient
from adapters.local.worker_jobs import WorkerJobs

CLAIM_PAUSE = 2.0  # seconds after an empty claim (the native wire)
FENCE = 0.7  # of the lease: without an answer for so long the worker ends its jobs before others are given them


@dataclass(frozen=True, slots=True)
class Work:
    """What a worker is told on its command line. `finish`: on SIGTERM let the jobs end first, else hand them back."""

    url: str
    name: str
    token_file: Path
    state: Path
    slots: int
    gpus: int = 0
    finish: bool = False
    stop_grace: float | None = None
    parent_fd: int | None = None


class Worker:
    """One node's worker, from signing in to its stop."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.client = WorkerClient(work.url, work.token_file, work.state / "node.token")
        self.instance = uuid4().hex
        self.jobs = WorkerJobs(self.client, work.gpus, self._say)
        self.quota: int | None = None
        self.enabled = True
        self.heard = False
        self.heard_at = time.monotonic()
        self.heartbeat_seconds, self.lease_seconds = 5.0, 60.0
        self.leaving = False
        self.stopping = asyncio.Event()
        self.cgroups = cgroups.delegated(cgroups.own_group())
        self.meter = machine.LoadMeter()
        self._said = ""

    # -- what it may

    @property
    def effective(self) -> int:
        """min(quota, physical); nothing before the first heartbeat answer, nor where the node is taken out."""
        if not self.heard or not self.enabled or self.leaving:
            return 0
        return self.work.slots if self.quota is None else min(self.quota, self.work.slots)

    # -- life

    async def run(self) -> None:
        """Until it is told to stop. Raises StartError or Refused for what trying again does not mend."""
        await self._retry(lambda: self.client.sign_in(self.work.name, self.work.slots))
        await self._retry(self._register)
        loops = [asyncio.create_task(loop()) for loop in (self._beat, self._listen, self._pull)]
        stop = asyncio.create_task(self.stopping.wait())
        try:
            done, _ = await asyncio.wait([*loops, stop], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            await self._wind_down()
        finally:
            for loop in (*loops, stop):
                loop.cancel()
            await asyncio.gather(*loops, stop, return_exceptions=True)
            self.jobs.abandon()
            await self.client.close()

    async def _register(self) -> None:
        if not self.client.token:
            await self.client.sign_in(self.work.name, self.work.slots)
        held = await asyncio.to_thread(leftovers.settle, self.work.state / "tasks")
        root = os.geteuid() == 0
        memory = machine.total_memory()
        answer = await self.client.post("/api/node/register", {
            "name": self.work.name, "max_slots": self.work.slots, "instance": self.instance, "facts": self._facts(),
            "users": None if root else [getpass.getuser()], "mem_mb": memory // machine.MB if memory else None,
            "gpus": self.work.gpus, "held": [left.lease for left in held],
        })  # fmt: skip
        self.heartbeat_seconds, self.lease_seconds = float(answer["heartbeat"]), float(answer["lease"])
        self.jobs.place = self._make_place(answer)
        for left in held:
            await self.jobs.report({"task_id": left.task_id, "lease": left.lease, **left.result})
            leftovers.discard(left)

    def _facts(self) -> dict[str, Any]:
        """The machine's, and ours: GPUs to give out, and what holds memory limits."""
        own = {"ngpus": self.work.gpus or None, "memLimitBy": "cgroup" if self.cgroups else "measured"}
        return machine.facts() | {name: value for name, value in own.items() if value is not None}

    def _make_place(self, answer: dict[str, Any]) -> runs.Place:
        logs = Path(answer["logs"])
        if not os.access(logs, os.W_OK | os.X_OK):
            raise StartError(f"cannot write to the logs folder {logs}: run the worker as the user of the server")
        program = install_program(self.work.state / "program")
        grace = float(answer["grace"])
        return runs.Place(
            self.work.state / "tasks", program, logs, grace, f"{self.client.url}/api/task/report", self.cgroups
        )

    async def _retry(self, what: Any) -> None:
        """Try until the server answers; a refused token is read anew from its file."""
        while not self.stopping.is_set():
            try:
                await what()
                self._say("")
                return
            except ServerAway as away:
                self._say(f"{away}; trying again")
            except Refused as refused:
                if refused.status != 401:
                    raise
                self.client.token = ""
                self._say(f"the server refuses the token in {self.work.token_file}: {refused}; reading it again")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    await self.stopping.wait()

    def _say(self, text: str) -> None:
        """One line on stderr when something has changed."""
        if text != self._said:
            self._said = text
            print(f"pilothouse worker {self.work.name}: {text or 'the server answers'}", file=sys.stderr, flush=True)

    # -- the server's word

    async def _beat(self) -> None:
        """A heartbeat every so many seconds; without answers, the fence."""
        while True:
            began = time.monotonic()
            self.jobs.reap()
            try:
                body = {
                    "instance": self.instance, "active_slots": self.jobs.used, "max_slots": self.work.slots,
                    "load": self.meter.read(), "tasks": self.jobs.held(),
                }  # fmt: skip
                self._take(await self.client.post("/api/node/heartbeat", body, timeout=self.heartbeat_seconds + 2))
                self.heard, self.heard_at = True, began
                self._say("")
            except ServerAway as away:
                self._say(f"{away}; what runs goes on")
            except Refused as refused:
                await self._refused(refused)
            if self.jobs.active and time.monotonic() - self.heard_at > self.lease_seconds * FENCE:
                self._say("no answer for too long: ending all jobs, the server gives them out again")
                self.jobs.hand_back(0.0)
            await asyncio.sleep(self.heartbeat_seconds if self.heard else min(1.0, self.heartbeat_seconds))

    async def _refused(self, refused: Refused) -> None:
        if refused.status != 401:
            raise refused
        self._say(f"the server refuses the token: {refused}; put the new one into {self.work.token_file}")
        with contextlib.suppress(StartError):
            self.client.token = self.client.read_token()

    def _take(self, answer: dict[str, Any]) -> None:
        before = self.effective
        quota = answer.get("admin_max_slots")
        self.quota = quota if isinstance(quota, int) else None
        self.enabled = bool(answer.get("enabled", True))
        self.jobs.obey(answer.get("orders", []))
        if not self.heard or self.effective != before:
            self.jobs.changed.set()

    async def _listen(self) -> None:
        """Orders and quotas as soon as they come; the heartbeat alone would do, more slowly."""
        while True:
            if not self.heard:
                await asyncio.sleep(0.05)
                continue
            body = {
                "wait": 20, "admin_max_slots": self.quota, "enabled": self.enabled,
                "tasks": self.jobs.held(),
            }  # fmt: skip
            try:
                self._take(await self.client.post("/api/node/orders", body))
                await asyncio.sleep(0.02)
            except (ServerAway, Refused):
                await asyncio.sleep(1.0)

    # -- work

    async def _pull(self) -> None:
        """Claim while there is room; two seconds after an empty answer, and not at all at the quota."""
        number = uuid4().hex
        while True:
            free = self.effective - self.jobs.used
            if free <= 0:
                self.jobs.changed.clear()
                await self.jobs.changed.wait()
                continue
            try:
                answer = await self.client.post("/api/task/claim", {"claim": number, "slots": free})
            except (ServerAway, Refused):
                await asyncio.sleep(1.0)  # the same number again: what was given is given again
                continue
            number = uuid4().hex
            for task in answer["tasks"]:
                if self.leaving:
                    await self.jobs.give_back(task, f"node {self.work.name} is leaving")
                elif task["lease"] not in self.jobs.active:
                    await self.jobs.start(task)
            if self.leaving:
                self._hand_back()
            if not answer["tasks"]:
                await asyncio.sleep(CLAIM_PAUSE)

    # -- the stop

    async def _wind_down(self) -> None:
        """Let the jobs end, or hand them back: ended here and given out again. A second signal makes it quick."""
        self.leaving = True
        self._say(f"leaving: {'waiting for' if self.work.finish else 'handing back'} {len(self.jobs.active)} jobs")
        self._hand_back()
        self.stopping.clear()
        grace = self.work.stop_grace if self.work.stop_grace is not None else 10.0
        second = asyncio.create_task(self.stopping.wait())
        over = asyncio.create_task(self.jobs.all_over())
        both: set[asyncio.Task[Any]] = {second, over}
        limit = None if self.work.finish else 15.0 + grace
        await asyncio.wait(both, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        for task in both:
            task.cancel()
        with contextlib.suppress(ServerAway, Refused):
            body = {"instance": self.instance, "leaving": True, "tasks": self.jobs.held()}
            await self.client.post("/api/node/heartbeat", body, timeout=2)

    def _hand_back(self) -> None:
        if not self.work.finish:
            self.jobs.hand_back(self.work.stop_grace)


def _orphaned(loop: asyncio.AbstractEventLoop, worker: Worker, fd: int | None) -> None:
    """Who started us is gone."""
    if fd is not None:
        loop.remove_reader(fd)
    worker.stopping.set()


async def _main(work: Work) -> None:
    runs.adopt_orphans()
    worker = Worker(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, worker.stopping.set)
    if work.parent_fd is not None:
        loop.add_reader(work.parent_fd, lambda: _orphaned(loop, worker, work.parent_fd))
    await worker.run()


def run(work: Work) -> int:
    """Work until SIGINT or SIGTERM. Returns the exit code; refusals to start are one line on stderr."""
    try:
        with hold(work.state, "worker"):
            (work.state / "tasks").mkdir(mode=0o700, exist_ok=True)
            asyncio.run(_main(work))
    except (StartError, Refused) as error:
        print(f"pilothouse worker {work.name}: {error}", file=sys.stderr)
        return 1
    return 0
