"""How Slurm writes amounts, times and lists, and what they are in the units of the model.

Words for "nothing" (``N/A``, ``(null)``, ``Unknown``, ``None``, empty) become None; an unlimited amount too, and the
caller keeps the word itself. Sources: squeue(1), sinfo(1), sacct(1), sbatch(1), and the recordings of three versions.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from adapters.model import Dependency

NOTHING = frozenset(
    {"", "N/A", "n/a", "(null)", "null", "None", "none", "Unknown", "unknown", "NONE", "INVALID", "NOT_SET", "(none)"}
)
NO_LIMIT = frozenset({"UNLIMITED", "infinite", "INFINITE", "unlimited"})
NO_VALUE = frozenset({4294967294, 4294967295, 18446744073709551614, 18446744073709551615, 65534, 65535})
"""Slurm's numbers for "not set" and "unlimited" of 16, 32 and 64 bits, where they leak out."""
_SUFFIX = {"K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)([KMGTPE]?)[A-Za-z]?", re.ASCII)
_TIME = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(?:(\d+):)?(\d+)", re.ASCII)
MOST_HOSTS = 100_000


def present(text: str) -> str | None:
    """The text, or None where it is one of Slurm's words for nothing."""
    return None if text in NOTHING else text


@lru_cache(maxsize=4096)
def number(text: str) -> int | None:
    """A count, with Slurm's suffixes of 1024 (``2K`` nodes), the least of a range (``1-4``); None for a sentinel."""
    text = text.split("-", 1)[0].rstrip("*+")
    found = _AMOUNT.fullmatch(text)
    if found is None:
        return None
    value = _scaled(found[1], _SUFFIX.get(found[2], 0))
    return None if value in NO_VALUE else value


def _scaled(digits: str, power: int) -> int:
    """Exact for whole numbers: a float would round the sentinels of 64 bits."""
    return int(digits) * 1024**power if digits.isdecimal() else int(float(digits) * 1024**power)


@lru_cache(maxsize=4096)
def memory_bytes(text: str, unit: str = "M") -> int | None:
    """Bytes of ``4G``, ``500M``, ``62.50G``; a bare number counts in `unit`. None for nothing, ``0`` is 0."""
    found = _AMOUNT.fullmatch(text)
    if found is None or _scaled(found[1], 0) in NO_VALUE:
        return None
    return _scaled(found[1], _SUFFIX[found[2] or unit])


@lru_cache(maxsize=4096)
def seconds(text: str) -> int | None:
    """Seconds of ``30:00`` (minutes:seconds), ``1:00:00``, ``2-00:00:00``, ``1-12`` (days-hours); None for no limit
    and for words such as ``Partition_Limit``."""
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    days, first, second, last = (int(part) if part else None for part in found.groups())
    if days is not None:  # days-hours[:minutes[:seconds]]
        parts = [part for part in (first, second, last) if part is not None] + [0, 0]
        hours, minutes, secs = parts[:3]
        return ((days * 24 + hours) * 60 + minutes) * 60 + secs
    if first is None:  # a bare number is minutes
        return (last or 0) * 60
    if second is None:  # minutes:seconds
        return first * 60 + (last or 0)
    return (first * 60 + second) * 60 + (last or 0)


def when(text: str) -> datetime | None:
    """A time printed by ``SLURM_TIME_FORMAT=%s``: seconds of the epoch. 0 and words are None."""
    if not text.isascii() or not text.isdecimal() or text == "0" or len(text) > 11:
        return None
    return datetime.fromtimestamp(int(text), UTC)


class Tres(NamedTuple):
    """Trackable resources of a whole job or node."""

    cores: int | None = None
    memory_bytes: int | None = None
    gpus: int | None = None
    nodes: int | None = None


@lru_cache(maxsize=8192)
def tres(text: str) -> Tres:
    """``cpu=2,mem=4G,node=1,billing=2,gres/gpu=2``: an untyped GPU count wins over the sum of typed ones
    (``gres/gpu:a100=2``), which Slurm prints beside it."""
    cores = memory = nodes = plain = None
    typed: int | None = None
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name == "cpu":
            cores = number(value)
        elif name == "mem":
            memory = memory_bytes(value)
        elif name == "node":
            nodes = number(value)
        elif name == "gres/gpu":
            plain = number(value)
        elif name.startswith("gres/gpu:"):
            typed = (typed or 0) + (number(value) or 0)
    return Tres(cores, memory, plain if plain is not None else typed, nodes)


@lru_cache(maxsize=4096)
def gpus_of_gres(text: str) -> int:
    """GPUs in a GRES list: ``gpu:a100:4(S:0-1)``, ``gpu:v100:0(IDX:N/A)``, ``gres:gpu:2`` (22.05),
    ``gres/gpu:a100:2`` (later), ``gpu`` alone is one. Other resources (``shard``, ``mps``, ``fpga``) do not count."""
    total = 0
    for part in re.sub(r"\([^)]*\)", "", text).split(","):
        words = part.strip().removeprefix("gres:").removeprefix("gres/").split(":")
        if words[0] != "gpu":
            continue
        total += (number(words[-1]) or 0) if len(words) > 1 and words[-1][:1].isdecimal() else 1
    return total


@lru_cache(maxsize=4096)
def hosts(text: str) -> tuple[str, ...]:
    """The names in a host list: ``n[01-03,07]``, ``a,b[1-2]``, ``r[1-2]n[0-3]``. A list that is malformed, or of more
    than `MOST_HOSTS` names, stays as one name: it is shown, never guessed at."""
    if text in NOTHING:
        return ()
    names: list[str] = []
    for piece in _split_outside_brackets(text):
        expanded = _expand(piece, MOST_HOSTS - len(names))
        if expanded is None:
            return (text,)
        names.extend(expanded)
    return tuple(names)


def _split_outside_brackets(text: str) -> list[str]:
    pieces, depth, start = [], 0, 0
    for index, char in enumerate(text):
        depth += (char == "[") - (char == "]")
        if char == "," and depth == 0:
            pieces.append(text[start:index])
            start = index + 1
    return [*pieces, text[start:]]


def _expand(piece: str, room: int) -> list[str] | None:
    found = re.fullmatch(r"([^\[\]]*)\[([0-9,\-]+)\](.*)", piece, re.DOTALL)
    if found is None:
        return [piece] if "[" not in piece and "]" not in piece else None
    rest = _expand(found[3], room)
    if rest is None:
        return None
    names: list[str] = []
    for span in found[2].split(","):
        first, _, last = span.partition("-")
        last = last or first
        if not (first.isdecimal() and last.isdecimal()) or len(last) > 9:
            return None
        count = int(last) - int(first) + 1
        if count < 1 or (len(names) + count) * len(rest) > room:
            return None
        names.extend(f"{found[1]}{n:0{len(first)}d}{tail}" for n in range(int(first), int(last) + 1) for tail in rest)
    return names


_DEPENDENCY = re.compile(r"(after[a-z]*|expand|aftercorr|singleton)(?::([\w*+]+))?(?:\(([^)]*)\))?", re.ASCII)


@lru_cache(maxsize=4096)
def dependencies(text: str) -> tuple[Dependency, ...]:
    """``afterok:31(unfulfilled),afterany:28_*(unfulfilled)?singleton(unfulfilled)``: one entry a condition. A
    singleton names no job, so its id is empty."""
    found: list[Dependency] = []
    for part in re.split(r"[,?]", text):
        condition = _DEPENDENCY.fullmatch(part.strip())
        if condition is not None:
            found.append(Dependency((condition[2] or "").removesuffix("_*"), condition[1]))
    return tuple(found)


def exit_of(text: str) -> tuple[int | None, int | None]:
    """(exit code, signal) of ``3:0``, ``0:15`` (24.11 and accounting) or a raw wait status ``768`` (22.05). The code of
    a job that a signal ended is None: it never had one."""
    code, colon, signal = text.partition(":")
    if not code.isdecimal() or (colon and not signal.isdecimal()):
        return None, None
    if colon:
        return (None, int(signal)) if int(signal) else (int(code), None)
    status = int(code)
    if status in NO_VALUE:
        return None, None
    return (None, status & 0x7F) if status & 0x7F else (status >> 8, None)


def mib(size: int) -> int:
    """Whole MiB that hold `size` bytes: Slurm counts no finer."""
    return math.ceil(size / 1024**2)


def minutes(duration: int) -> int:
    """Whole minutes that hold `duration` seconds: Slurm counts no finer."""
    return math.ceil(duration / 60)


def time_limit(duration: int) -> str:
    """A time limit as Slurm reads it, whole minutes: ``1-02:30:00``."""
    days, rest = divmod(minutes(duration), 1440)
    return f"{days}-{rest // 60:02d}:{rest % 60:02d}:00" if days else f"{rest // 60:02d}:{rest % 60:02d}:00"
