"""Jobs for the benches, and recordings of any number of them.

The newest job is on top of the jobs pane; its name is a marker that the bench can see. The oldest jobs are far below.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from adapters.base import Capabilities, Identity, SourceState
from adapters.model import Delta, Job, Node, Queue
from adapters.replay.recording import RecordingWriter

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
BATCH = 100
OWNERS = ("ada", "grace", "linus", "barbara", "edsger")
REASONS = (None, "Resources", "Priority", "Dependency")


class Feed:
    """So many jobs, oldest first. In a feed that is not `live` all of them are over, so that nothing ticks."""

    def __init__(self, path: Path, jobs: int, *, live: bool = True) -> None:
        self.path = path
        self.jobs = jobs
        self.live = live

    def write(self) -> Path:
        """A recording of the snapshot."""
        can = Capabilities("bench 1", push=True)
        with RecordingWriter(self.path, "bench", can, Identity("ada", "user"), recorded=AT, clock=lambda: 0.0) as file:
            rows = (*self.snapshot(), *(Queue(f"queue-{n}", "active", 10, 5, 5) for n in range(5)), *nodes())
            file.write(Delta(rows, reset=frozenset({"job", "queue", "node"}), snapshot=True, at=AT))
            file.write(SourceState("live", at=AT))
        return self.path

    def snapshot(self) -> Iterator[Job]:
        return (self.job(number) for number in range(1, self.jobs + 1))

    def job(self, number: int, **changes: object) -> Job:
        """The job of that number, with some fields different."""
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
