"""What a finished or running job used of what it asked for, and what to ask for next time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from adapters.model import Job, Ref

_MEMORY_ROOM, _TIME_ROOM = 1.2, 1.25
_MB, _MINUTE = 1_000_000, 60


@dataclass(frozen=True, slots=True)
class Share:
    """Used against asked, for one resource; None where a figure is not known. `share` is used / asked."""

    resource: str
    used: float | None
    asked: float | None

    @property
    def share(self) -> float | None:
        return self.used / self.asked if self.used is not None and self.asked else None


@dataclass(frozen=True, slots=True)
class Efficiency:
    """`memory` in bytes, `time` and `cpu` in seconds (cpu asked = cores x elapsed). `ask` names what to ask for next
    time, only for what was measured."""

    subject: Ref
    memory: Share
    time: Share
    cpu: Share
    ask: dict[str, int]
    notes: tuple[str, ...] = ()


def efficiency(job: Job, now: datetime) -> Efficiency:
    """Judge one job. A job that failed for want of memory or time never gets advice to ask for less of it."""
    elapsed = elapsed_seconds(job, now)
    memory = Share("memory", peak_memory(job), job.memory_bytes)
    time = Share("time", elapsed, job.walltime_seconds)
    core_seconds = elapsed * job.cores if elapsed is not None and job.cores else None
    cpu = Share("cpu", _number(job, "cpu_seconds"), core_seconds)
    ask: dict[str, int] = {}
    notes = []
    if not job.finished:
        notes.append("It still runs: these are the figures so far.")
    elif job.status == "succeeded":
        if memory.used is not None:
            ask["memory_bytes"] = round_up(int(memory.used * _MEMORY_ROOM), 100 * _MB)
        if elapsed is not None:
            ask["walltime_seconds"] = max(_MINUTE, round_up(int(elapsed * _TIME_ROOM), _MINUTE))
        if cpu.share is not None and job.cores and job.cores > 1:
            ask["cores"] = max(1, -(-int(cpu.share * job.cores * 100) // 100))
    else:
        notes.append("It did not succeed, so what it used says little about what it needs.")
    notes += [f"{s.resource}: not measured by this scheduler." for s in (memory, cpu) if s.used is None]
    return Efficiency(job.ref, memory, time, cpu, ask, tuple(notes))


def elapsed_seconds(job: Job, now: datetime) -> float | None:
    """Seconds it has run, or ran."""
    if job.start_time is None:
        return None
    return max(0.0, ((job.end_time or now) - job.start_time).total_seconds())


def peak_memory(job: Job) -> float | None:
    """The largest memory it used, in bytes: the native `max_memory_bytes`, LSF's `peak_memory_bytes`. Slurm's job rows
    have none."""
    found = _number(job, "max_memory_bytes")
    return found if found is not None else _number(job, "peak_memory_bytes")


def round_up(value: int, step: int) -> int:
    return -(-value // step) * step


def _number(job: Job, name: str) -> float | None:
    value = job.extensions.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
