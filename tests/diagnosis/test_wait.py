"""The wait estimate, tested backwards: on a made history it may only use what had ended before."""

from __future__ import annotations

import heapq
import random
from datetime import UTC, datetime, timedelta
from statistics import median

import pytest

from adapters.model import Job, JobSpec
from console.diagnosis.wait import estimate_wait

T0 = datetime(2026, 1, 1, tzinfo=UTC)
SLOTS = 32


def history(seed: int, count: int = 1500) -> list[Job]:
    """Jobs of a queue with 32 slots, first come first served: arrivals and run times as at a busy site."""
    rng = random.Random(seed)
    free, running, clock, jobs = SLOTS, [], 0.0, []
    for n in range(count):
        clock += rng.expovariate(1 / 97)
        cores, ran = rng.choice((1, 1, 2, 4, 8)), rng.lognormvariate(6.4, 0.9)
        start = clock
        while running and running[0][0] <= start:
            free += heapq.heappop(running)[1]
        while free < cores:
            start, freed = heapq.heappop(running)
            free += freed
        free -= cores
        heapq.heappush(running, (start + ran, cores))
        jobs.append(
            Job(
                str(n), status="succeeded", queue="main", cores=cores, cluster="c",
                submission_time=T0 + timedelta(seconds=clock), start_time=T0 + timedelta(seconds=start),
                end_time=T0 + timedelta(seconds=start + ran),
            )
        )  # fmt: skip
    return jobs


def waited(job: Job) -> float:
    assert job.start_time and job.submission_time
    return (job.start_time - job.submission_time).total_seconds()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_backwards_on_a_made_history(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = history(seed)
    within, errors, plain = 0, [], []
    tried = jobs[1000:]
    for job in tried:
        now = job.submission_time
        assert now is not None
        past = [old for old in jobs if old.end_time is not None and old.end_time < now]
        found = estimate_wait(None, "main", JobSpec(command=("-",), cores=job.cores), past, now)
        assert found.basis == "history" and found.sample >= 8
        assert found.expected is not None and found.low is not None and found.high is not None
        assert found.low <= found.expected <= found.high
        within += found.low <= waited(job) <= found.high
        errors.append(abs(found.expected - waited(job)))
        plain.append(abs(sum(map(waited, past)) / len(past) - waited(job)))
    share = within / len(tried)
    with capsys.disabled():
        print(
            f"\nwait estimate, seed {seed}: {share:.0%} of {len(tried)} within the spread; "
            f"median error {median(errors):.0f} s, that of the plain mean {median(plain):.0f} s"
        )
    assert share >= 0.6
    assert median(errors) <= median(plain) * 1.1


def test_too_few_are_no_estimate() -> None:
    found = estimate_wait(None, "main", JobSpec(command=("-",)), history(1, 7), T0 + timedelta(days=1))
    assert (found.expected, found.basis, found.sample) == (None, "unknown", 7)


def test_another_queue_says_nothing() -> None:
    assert estimate_wait(None, "gpu", JobSpec(command=("-",)), history(1, 100), T0).basis == "unknown"


def test_the_schedulers_own_estimate_wins() -> None:
    start = T0 + timedelta(hours=2)
    job = Job("1", status="pending", submission_time=T0, cluster="c", extensions={"expected_start": start})
    found = estimate_wait(job, "main", JobSpec(command=("-",)), history(1, 100), T0)
    assert (found.expected, found.basis) == (7200.0, "scheduler")
