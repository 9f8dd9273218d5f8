"""LSF's sizes, durations and counts -> bytes, seconds and integers.

LSF's K, M, G, T are powers of 1024. A size without a unit is not understood on purpose: it means KB, MB or GB,
depending on LSF_UNIT_FOR_LIMITS of the site. Empty text and ``-`` are unknown and give None, and so does
everything that cannot be read: a figure is never invented.
"""

from __future__ import annotations

import re
from typing import Final

_POWER: Final = {"K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_SIZE = re.compile(r"^\s*([0-9]+(?:\.[0-9]*)?)\s*([KMGTPE])?\s*(?:i?B|bytes?)?\s*\*?\s*$", re.IGNORECASE)
_CLOCK = re.compile(r"^\s*(\d+):(\d{1,2})(?::(\d{1,2})(?:\.\d+)?)?\s*$")
_SECONDS = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*(?:seconds?|second\(s\)|sec)?\s*\.?\s*$", re.IGNORECASE)
_MINUTES = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*(?:min(?:utes?)?)?\s*(?:/\s*(\S+)|of\s+(\S+))?\s*$", re.IGNORECASE)
_NUMBER = re.compile(r"^\s*(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*%?\s*\*?\s*$", re.IGNORECASE)
MARKS: Final = {"E": "estimated", "L": "limited by the run limit", "X": "the estimate has been exceeded"}


def unknown(text: str | None) -> bool:
    """True for LSF's ways of saying nothing: an empty value, ``-``, or ``-`` padded to a width."""
    return text is None or text.strip() in ("", "-")


def size(text: str | None, unit: str | None = None) -> int | None:
    """Bytes of ``5.2 Gbytes``, ``522 MBytes``, ``102400 K``, ``14807.0M``, ``0.01G``.

    `unit` is the unit of a number that has none (``K``, ``MB``, ``G`` ...); without it such a number is unknown.
    """
    if text is None or not (match := _SIZE.match(text)):
        return None
    letter = (match[2] or (unit or "")[:1]).upper()
    if letter not in _POWER:
        return None
    return round(float(match[1]) * float(1024 ** _POWER[letter]))


def seconds(text: str | None) -> int | None:
    """Seconds of ``16038 second(s)``, ``17``, ``00:10:00``, ``165:53:45.00``."""
    if text is None:
        return None
    if match := _CLOCK.match(text):
        hours, minutes, rest = (int(part or 0) for part in match.groups())
        return hours * 3600 + minutes * 60 + rest
    match = _SECONDS.match(text)
    return round(float(match[1])) if match else None


def run_limit(text: str | None) -> tuple[int | None, str | None]:
    """A run limit in seconds and the host its minutes are normalised to, if any.

    ``1440.0`` and ``60.0 min`` are minutes, ``3.0/hostA`` and ``480.0 min of a6122`` minutes of that host's speed,
    ``00:10:00`` is what ``-hms`` gives.
    """
    if text is None or unknown(text):
        return None, None
    if match := _CLOCK.match(text):
        return seconds(text), None
    if match := _MINUTES.match(text):
        return round(float(match[1]) * 60), match[2] or match[3]
    return None, None


def count(text: str | None) -> int | None:
    """A whole number; ``-`` (no limit, unknown) is None."""
    if text is None:
        return None
    text = text.strip()
    return int(text) if text.isascii() and text.isdecimal() else None


def number(text: str | None) -> float | None:
    """A load index: ``0.5``, ``98%``, ``3e+05``, ``-0.0``; a ``*`` behind it marks a value over its threshold."""
    if text is None or not (match := _NUMBER.match(text)):
        return None
    return float(match[1])


def without_mark(text: str) -> tuple[str, str | None]:
    """Split ``Dec 28 19:56 L`` into the value and its mark (E, L or X: see `MARKS`)."""
    text = text.strip()
    if len(text) > 2 and text[-1] in MARKS and text[-2] == " ":
        return text[:-2].rstrip(), text[-1]
    return text, None


def kib(amount: int) -> int:
    """Bytes in whole KB of 1024, rounded up."""
    return -(-amount // 1024)


def size_argument(amount: int, unit: str | None = None) -> tuple[str, int]:
    """What to write after ``-M``, and the bytes it means, never fewer than asked for.

    Without `unit`, a number with the largest unit that divides it (needs 10.1.0.2); with `unit` (the site's
    LSF_UNIT_FOR_LIMITS) a bare number in that unit, rounded up.
    """
    if unit is not None:
        step = 1024 ** _POWER[unit[:1].upper()]
        whole = -(-amount // step)
        return str(whole), whole * step
    whole, letters = kib(amount), "KB"
    for larger in ("MB", "GB"):
        if whole % 1024:
            break
        whole, letters = whole // 1024, larger
    return f"{whole}{letters}", whole * 1024 ** _POWER[letters[0]]


def run_limit_argument(amount: int) -> tuple[str, int]:
    """What to write after ``-W`` (``hours:minutes``), and the seconds it means: whole minutes, rounded up."""
    minutes = -(-amount // 60)
    return f"{minutes // 60}:{minutes % 60:02d}", minutes * 60
