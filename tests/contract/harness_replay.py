"""The replay adapter on a recording written here, on a clock that the harness holds.

A recording has no backend that could be changed or cut off: a change is time going on to the next line, and a cut is a
moment in which nothing comes.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from adapters.base import Capabilities, Delta, Identity, SourceState
from adapters.intents import Intent, SubmitJob
from adapters.model import ArrayInfo, Dependency, Job, JobSpec, Metrics, Node, Queue, ResourceSpec, Row
from adapters.replay import open_replay
from adapters.replay.recording import RecordingWriter
from tests.contract.harness import Allowed, ErrorCase, Lesser, Logged

NAME = "replay"
READ_ONLY = True
CLUSTER = "recorded"
BEGAN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HOSTILE = "evil\u202egnp.exe\x1b[2J\u200b"
STDOUT = b"first\nsecond\nlast line\n"
SECONDS = 400


def job(id: str, status: Any, **more: Any) -> Job:
    raw = {"pending": "PEND", "running": "RUN", "succeeded": "DONE", "failed": "EXIT"}[status]
    return Job(id, f"job {id}", status, raw, "normal", submission_time=BEGAN, owner="ann", cluster="source", **more)


def world() -> list[Row]:
    """Every field is set on some row."""
    full = job("3", "failed", nodes=1, cores=2, gpus=1, memory_bytes=10**9, walltime_seconds=60, exit_code=3)
    full = full._replace(
        name=HOSTILE, dependencies=(Dependency("1", "afterok"),), start_time=BEGAN, end_time=BEGAN, logs_url="/logs/3",
        reason="Ended", node_names=("n1",), array=ArrayInfo("3", range="1-9%2"), extensions={"project": "p"},
    )  # fmt: skip
    node = Node(
        "n1", "busy", 8, 2, 10**10, 10**9, 2, 1, 2, 4, 8, ("ssd",), "fine", BEGAN, "source", {"load": {"r1m": 0.5}}
    )
    queue = Queue("normal", "active", 1, 1, 1, 3600, ResourceSpec(1, 10**8, 0, 60), "source", {"priority": 3})
    totals = Metrics({"running": 1}, {"busy": 1}, {"normal": (1, 1)}, at=BEGAN, cluster="source")
    return [job("1", "pending"), job("2", "running"), full, job("4", "succeeded"), node, queue, totals]


class Clock:
    """Seconds that go on only when told to."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._moved = asyncio.Condition()

    def __call__(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        until = self.seconds + seconds
        async with self._moved:
            await self._moved.wait_for(lambda: self.seconds >= until)

    async def move(self, seconds: float) -> None:
        async with self._moved:
            self.seconds += seconds
            self._moved.notify_all()


def write_recording(path: Path, **header: Any) -> None:
    """A world, and a line of change each second."""
    random = Random(7)
    time = [0.0]
    capabilities = Capabilities(
        "double 1.0",
        parts=frozenset({"logs"}),
        extensions=dict.fromkeys(("project", "load", "priority"), "a word"),
        push=True,
    )
    capabilities = replace(capabilities, **header)
    identity = Identity("ann", "user")
    with RecordingWriter(path, "source", capabilities, identity, recorded=BEGAN, clock=lambda: time[0]) as file:
        kinds = frozenset({"job", "node", "queue", "metrics"})
        file.write(Delta(tuple(world()), reset=kinds, snapshot=True, position="1", at=BEGAN))
        file.write(SourceState("live", at=BEGAN))
        file.log("4", "stdout", STDOUT)
        for second in range(1, SECONDS):
            time[0] = float(second)
            file.write(_change(random, second))


def _change(random: Random, second: int) -> Delta:
    at = BEGAN + timedelta(seconds=second)
    id = str(random.randint(10, 20))
    made: Job = job(id, random.choice(["pending", "running", "succeeded"]), end_time=at)
    if random.random() < 0.3:
        return Delta(removals=(made.ref,), at=at, position=str(second))
    return Delta((made,), at=at, position=str(second))


@contextmanager
def start_backend(folder: Path) -> Iterator[Path]:
    """There is no peer but a folder of recordings."""
    write_recording(folder / "feed.jsonl")
    write_recording(folder / "lesser.jsonl", parts=frozenset(), push=False)
    (folder / "other.jsonl").write_text(json.dumps({"format": "something else"}) + "\n")
    yield folder


class ReplayHarness:
    """Implements `tests.contract.harness.Harness`."""

    allowed = Allowed(
        errors={
            "unavailable": "A file that can be read always answers.",
            "unauthenticated": "A recording asks for no credentials.",
            "forbidden": "Whoever can read the file may see all of it.",
            "conflict": "Nothing can be changed, so nothing can be changed in between.",
        }
    )

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._clock = Clock()
        self.reader, self.writer = self._open("feed.jsonl")

    def _open(self, name: str) -> Any:
        return open_replay(
            CLUSTER,
            self._folder / name,
            clock=self._clock,
            sleep=self._clock.sleep,
            now=lambda: BEGAN + timedelta(days=9),
        )

    async def populate(self) -> None:
        """The recording holds it all."""

    async def intent(self, verb: str) -> Intent:
        raise AssertionError(f"nothing is supported, so nobody asks for {verb}")

    def received(self) -> Sequence[Any]:
        return ()

    def mute(self) -> Any:
        raise AssertionError("a recording is sent nothing")

    garble = refuse = mute

    async def change(self, random: Random) -> str:
        await self._clock.move(random.choice((0.5, 1.0, 3.0)))
        return "time"

    async def cut(self, random: Random) -> None:
        await asyncio.sleep(0)

    def error_cases(self) -> Mapping[str, ErrorCase]:
        spec = JobSpec(command=("true",))
        return {
            "unreachable": lambda: self._open("missing.jsonl")[0].list_jobs(),
            "not_found": lambda: self.reader.get_job("999999999"),
            "invalid": self._invalid,
            "unsupported": lambda: self.writer.plan(SubmitJob(cluster=CLUSTER, spec=spec)),
            "protocol": lambda: self._open("other.jsonl")[0].list_jobs(),
        }

    async def _invalid(self) -> object:
        return [chunk async for chunk in self.reader.job_logs("4", "neither")]

    @asynccontextmanager
    async def lesser(self) -> AsyncIterator[Lesser]:
        yield Lesser(self._open("lesser.jsonl")[0], parts=frozenset({"logs"}))

    async def logged_job(self) -> Logged:
        return Logged("4", STDOUT)


@asynccontextmanager
async def open_harness(backend: Path, folder: Path) -> AsyncIterator[ReplayHarness]:
    yield ReplayHarness(backend)
