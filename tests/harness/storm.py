"""The console under 1,000 changes a second, on a double of a backend: ``python -m tests.harness.storm JOBS``.

100 jobs change each tenth of a second, the newest forty among them, so that the top of the list is never quiet; every
job writes as many lines.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Literal

from adapters.base import InterestCell, LogChunk, Reader, SourceState, WatchItem, Writer
from adapters.model import Delta, Job
from tests.doubles.memory_backend import MemoryBackend, MemoryReader, MemoryWriter

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
CHANGES = 100  # each tenth of a second
SEEN = 40


def job(number: int, round: int) -> Job:
    """A job that looks different in every round."""
    return Job(
        id=f"{number:05d}", name=f"job-{number}-{round % 1000}", status="running", owner=("ada", "grace")[round % 2],
        cluster="storm", queue="batch", cores=round % 64 + 1, gpus=round % 4,
        submission_time=AT + timedelta(seconds=number),
    )  # fmt: skip


class StormReader(MemoryReader):
    """A snapshot, then changes without end."""

    def __init__(self, backend: MemoryBackend, jobs: int) -> None:
        super().__init__(backend)
        self._jobs = jobs

    async def job_logs(
        self, id: str, stream: Literal["stdout", "stderr"] = "stdout", tail: int | None = None,
        since: int | None = None, follow: bool = False,
    ) -> AsyncIterator[LogChunk]:  # fmt: skip
        """Lines without end."""
        number = 0
        while True:
            lines = b"".join(b"line %d of a program that talks a lot\n" % (number + n) for n in range(CHANGES))
            yield LogChunk(stream, lines)
            number += CHANGES
            await asyncio.sleep(0.1)

    async def watch(self, interest: InterestCell) -> AsyncIterator[WatchItem]:
        kinds = frozenset({"job", "queue", "node"})
        yield Delta(tuple(job(n, 0) for n in range(self._jobs)), reset=kinds, snapshot=True)
        yield SourceState("live")
        round = 0
        while True:
            round += 1
            await asyncio.sleep(0.1)
            first = round * CHANGES
            anywhere = {(first + n) % self._jobs for n in range(CHANGES - SEEN)}
            yield Delta(tuple(job(n, round) for n in anywhere | set(range(self._jobs - SEEN, self._jobs))))


class StormBackend(MemoryBackend):
    """A double: opens the reader above, and a writer that nobody uses."""

    def __init__(self, jobs: int) -> None:
        super().__init__("storm")
        self._jobs = jobs

    def open(self, name: str = "", profile: object = None) -> tuple[Reader, Writer]:
        return StormReader(self, self._jobs), MemoryWriter(self)


async def main(jobs: int) -> None:
    from console.app import ConsoleApp
    from console.config import Config
    from console.driver import ConsoleDriver
    from console.engine import Engine

    config = Config.model_validate(
        {"version": 1, "clusters": {"storm": {"type": "native", "url": "http://127.0.0.1:1"}}}
    )
    engine = Engine(config, open_with=StormBackend(jobs).open)
    try:
        await ConsoleApp(engine, ConsoleDriver).run_async()
    finally:
        await engine.stop()


if __name__ == "__main__":
    from console.cli.console import DEFAULTS

    os.environ.update({**DEFAULTS, "TEXTUAL_FPS": "15"})
    asyncio.run(main(int(sys.argv[1])))
