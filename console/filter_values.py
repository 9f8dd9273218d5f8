"""Comparisons of the filter line: numbers, sizes, durations and ages."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from adapters.model import ROW_TYPES, Kind, Row
from adapters.units import UnitError, parse_duration, parse_size

COMPARE: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le}
)
# Short names, and figures that are worked out from two fields of a row.
NAMES: Mapping[str, str] = MappingProxyType(
    {
        "mem": "memory_bytes", "memory": "memory_bytes", "limit": "walltime_seconds", "walltime": "walltime_seconds",
        "gpu": "gpus", "exit": "exit_code", "slots": "slots_used", "quota": "slots_quota", "pending": "pending_jobs",
        "running": "running_jobs", "elapsed": "time",
    }
)  # fmt: skip
SIZES = frozenset({"memory_bytes", "memory_bytes_total", "memory_bytes_used"})
DURATIONS = frozenset({"walltime_seconds", "max_walltime_seconds"})
AGES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "age": ("submission_time", ""),
        "time": ("start_time", "end_time"),
        "waited": ("submission_time", "start_time"),
        "heartbeat": ("heartbeat_time", ""),
        "ended": ("end_time", ""),
    }
)
"""Name -> field it begins with, and field it ends with, or now."""


class FilterError(ValueError):
    """The filter means nothing; the message says why, in a sentence."""


def is_timed(name: str) -> bool:
    """Whether a comparison by that name changes with time."""
    return NAMES.get(name.lower(), name.lower()) in AGES


def comparison(kind: Kind, name: str, sign: str, value: str) -> Callable[[Row], bool]:
    """The test ``name sign value``. A row whose figure is unknown never matches. Raises FilterError."""
    field = NAMES.get(name, name)
    compare = COMPARE[sign]
    if field in AGES:
        wanted_seconds = _duration(name, value)
        begin, end = AGES[field]
        if begin not in _fields(kind):
            raise FilterError(f"A {kind} has no {name}.")
        return lambda row: _compare(compare, _span(row, begin, end), wanted_seconds)
    figure = _figure(kind, name, field, value)
    if field.startswith("ext."):
        return lambda row: _compare(compare, row.extensions.get(field[4:]), figure)
    return lambda row: _compare(compare, getattr(row, field), figure)


def _fields(kind: Kind) -> tuple[str, ...]:
    return getattr(ROW_TYPES[kind], "_fields", ())


def _figure(kind: Kind, name: str, field: str, value: str) -> float:
    if field not in _fields(kind) and not field.startswith("ext."):
        raise FilterError(f"A {kind} has no {name} to compare.")
    try:
        if field in SIZES:
            return parse_size(value)
        if field in DURATIONS:
            return parse_duration(value)
        return float(value)
    except UnitError as error:
        raise FilterError(str(error)) from error
    except ValueError as error:
        raise FilterError(f"{name} is compared with a number; {value!r} is none.") from error


def _duration(name: str, value: str) -> int:
    try:
        return parse_duration(value)
    except UnitError as error:
        raise FilterError(f"{name} is compared with a duration. {error}") from error


def _span(row: Row, begin: str, end: str) -> float | None:
    start = getattr(row, begin)
    if start is None:
        return None
    stop: datetime = (getattr(row, end, None) if end else None) or datetime.now(UTC)
    return float((stop - start).total_seconds())


def _compare(compare: Callable[[Any, Any], bool], found: Any, wanted: float) -> bool:
    if isinstance(found, int | float) and not isinstance(found, bool):
        return compare(found, wanted)
    return False
