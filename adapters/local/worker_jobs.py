"""The jobs of a worker: started, followed, reported, ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from adapters.local import leftovers, runs
from adapters.local.worker_client import Refused, ServerAway, WorkerClient


class WorkerJobs:
    """What runs under one worker. `changed` is set whenever a slot has become free; `say` prints a line."""

    def __init__(self, client: WorkerClient, gpus: int, say: Callable[[str], None]) -> None:
        self.client = client
        self.place: runs.Place | None = None
        self.active: dict[str, runs.Run] = {}
        self.changed = asyncio.Event()
        self._gpus = gpus
        self._say = say
        self._following: set[asyncio.Task[None]] = set()
        self._zombies: set[int] = set()

    @property
    def used(self) -> int:
        """Slots of what is claimed and not yet reported as over."""
        return sum(run.slots for run in self.active.values())

    def held(self) -> list[dict[str, Any]]:
        return [run.held() for run in self.active.values()]

    def obey(self, orders: list[dict[str, Any]]) -> None:
        """Carry out what the server's answer asks for."""
        for order in orders:
            run = self.active.get(order["lease"])
            if run is not None:
                run.obey(order)

    async def start(self, task: dict[str, Any]) -> None:
        """Start a claimed task; one that cannot be started is reported as failed."""
        assert self.place is not None
        run = runs.Run(task, self.place.tasks / task["lease"], gpus=self._free_gpus(task["gpus"]))
        self.active[run.lease] = run
        try:
            await runs.launch(self.place, run, self.client.token)
            follow = self._follow(self.place, run)
        except (runs.Unrunnable, OSError) as error:
            failed = {"state": "exit", "exit_code": 127, "reason": f"It could not be started: {error}"}
            follow = self._close(self.place, run, failed)
        following = asyncio.create_task(follow)
        self._following.add(following)
        following.add_done_callback(self._following.discard)

    async def give_back(self, task: dict[str, Any], reason: str) -> None:
        """A claimed task that is not to be started here: the server gives it to another node."""
        await self.report({"task_id": task["task_id"], "lease": task["lease"], "state": "lost", "reason": reason})

    def _free_gpus(self, count: int) -> list[int]:
        taken = {gpu for run in self.active.values() for gpu in run.gpus}
        return [gpu for gpu in range(self._gpus) if gpu not in taken][:count]

    async def _follow(self, place: runs.Place, run: runs.Run) -> None:
        """Pass on what the supervisor says, until its result is reported."""
        assert run.process is not None and run.process.stdout is not None
        async for line in run.process.stdout:
            said = leftovers.parse(line)
            if said.get("state") in ("running", "suspended") and said["state"] != run.state:
                run.state = said["state"]
                await self.report({**run.held(), "state": run.state})
        await self._close(place, run, await runs.outcome(run))

    async def _close(self, place: runs.Place, run: runs.Run, result: dict[str, Any]) -> None:
        await self.report({**run.held(), **result})
        self.active.pop(run.lease, None)
        await asyncio.to_thread(runs.discard, place, run)
        self.changed.set()

    async def report(self, body: dict[str, Any]) -> None:
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

    def reap(self) -> None:
        """Take away the zombies that dead supervisors have left us, once they have been seen twice: the first time
        they may still be a job's own, whose exit code is about to be read, or a supervisor's."""
        supervisors = {run.process.pid for run in self.active.values() if run.process is not None}
        zombies = set(runs.zombies()) - supervisors
        for pid in zombies & self._zombies:
            runs.reap(pid)
        self._zombies = zombies

    def hand_back(self, grace: float | None) -> None:
        """End the jobs, so that the server gives them out again."""
        for run in self.active.values():
            run.tell({"end": "lost"} | ({} if grace is None else {"grace": grace}))

    async def all_over(self) -> None:
        """Wait until every job is over and reported."""
        while self._following:
            await asyncio.wait(set(self._following))

    def abandon(self) -> None:
        """End what is left without waiting; its results stay on disk for the next worker."""
        self.hand_back(0.0)
        for following in list(self._following):
            following.cancel()
