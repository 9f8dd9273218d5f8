"""The values of the native wire as the server reads them: sizes, run limits, arrays, dependencies, times."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from adapters.local.problem import Problem

# "a memory limit is written as text with a unit; GB there means 1024 MB" (the native wire)
_UNITS_MB = {"MB": 1, "M": 1, "GB": 1024, "G": 1024, "TB": 1024 * 1024, "T": 1024 * 1024}
DEPENDENCY_KINDS = ("afterok", "afterany", "afternotok", "after")
MAX_ARRAY = 100_000


def iso(at: float | None) -> str | None:
    """Seconds since the epoch as ISO 8601 in UTC, to the millisecond."""
    if at is None:
        return None
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def epoch(text: Any, name: str) -> float | None:
    """An ISO 8601 time, or seconds since the epoch. Raises Problem 422."""
    if text in (None, ""):
        return None
    try:
        return float(text)
    except (TypeError, ValueError):
        pass
    try:
        at = datetime.fromisoformat(str(text))
    except ValueError:
        raise Problem(422, f"{name} must be a time in ISO 8601, not {text!r}") from None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def whole(value: Any, name: str, least: int, most: int = 1_000_000_000) -> int:
    """A whole number, not a bool or a float with a fraction. Raises Problem 422."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Problem(422, f"{name} must be a whole number, not {value!r}")
    if not least <= value <= most:
        raise Problem(422, f"{name} must be between {least} and {most}, not {value}")
    return value


def memory_mb(value: Any) -> int:
    """A memory limit in MB: text with a unit (``4096 MB``), or a number of MB. Raises Problem 422."""
    if not isinstance(value, str):
        return whole(value, "mem_limit", 1)
    match = re.fullmatch(r"\s*(\d{1,12})\s*([A-Za-z]*)\s*", value)
    if match is None or match[2].upper() not in {*_UNITS_MB, ""}:
        raise Problem(422, f"mem_limit must be a number and MB or GB, not {value!r}")
    return whole(int(match[1]) * _UNITS_MB.get(match[2].upper(), 1), "mem_limit", 1)


def run_limit_seconds(value: Any) -> int:
    """A run limit in seconds, from ``HH:MM``; a bare number is minutes. Raises Problem 422."""
    if isinstance(value, str):
        match = re.fullmatch(r"(\d{1,5}):([0-5]\d)", value.strip())
        if match:
            return whole(int(match[1]) * 3600 + int(match[2]) * 60, "run_limit", 60)
        if not value.strip().isdecimal():
            raise Problem(422, f"run_limit must be HH:MM, not {value!r}")
        value = int(value)
    return whole(value, "run_limit", 1, 10_000_000) * 60


def hours_minutes(seconds: int) -> str:
    """Seconds as ``HH:MM``, rounded up."""
    minutes = -(-seconds // 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


Ranges = list[tuple[int, int, int]]


def parse_ranges(text: str) -> Ranges:
    """``1-10:2,15`` as [(first, last, step)], last included. Raises Problem 422."""
    found: Ranges = []
    for part in filter(None, text.split(",")):
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", part.strip())
        if match is None:
            raise Problem(422, f"array must be like 1-100%5 or 1-9:2,15, not {text!r}")
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if last < first or step < 1:
            raise Problem(422, f"array part {part!r} is empty")
        found.append((first, first + (last - first) // step * step, step))
    return found


def format_ranges(ranges: Sequence[tuple[int, int, int]]) -> str:
    """The inverse of `parse_ranges`."""
    return ",".join(
        str(first) if first == last else f"{first}-{last}" + (f":{step}" if step > 1 else "")
        for first, last, step in ranges
    )


def count_ranges(ranges: Ranges) -> int:
    return sum((last - first) // step + 1 for first, last, step in ranges)


def pop_first(ranges: Ranges) -> tuple[int, Ranges]:
    """The first index, and what is left without it."""
    first, last, step = ranges[0]
    rest = [(first + step, last, step)] if first < last else []
    return first, rest + ranges[1:]


def parse_array(text: Any) -> tuple[Ranges, int | None]:
    """``1-100%5`` as ranges and the number of elements that may run at a time. Raises Problem 422."""
    if not isinstance(text, str):
        raise Problem(422, f"array must be text like 1-100%5, not {text!r}")
    body, _, throttle = text.strip().strip("[]").replace("]%", "%").partition("%")
    if throttle and not (throttle.isdecimal() and int(throttle) > 0):
        raise Problem(422, f"the number after % of an array must be at least 1, not {throttle!r}")
    ranges = parse_ranges(body)
    size = count_ranges(ranges)
    if not 1 <= size <= MAX_ARRAY:
        raise Problem(422, f"an array has between 1 and {MAX_ARRAY} elements, not {size}")
    spans = sorted(ranges)
    overlap = any(b[0] <= a[1] for a, b in pairwise(spans))
    if overlap and len({i for a, b, c in ranges for i in range(a, b + 1, c)}) != size:
        raise Problem(422, f"array {text!r} names an index twice")
    return ranges, int(throttle) if throttle else None


def parse_depends(value: Any) -> list[tuple[int, str]]:
    """Dependencies as [(job id, kind)]: a list of {id, kind} or of ids, or ``afterok:12:13,afterany:14``.

    Raises Problem 422.
    """
    found: list[tuple[int, str]] = []
    if isinstance(value, str):
        for part in filter(None, value.replace(" ", "").split(",")):
            kind, *ids = part.split(":")
            found += [(_job_id(i), _dependency_kind(kind)) for i in ids] if ids else [(_job_id(kind), "afterok")]
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, dict):
                found.append((_job_id(item.get("id")), _dependency_kind(item.get("kind", "afterok"))))
            else:
                found.append((_job_id(item), "afterok"))
    else:
        raise Problem(422, f"depends_on must be like afterok:12,afterany:13, not {value!r}")
    return list(dict.fromkeys(found))


def _job_id(value: Any) -> int:
    text = str(value)
    if not re.fullmatch(r"\d{1,18}", text):
        raise Problem(422, f"depends_on names {value!r}, which is no job id")
    return int(text)


def _dependency_kind(value: Any) -> str:
    if value not in DEPENDENCY_KINDS:
        raise Problem(422, f"a dependency is one of {', '.join(DEPENDENCY_KINDS)}, not {value!r}")
    return str(value)


def line(value: Any, name: str, most: int = 1024) -> str | None:
    """Text on one line without control characters, None if absent. Raises Problem 422."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise Problem(422, f"{name} must be text, not {value!r}")
    if len(value) > most:
        raise Problem(422, f"{name} is longer than {most} characters")
    if any(ord(c) < 0x20 or ord(c) == 0x7F or 0xD800 <= ord(c) < 0xE000 for c in value):
        raise Problem(422, f"{name} holds a control character")
    return value
