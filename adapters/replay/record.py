"""Makes a recording of any cluster by watching it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from adapters.base import AdapterError, InterestCell, Reader, WatchItem
from adapters.model import Delta, Job
from adapters.replay.recording import RecordingWriter

MOST_LOGS = 50
LONGEST_LOG = 64_000


async def record(
    reader: Reader,
    path: Path,
    seconds: float,
    *,
    cell: InterestCell | None = None,
    logs: bool = False,
    anonymous: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Watch for so many seconds and write down what is told.

    Args:
        anonymous: take out whose jobs and machines they are, and all logs.
        logs: also the output of up to 50 jobs that are over, the last 64 kB of each.

    Raises AdapterError where the cluster cannot be asked who we are and what it can do.
    """
    capabilities = await reader.capabilities()
    identity = await reader.whoami()
    with RecordingWriter(
        path, reader.cluster, capabilities, identity, recorded=datetime.now(UTC), clock=clock, anonymous=anonymous
    ) as file:
        logged: set[str] = set()
        try:
            async with asyncio.timeout(seconds), aclosing(cast("Any", reader.watch(cell or InterestCell()))) as items:
                async for item in items:
                    file.write(item)
                    for id in _just_finished(item) if logs else ():
                        if id not in logged and len(logged) < MOST_LOGS:
                            logged.add(id)
                            await _record_log(reader, file, id)
        except TimeoutError:
            pass


def _just_finished(item: WatchItem) -> list[str]:
    """Jobs of a batch that are over."""
    if not isinstance(item, Delta):
        return []
    return [row.id for row in item.upserts if isinstance(row, Job) and row.finished]


async def _record_log(reader: Reader, file: RecordingWriter, id: str) -> None:
    for stream in ("stdout", "stderr"):
        try:
            data = b"".join([chunk.data async for chunk in reader.job_logs(id, cast("Any", stream))])
        except AdapterError:
            continue
        file.log(id, cast("Any", stream), data[-LONGEST_LOG:])
