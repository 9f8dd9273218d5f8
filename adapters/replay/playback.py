"""Where a replay stands: which lines are due by now, and the rows they have led to."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from adapters.base import ProtocolError, SourceState
from adapters.model import Delta, Job, Kind, Row
from adapters.replay.recording import Header, Line, decode_item, load
from adapters.replay.rows import RowDecoder

Key = tuple[Kind, str]


class Rows:
    """Rows by kind and id, as the batches of a watch lead to them."""

    def __init__(self) -> None:
        self.rows: dict[Key, Row] = {}
        self._sweep: dict[Kind, set[str]] = {}

    def apply(self, delta: Delta) -> None:
        """Fold one batch in, as `adapters.model.Delta` says."""
        for kind in delta.reset:
            self._sweep[kind] = set()
        for ref in delta.removals:
            held = self.rows.get((ref.kind, ref.id))
            if held is not None and ref.born in (None, held.ref.born):
                del self.rows[ref.kind, ref.id]
        for row in delta.upserts:
            kind = row.ref.kind
            self.rows[kind, row.id] = row
            if kind in self._sweep:
                self._sweep[kind].add(row.id)
        if delta.snapshot and not delta.more:
            for kind, seen in self._sweep.items():
                for key in [key for key in self.rows if key[0] == kind and key[1] not in seen]:
                    del self.rows[key]
            self._sweep.clear()


class Playback:
    """One recording on its way.

    Args:
        speed: how much faster than it was recorded; 0.0 stands still at `at`.
        at: seconds into the recording at which it begins; all before is there at once.
        clock: seconds, monotonic.
        now: the wall clock at the beginning; all times of the recording are moved so that it seems to happen now.
    """

    def __init__(
        self,
        path: Path,
        cluster: str,
        *,
        speed: float,
        at: float,
        clock: Callable[[], float],
        now: Callable[[], datetime],
    ) -> None:
        self._path = path
        self._cluster = cluster
        self._speed = speed
        self._at = at
        self._clock = clock
        self._now = now
        self._header: Header | None = None
        self._lines: list[Line] = []
        self._began = 0.0
        self._applied = 0
        self._rows = Rows()
        self._followers: list[deque[Delta | SourceState]] = []
        self._states: dict[frozenset[Kind], SourceState] = {}
        self._logs: dict[tuple[str, str], bytes] = {}
        self._decoder = RowDecoder(cluster, timedelta())

    @property
    def header(self) -> Header:
        """Reads the file the first time; the replay begins then. Raises Unreachable or ProtocolError."""
        if self._header is None:
            self._header, self._lines = load(self._path)
            self._began = self._clock()
            shift = self._now() - self._header.recorded - timedelta(seconds=self._at)
            self._decoder = RowDecoder(self._cluster, shift)
        return self._header

    @property
    def elapsed(self) -> float:
        """Seconds of the recording that have passed."""
        return self._at + (self._clock() - self._began) * self._speed

    @property
    def over(self) -> bool:
        return self._applied >= len(self._lines)

    def until_next(self) -> float | None:
        """Seconds of the clock until the next line is due; None where none ever is."""
        if self.over or self._speed <= 0:
            return None
        return max(0.0, (self._lines[self._applied].at - self.elapsed) / self._speed)

    def follow(self) -> deque[Delta | SourceState]:
        """From now on whatever is applied is put there too, whoever moves the replay on. End it with `unfollow`."""
        queue: deque[Delta | SourceState] = deque()
        self._followers.append(queue)
        return queue

    def unfollow(self, queue: deque[Delta | SourceState]) -> None:
        self._followers = [other for other in self._followers if other is not queue]

    def advance(self, most_rows: float = float("inf")) -> bool:
        """Apply what is due by now, but stop after so many rows. Returns whether more is due.

        Raises ProtocolError for a broken line.
        """
        _ = self.header
        rows = 0
        while self._is_due():
            if rows >= most_rows:
                return True
            item = self._apply(self._applied)
            self._applied += 1
            if item is None:
                continue
            rows += len(item.upserts) if isinstance(item, Delta) else 1
            for queue in self._followers:
                queue.append(item)
        return False

    def _is_due(self) -> bool:
        return not self.over and self._lines[self._applied].at <= self.elapsed

    def _apply(self, index: int) -> Delta | SourceState | None:
        try:
            line = self._lines[index].parsed()
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ProtocolError(f"Line {index + 2} of the recording is not JSON.") from error
        if isinstance(log := line.get("log"), dict):
            key = (str(log.get("job")), str(log.get("stream", "stdout")))
            self._logs[key] = self._logs.get(key, b"") + str(log.get("data", "")).encode("utf-8", "surrogatepass")
            return None
        item = decode_item(line, self._decoder)
        if isinstance(item, Delta):
            self._rows.apply(item)
        elif item is not None:
            self._note(item)
        return item

    def _note(self, state: SourceState) -> None:
        """Keep the last state of each set of kinds, the newest at the end; one of all kinds replaces them."""
        if not state.kinds:
            self._states.clear()
        self._states.pop(state.kinds, None)
        self._states[state.kinds] = state

    def rows(self) -> list[Row]:
        """Everything as it is now."""
        self.advance()
        return list(self._rows.rows.values())

    def jobs(self) -> list[Job]:
        return [row for row in self.rows() if isinstance(row, Job)]

    def states(self) -> list[SourceState]:
        """The last state told of each set of kinds."""
        return list(self._states.values())

    def log(self, job: str, stream: str) -> bytes | None:
        """What is recorded of a job's output so far; None where nothing ever is."""
        self.advance()
        return self._logs.get((job, stream))
