"""Recordings of any size for the benches: a snapshot, then changes at known times.

The newest job is on top of the jobs pane; its name is a marker that the bench can see. The oldest jobs are far below.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from adapters.base import Capabilities, Identity, SourceState
from adapters.model import Delta, Job, Node, Queue, Row
from adapters.replay.recording import RecordingWriter

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
BATCH = 100
OWNERS = ("ada", "grace", "linus", "barbara", "edsger")
REASONS = (None, "Resources", "Priority", "Dependency")


class Feed:
    """A recording that is being written; `at` is the second of it that is written next."""

    def __init__(self, path: Path, jobs: int, *, live: bool = True) -> None:
        self.path = path
        self.jobs = jobs
        self.live = live
        self.at = 0.0

    def write(self, program: Iterator[tuple[float, tuple[Row, ...]]] | None = None) -> Path:
        """The snapshot, then each (second, changed rows) of `program`."""
        can = Capabilities("bench 1", push=True)
        with RecordingWriter(
            self.path, "bench", can, Identity("ada", "user"), recorded=AT, clock=lambda: self.at
        ) as file:
            rows = (*self.snapshot(), *(Queue(f"queue-{n}", "active", 10, 5, 5) for n in range(5)), *nodes())
            file.write(Delta(tuple(rows), reset=frozenset({"job", "queue", "node"}), snapshot=True, at=AT))
            file.write(SourceState("live", at=AT))
            for second, changed in program or ():
                self.at = second
                file.write(Delta(changed, at=AT + timedelta(seconds=second)))
        return self.path

    def snapshot(self) -> Iterator[Job]:
        return (self.job(number) for number in range(1, self.jobs + 1))

    def job(self, number: int, **changes: object) -> Job:
        """The job of that number. In a feed that is not `live` all of them are over, so that nothing ticks."""
        submitted = AT - timedelta(seconds=self.jobs - number + 3600)
        state = ("running", "pending", "succeeded")[number % 3] if self.live else "succeeded"
        started = None if state == "pending" else submitted + timedelta(seconds=60)
        row = Job(
            id=str(number),
            name=f"job-{number % 997}-of-many",
            status=state,  # type: ignore[arg-type]
            raw_status=state,
            queue=f"queue-{number % 5}",
            cores=number % 16 + 1,
            memory_bytes=(number % 8 + 1) * 10**9,
            walltime_seconds=3600,
            submission_time=submitted,
            start_time=started,
            end_time=submitted + timedelta(seconds=600) if state == "succeeded" else None,
            exit_code=0 if state == "succeeded" else None,
            owner=OWNERS[number % 5],
            reason=REASONS[number % 4] if state == "pending" else None,
            node_names=() if state == "pending" else (f"node-{number % 20}",),
            cluster="bench",
        )
        return row._replace(**changes)

    def marker(self, text: str) -> Job:
        """The topmost job under another name."""
        return self.job(self.jobs, name=text)


def nodes() -> list[Node]:
    return [Node(f"node-{n}", "busy", 16, 8, 64 * 10**9, 10**9, 0, 0, 8, None, 16, cluster="bench") for n in range(20)]


def rounds(feed: Feed, start: float, count: int, seconds: float) -> Iterator[tuple[float, tuple[Row, ...]]]:
    """Marker 0; then `count` rounds of 1,000 changes far below the screen, each ended by the next marker."""
    yield start, (feed.marker("marker-0"),)
    for number in range(1, count + 1):
        begin = start + (number - 1) * seconds + 2
        for part in range(10):
            ids = range(1 + part * BATCH, 1 + (part + 1) * BATCH)
            changed = tuple(feed.job(id, reason=f"round {number}") for id in ids)
            yield begin + part * 0.1, changed
        yield start + number * seconds, (feed.marker(f"marker-{number}"),)


def storm(feed: Feed, start: float, seconds: int) -> Iterator[tuple[float, tuple[Row, ...]]]:
    """1,000 changes a second in ten batches: ninety rows anywhere, ten on the screen; a marker before and after."""
    yield start, (feed.marker("storm-begins"),)
    step = max(1, feed.jobs // 1000)
    for tick in range(seconds * 10):
        ids = [1 + (tick * 90 + n) * step % (feed.jobs - 100) for n in range(90)]
        seen = [feed.jobs - 2 - n for n in range(10)]
        changed = tuple(feed.job(id, reason=f"tick {tick}") for id in (*ids, *seen))
        yield start + 1 + tick / 10, changed
    yield start + seconds + 2, (feed.marker("storm-ends"),)
