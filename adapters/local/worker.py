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

from adapters.local import leftovers, machine, runs
from adapters.local.lockfile import hold
from adapters.local.problem import StartError
from adapters.local.worker_client import Refused, ServerAway, WorkerClient

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
        self.place: runs.Place | None = None
        self.active: dict[str, runs.Run] = {}
        self.quota: int | None = None
        self.enabled = True
        self.heard = False
        self.heard_at = time.monotonic()
        self.heartbeat_seconds, self.lease_seconds = 5.0, 60.0
        self.leaving = False
        self.stopping = asyncio.Event()
        self.changed = asyncio.Event()
        self.meter = machine.LoadMeter()
        self._following: set[asyncio.Task[None]] = set()
        self._said = ""

    # -- what it may

    @property
    def effective(self) -> int:
        """min(quota, physical); nothing before the first heartbeat answer, nor where the node is taken out."""
        if not self.heard or not self.enabled or self.leaving:
            return 0
        return self.work.slots if self.quota is None else min(self.quota, self.work.slots)

    @property
    def used(self) -> int:
        return sum(run.slots for run in self.active.values())

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
            await self._end_all()
            await self.client.close()

    async def _register(self) -> None:
        if not self.client.token:
            await self.client.sign_in(self.work.name, self.work.slots)
        held = await asyncio.to_thread(leftovers.settle, self.work.state / "tasks")
        root = os.geteuid() == 0
        memory = machine.total_memory()
        answer = await self.client.post("/api/node/register", {
            "name": self.work.name, "max_slots": self.work.slots, "instance": self.instance, "facts": machine.facts(),
            "users": None if root else [getpass.getuser()], "mem_mb": memory // machine.MB if memory else None,
            "gpus": self.work.gpus, "held": [left.lease for left in held],
        })  # fmt: skip
        self.heartbeat_seconds, self.lease_seconds = float(answer["heartbeat"]), float(answer["lease"])
        self.place = self._make_place(answer)
        for left in held:
            await self._report({"task_id": left.task_id, "lease": left.lease, **left.result})
            leftovers.discard(left)

    def _make_place(self, answer: dict[str, Any]) -> runs.Place:
        logs = Path(answer["logs"])
        if not os.access(logs, os.W_OK | os.X_OK):
            raise StartError(f"cannot write to the logs folder {logs}: run the worker as the user of the server")
        program = runs.install_program(self.work.state / "program")
        grace = float(answer["grace"])
        return runs.Place(self.work.state / "tasks", program, logs, grace, f"{self.client.url}/api/task/report")

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
                await asyncio.wait_for(self.stopping.wait(), 1.0)

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
            try:
                body = {
                    "instance": self.instance, "active_slots": self.used, "max_slots": self.work.slots,
                    "load": self.meter.read(), "tasks": [run.held() for run in self.active.values()],
                }  # fmt: skip
                self._take(await self.client.post("/api/node/heartbeat", body, timeout=self.heartbeat_seconds + 2))
                self.heard, self.heard_at = True, began
                self._say("")
            except ServerAway as away:
                self._say(f"{away}; {len(self.active)} jobs go on")
            except Refused as refused:
                await self._refused(refused)
            if self.active and time.monotonic() - self.heard_at > self.lease_seconds * FENCE:
                self._say("no answer for too long: ending all jobs, the server gives them out again")
                for run in self.active.values():
                    run.tell({"end": "lost", "grace": 0})
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
        for order in answer.get("orders", []):
            run = self.active.get(order["lease"])
            if run is not None:
                run.obey(order)
        if not self.heard or self.effective != before:
            self.changed.set()

    async def _listen(self) -> None:
        """Orders and quotas as soon as they come; the heartbeat alone would do, more slowly."""
        while True:
            if not self.heard:
                await asyncio.sleep(0.05)
                continue
            body = {
                "wait": 20, "admin_max_slots": self.quota, "enabled": self.enabled,
                "tasks": [run.held() for run in self.active.values()],
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
            free = self.effective - self.used
            if free <= 0:
                self.changed.clear()
                await self.changed.wait()
                continue
            try:
                answer = await self.client.post("/api/task/claim", {"claim": number, "slots": free})
            except (ServerAway, Refused):
                await asyncio.sleep(1.0)  # the same number again: what was given is given again
                continue
            number = uuid4().hex
            for task in answer["tasks"]:
                if task["lease"] not in self.active:
                    await self._start(task)  # also while leaving: it is ours until it is handed back
            if self.leaving:
                self._hand_back()
            if not answer["tasks"]:
                await asyncio.sleep(CLAIM_PAUSE)

    async def _start(self, task: dict[str, Any]) -> None:
        assert self.place is not None
        run = runs.Run(task, self.place.tasks / task["lease"], gpus=self._free_gpus(task["gpus"]))
        self.active[run.lease] = run
        try:
            await runs.launch(self.place, run, self.client.token)
            follow = self._follow(run)
        except (runs.Unrunnable, OSError) as error:
            failed = {"state": "exit", "exit_code": 127, "reason": f"It could not be started: {error}"}
            follow = self._close(run, failed)
        task_ = asyncio.create_task(follow)
        self._following.add(task_)
        task_.add_done_callback(self._following.discard)

    def _free_gpus(self, count: int) -> list[int]:
        taken = {gpu for run in self.active.values() for gpu in run.gpus}
        return [gpu for gpu in range(self.work.gpus) if gpu not in taken][:count]

    async def _follow(self, run: runs.Run) -> None:
        """Pass on what the supervisor says, until its result is reported."""
        assert run.process is not None and run.process.stdout is not None
        async for line in run.process.stdout:
            said = leftovers.parse(line)
            if said.get("state") in ("running", "suspended") and said["state"] != run.state:
                run.state = said["state"]
                await self._report({**run.held(), "state": run.state})
        await self._close(run, await runs.outcome(run))

    async def _close(self, run: runs.Run, result: dict[str, Any]) -> None:
        await self._report({**run.held(), **result})
        self.active.pop(run.lease, None)
        await asyncio.to_thread(runs.discard, run)
        self.changed.set()

    async def _report(self, body: dict[str, Any]) -> None:
        """Until the server has taken it or has refused it for good; a result is on disk all the while."""
        pause = 0.2
        while True:
            try:
                await self.client.post("/api/task/report", body)
                return
            except Refused as refused:
                if refused.status != 401:
                    if refused.status != 409:
                        self._say(f"report of job {body['task_id']} refused: {refused}")
                    return
            except ServerAway:
                pass
            await asyncio.sleep(pause)
            pause = min(5.0, pause * 2)

    # -- the stop

    async def _wind_down(self) -> None:
        """Let the jobs end, or hand them back: ended here and given out again."""
        grace, self.leaving = self.work.stop_grace, True
        self._hand_back()
        self.stopping.clear()
        second = asyncio.create_task(self._stopped_again())
        limit = None if self.work.finish else 15.0 + (grace if grace is not None else 10.0)
        ended = asyncio.create_task(self._all_followed())
        await asyncio.wait({second, ended}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        second.cancel()
        with contextlib.suppress(ServerAway, Refused):
            body = {"instance": self.instance, "leaving": True, "tasks": [run.held() for run in self.active.values()]}
            await self.client.post("/api/node/heartbeat", body, timeout=2)

    async def _stopped_again(self) -> None:
        await self.stopping.wait()

    def _hand_back(self) -> None:
        """End the jobs, so that the server gives them out again; unless they may finish."""
        grace = self.work.stop_grace
        for run in () if self.work.finish else list(self.active.values()):
            run.tell({"end": "lost"} | ({} if grace is None else {"grace": grace}))

    async def _all_followed(self) -> None:
        while self._following:
            await asyncio.wait(set(self._following))

    async def _end_all(self) -> None:
        for run in self.active.values():
            run.tell({"end": "lost", "grace": 0})
        for task in list(self._following):
            task.cancel()


def _orphaned(loop: asyncio.AbstractEventLoop, worker: Worker, fd: int | None) -> None:
    """Who started us is gone."""
    if fd is not None:
        loop.remove_reader(fd)
    worker.stopping.set()


async def _main(work: Work) -> None:
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
