"""What to ask for: from like jobs in the history, and from figures in the description."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from adapters.model import Job, ResourceSpec
from adapters.units import parse_duration, parse_size
from console.diagnosis.efficiency import peak_memory, round_up

_ROOM = 1.2
_LEAST = 3
_WORD = re.compile(r"[a-z0-9_.+-]{3,}")
_PART = re.compile(r"[a-z]{3,}")
_COMMON = frozenset({
    "and", "bash", "core", "cores", "for", "gpu", "gpus", "hour", "hours", "job", "jobs", "memory", "node", "nodes",
    "python", "run", "script", "submit", "the", "with",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Suggestion:
    """`spec` holds only what the evidence carries; `because` gives a sentence for each field of it."""

    spec: ResourceSpec
    because: dict[str, str] = field(default_factory=dict)
    sample: int = 0


def suggest(description: str, history: Sequence[Job], owner: str | None = None) -> Suggestion:
    """Suggest resources for what `description` says.

    Figures in the description win ("8 cores", "2 GPUs", "16GB", "2 hours"); the rest comes from at least three
    successful jobs whose name shares a word with it, the owner's own before others'.
    """
    said = _said(description)
    like = _like(description, history, owner)
    seen = _seen(like)
    values = {name: said.get(name, seen.get(name)) for name in ("cores", "memory_bytes", "gpus", "walltime_seconds")}
    because = {
        name: "as described" if name in said else f"highest use of {len(like)} like jobs, and a fifth more"
        for name, value in values.items()
        if value is not None
    }
    for name in ("cores", "gpus"):
        if name in because and name not in said:
            because[name] = f"as {len(like)} like jobs asked for"
    return Suggestion(ResourceSpec(**values), because, len(like))


_NUMBERS = (
    ("cores", re.compile(r"(\d+)\s*(?:cores?|cpus?|threads?|核)", re.IGNORECASE)),
    ("gpus", re.compile(r"(\d+)\s*(?:gpus?|块\s*gpu|张卡)", re.IGNORECASE)),
)
_SIZE = re.compile(r"(\d+(?:\.\d+)?\s*[KMGT]i?B)\b")
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(hours?|h|minutes?|min|m|days?|d|小时|分钟|天)(?![a-z])", re.IGNORECASE)
_UNIT = {"h": 3600, "小": 3600, "m": 60, "分": 60, "d": 86400, "天": 86400}


def _said(description: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, pattern in _NUMBERS:
        if match := pattern.search(description):
            found[name] = int(match[1])
    if match := _SIZE.search(description):
        found["memory_bytes"] = parse_size(match[1].replace(" ", ""))
    if match := re.search(r"\b\d+:\d{2}(?::\d{2})?\b", description):
        found["walltime_seconds"] = parse_duration(match[0])
    elif match := _TIME.search(description):
        found["walltime_seconds"] = round(float(match[1]) * _UNIT[match[2][0].lower()])
    return {name: value for name, value in found.items() if value > 0}


def _words(text: str) -> set[str]:
    """Whole words, and the parts that names such as ``train-model_v2`` are made of."""
    text = text.lower()
    return (set(_WORD.findall(text)) | set(_PART.findall(text))) - _COMMON


def _like(description: str, history: Sequence[Job], owner: str | None) -> list[Job]:
    words = _words(description)
    like = [job for job in history if job.status == "succeeded" and words & _words(job.name)]
    own = [job for job in like if owner is not None and job.owner == owner]
    chosen = own if len(own) >= _LEAST else like
    return chosen if len(chosen) >= _LEAST else []


def _seen(like: Sequence[Job]) -> dict[str, int]:
    """What like jobs used at most, with room; cores and GPUs as the middle one of them asked."""
    seen: dict[str, int] = {}
    peaks = [int(peak) for job in like if (peak := peak_memory(job)) is not None]
    if len(peaks) >= _LEAST:
        seen["memory_bytes"] = round_up(int(max(peaks) * _ROOM), 100_000_000)
    times = [(j.end_time - j.start_time).total_seconds() for j in like if j.start_time and j.end_time]
    if len(times) >= _LEAST:
        seen["walltime_seconds"] = max(60, round_up(int(max(times) * _ROOM), 60))
    for name in ("cores", "gpus"):
        asked = sorted(value for job in like if (value := getattr(job, name)))
        if len(asked) >= _LEAST:
            seen[name] = asked[len(asked) // 2]
    return seen
