"""Orders of rows: several keys, each up or down, unknown values last either way, and the id to decide the rest."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import total_ordering
from types import MappingProxyType
from typing import Any, TypeAlias

from adapters.model import JOB_STATUSES, NODE_STATUSES, Ref, Row

KeyOf: TypeAlias = Callable[[Ref, Row], tuple[Any, ...]]
_PARTS = re.compile(r"(\d+)")
# States sort by how much they ask for attention, not by the alphabet.
_STATUS: Mapping[str, int] = MappingProxyType(
    {name: index for index, name in enumerate(dict.fromkeys((*JOB_STATUSES, *NODE_STATUSES)))}
)


@dataclass(frozen=True, slots=True)
class Sort:
    """One key: a field of the row, or a name of `extensions`."""

    field: str
    descending: bool = False


@total_ordering
class _Down:
    """Turns an order around, for values that cannot be negated."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Down) and self.value == other.value

    def __lt__(self, other: _Down) -> bool:
        return bool(other.value < self.value)

    __hash__ = None  # type: ignore[assignment]


def natural(text: str) -> tuple[Any, ...]:
    """Numbers within a text count as numbers: node2 before node10, job 9 before 10."""
    if text.isdecimal():
        return ("", int(text), "")
    parts = _PARTS.split(text)
    return tuple(int(part) if index % 2 else part for index, part in enumerate(parts))


def key_of(sort: Sequence[Sort]) -> KeyOf:
    """The key of a row under these sorts; no two rows have the same."""
    if sort and sort[0] == Sort("id"):
        return lambda ref, row: (natural(ref.id), ref.cluster, ref.born or "")
    parts = [_part(item) for item in sort]

    def key(ref: Ref, row: Row) -> tuple[Any, ...]:
        return (*[part(row) for part in parts], natural(ref.id), ref.cluster, ref.born or "")

    return key


def _part(sort: Sort) -> Callable[[Row], tuple[Any, ...]]:
    """(0, value) for a known value, (1,) for an unknown one, so that the latter come last."""
    field, down = sort.field, sort.descending

    def part(row: Row) -> tuple[Any, ...]:
        value = getattr(row, field, None)
        if value is None and field not in getattr(row, "_fields", ()):
            value = row.extensions.get(field)
        comparable = _comparable(field, value)
        if comparable is None:
            return (1,)
        rank, plain = comparable
        if not down:
            return (0, rank, plain)
        return (0, -rank, -plain if isinstance(plain, int | float) else _Down(plain))

    return part


def _comparable(field: str, value: Any) -> tuple[int, Any] | None:
    """A rank that keeps different types apart, and a value that compares within it."""
    if value is None or value == "" or value == () or value != value:  # NaN has no place in an order
        return None
    if isinstance(value, bool | int | float):
        return (0, value)
    if isinstance(value, datetime):
        return (0, value.timestamp())
    if field == "status" and value in _STATUS:
        return (0, _STATUS[value])
    if isinstance(value, str):
        return (1, natural(value.casefold()))
    if isinstance(value, tuple):
        return (1, natural(str(value[0]).casefold()))
    return (1, natural(str(value)))
