"""Runs a watch in the background and keeps what it tells."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from adapters.base import Delta, InterestCell, SourceState
from adapters.model import Row
from adapters.native import open_native
from adapters.native.token import fixed_token
from adapters.native.transport import Timeouts
from adapters.replay.playback import Key, Rows

DEADLINE = 20.0


async def soon(seconds: float) -> None:
    """The pauses of the adapter, shortened."""
    await asyncio.sleep(min(seconds, 0.01))


class Told:
    """What a watch has told so far, folded as the design says."""

    def __init__(self) -> None:
        self.items: list[Delta | SourceState] = []
        self._folded = Rows()

    def take(self, item: Delta | SourceState) -> None:
        self.items.append(item)
        if isinstance(item, Delta):
            self._folded.apply(item)

    @property
    def rows(self) -> dict[Key, Row]:
        return self._folded.rows

    @property
    def labels(self) -> list[str]:
        return [item.label for item in self.items if isinstance(item, SourceState)]

    @property
    def states(self) -> list[SourceState]:
        return [item for item in self.items if isinstance(item, SourceState)]

    @property
    def deltas(self) -> list[Delta]:
        return [item for item in self.items if isinstance(item, Delta)]

    @property
    def snapshots(self) -> int:
        """How often jobs were listed."""
        return len([delta for delta in self.deltas if "job" in delta.reset])

    def told_of_jobs(self) -> list[list[str]]:
        """Ids of the jobs in each batch that has any."""
        batches = [[row.id for row in delta.upserts if row.ref.kind == "job"] for delta in self.deltas]
        return [batch for batch in batches if batch]

    def jobs(self) -> dict[str, str]:
        return {id: str(getattr(row, "raw_status", "")) for (kind, id), row in self.rows.items() if kind == "job"}


@asynccontextmanager
async def watching(url: str, cell: InterestCell | None = None, token: str = "key", **more: Any) -> AsyncIterator[Told]:
    """A watch of the server at `url`. Anything it raises is raised here."""
    options = {"sleep": soon, "jitter": lambda: 0.0, "timeouts": Timeouts(connect=2.0, read=5.0), **more}
    reader, writer = open_native("c", url, fixed_token(token), **options)
    told = Told()

    async def follow() -> None:
        async for item in reader.watch(cell or InterestCell()):
            told.take(item)

    task = asyncio.create_task(follow())
    try:
        yield told
        if task.done():
            task.result()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await writer.close()
        await reader.close()


async def until(condition: Callable[[], Any], what: object = "") -> None:
    deadline = asyncio.get_running_loop().time() + DEADLINE
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, f"not within the time: {what}"
        await asyncio.sleep(0.01)
