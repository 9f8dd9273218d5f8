"""A recorded feed, played at its own times or faster: for demonstrations, pictures and tests. Writes are refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adapters.replay.reader import ReplayReader
    from adapters.replay.writer import ReplayWriter

__all__ = ["open_replay"]


def open_replay(
    cluster: str, file: Path, *, speed: float = 1.0, at: float = 0.0, **more: Any
) -> tuple[ReplayReader, ReplayWriter]:
    """Reader and Writer of a recording; the file is read when something is asked.

    Args:
        speed: how much faster than it was recorded; 0.0 stands still at `at`.
        at: seconds into the recording at which it begins; all before is there at once.
        more: injected clocks, see `ReplayReader`.
    """
    from adapters.replay.reader import ReplayReader
    from adapters.replay.writer import ReplayWriter

    return ReplayReader(cluster, Path(file), speed=speed, at=at, **more), ReplayWriter(cluster)
