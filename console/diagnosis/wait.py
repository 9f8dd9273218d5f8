"""How long a job will wait: the backend's own estimate, else what the history of like jobs shows, with its spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import quantiles
from typing import Literal

from adapters.model import Job, JobSpec
from console.diagnosis.pending import start_estimate

_LEAST = 8  # fewer waits than this say nothing about a spread


@dataclass(frozen=True, slots=True)
class WaitEstimate:
    """Seconds from submission to start. `low` and `high` hold eight waits of ten; all None: not known.

    `basis` says where it comes from; `sample` how many jobs it rests on.
    """

    expected: float | None
    low: float | None
    high: float | None
    basis: Literal["scheduler", "history", "unknown"]
    sample: int = 0
    note: str = ""


def estimate_wait(
    job: Job | None, queue: str | None, spec: JobSpec, history: Sequence[Job], now: datetime
) -> WaitEstimate:
    """Estimate the wait of a pending job, or of a job like `spec` submitted to `queue` now.

    Args:
        job: the pending job, where there is one; its own start estimate wins.
        history: finished jobs of the cluster with submission and start times.
    """
    if job is not None and (start := start_estimate(job)) is not None and start > now:
        seconds = (start - (job.submission_time or now)).total_seconds()
        return WaitEstimate(
            seconds, None, None, "scheduler", note="The scheduler's own estimate; it moves with every change."
        )
    alike, note = _alike(queue, spec, history)
    if len(alike) < _LEAST:
        return WaitEstimate(None, None, None, "unknown", len(alike), f"Only {len(alike)} like jobs in the history.")
    waits = sorted(alike)
    cuts = quantiles(waits, n=10, method="inclusive")
    expected = quantiles(waits, n=2, method="inclusive")[0]
    return WaitEstimate(expected, cuts[0], cuts[-1], "history", len(waits), note)


def _alike(queue: str | None, spec: JobSpec, history: Sequence[Job]) -> tuple[list[float], str]:
    """Waits of like jobs: same queue and size, then same queue, whichever first has enough."""
    size = _size(spec.cores, spec.gpus)
    waits = [
        (_size(job.cores, job.gpus), max(0.0, (job.start_time - job.submission_time).total_seconds()))
        for job in history
        if job.submission_time and job.start_time and (queue is None or job.queue == queue)
    ]
    same = [wait for its_size, wait in waits if its_size == size]
    if len(same) >= _LEAST:
        return same, "Jobs of this queue and size."
    return [wait for _, wait in waits], "All jobs of this queue: too few of this size."


def _size(cores: int | None, gpus: int | None) -> tuple[int, bool]:
    """Jobs within a factor of two in cores, and with or without GPUs, are alike."""
    return ((cores or 1) - 1).bit_length(), bool(gpus)
