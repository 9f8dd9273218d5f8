"""The console on a double of a backend that a bench drives by words on a named pipe: ``python -m tests.bench.program``.

Arguments: number of jobs, path of the pipe. Words, one a line: ``marker TEXT`` renames the topmost job, ``far`` changes
1,000 jobs far below the screen, ``storm SECONDS`` changes 1,000 a second anywhere, ``busy SECONDS`` as many, one in ten
of them on the screen; both rename the topmost job to ``storm-begins`` before, and to ``storm-over`` after.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from adapters.base import InterestCell, Reader, SourceState, WatchItem, Writer
from adapters.model import Delta, Row
from tests.bench.feeds import BATCH, Feed, nodes
from tests.doubles.memory_backend import MemoryBackend, MemoryReader, MemoryWriter

PIECE = 2000


class DrivenReader(MemoryReader):
    """A snapshot of any size, then what the pipe says. It keeps no rows of its own."""

    def __init__(self, backend: MemoryBackend, feed: Feed, pipe: Path) -> None:
        super().__init__(backend)
        self._feed = feed
        self._pipe = pipe
        self._round = 0

    async def watch(self, interest: InterestCell) -> AsyncIterator[WatchItem]:
        kinds = frozenset({"job", "queue", "node"})
        yield Delta((*nodes(),), reset=kinds, snapshot=True, more=True)
        for start in range(1, self._feed.jobs + 1, PIECE):
            last = min(start + PIECE, self._feed.jobs + 1)
            piece = tuple(self._feed.job(number) for number in range(start, last))
            yield Delta(piece, snapshot=True, more=last <= self._feed.jobs)
            await asyncio.sleep(0)
        yield SourceState("live")
        words = await self._open()
        while line := (await words.readline()).decode():
            for rows in self._changes(*line.split()):
                yield Delta(rows)
                await asyncio.sleep(0.1)

    async def _open(self) -> asyncio.StreamReader:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        file = os.fdopen(os.open(self._pipe, os.O_RDWR | os.O_NONBLOCK), "rb", buffering=0)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
        return reader

    def _changes(self, word: str, argument: str = "") -> Iterator[tuple[Row, ...]]:
        """The batches of a word, one each tenth of a second."""
        feed = self._feed
        self._round += 1
        if word == "marker":
            yield (feed.marker(argument),)
        elif word == "far":
            for part in range(10):
                ids = range(1 + part * BATCH, 1 + (part + 1) * BATCH)
                yield tuple(feed.job(id, reason=f"round {self._round}") for id in ids)
        else:
            batches = list(self._storm(word, int(argument)))
            yield (feed.marker("storm-begins"),)
            yield from batches
            yield (feed.marker("storm-over"),)

    def _storm(self, word: str, seconds: int) -> Iterator[tuple[Row, ...]]:
        feed = self._feed
        step = max(1, feed.jobs // 1000)
        for tick in range(seconds * 10):
            anywhere = [1 + (tick * BATCH + n) * step % (feed.jobs - 100) for n in range(BATCH)]
            rows = [feed.job(id, cores=tick % 16 + 1) for id in anywhere]
            seen = [feed.job(feed.jobs - 2 - n, cores=tick % 16 + 1) for n in range(10)]
            yield (*rows[10:], *seen) if word == "busy" else tuple(rows)


class DrivenBackend(MemoryBackend):
    """A double: opens the reader above and a writer that nobody uses."""

    def __init__(self, jobs: int, pipe: Path) -> None:
        super().__init__("bench")
        self._made = (Feed(Path(os.devnull), jobs, live=False), pipe)

    def open(self, name: str = "", profile: object = None) -> tuple[Reader, Writer]:
        return DrivenReader(self, *self._made), MemoryWriter(self)


async def main(jobs: int, pipe: Path) -> None:
    from console.app import ConsoleApp
    from console.config import Config
    from console.engine import Engine

    config = Config.model_validate(
        {"version": 1, "clusters": {"bench": {"type": "native", "url": "http://127.0.0.1:1"}}}
    )
    engine = Engine(config, open_with=DrivenBackend(jobs, pipe).open)
    try:
        await ConsoleApp(engine).run_async()
    finally:
        await engine.stop()


if __name__ == "__main__":
    from console.cli.console import DEFAULTS

    os.environ.update(DEFAULTS)
    asyncio.run(main(int(sys.argv[1]), Path(sys.argv[2])))
