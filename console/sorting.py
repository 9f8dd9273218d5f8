"""Orders of rows: several keys, each up or down, unknown values last either way, and the id to decide the rest."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, total_ordering
from itertools import chain
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

from adapters.model import JOB_STATUSES, NODE_STATUSES, Ref, Row

KeyOf: TypeAlias = Callable[[Ref, Row], tuple[Any, ...]]
T = TypeVar("T", bound=tuple[Any, ...])
_RUN = 8192  # rows that are sorted in one go, about 10 ms
_NUMBER = re.compile(r"\d+")
_UNKNOWN = 2  # the rank of a value that is not known: the last one, whichever way the order goes
# States sort by how much they ask for attention, not by the alphabet.
_STATUS: Mapping[str, int] = MappingProxyType(
    {name: index for index, name in enumerate(dict.fromkeys((*JOB_STATUSES, *NODE_STATUSES)))}
)


@dataclass(frozen=True, slots=True)
class Sort:
    """One key: a field of the row, or a name of `extensions`."""

    field: str
    descending: bool = False


def sort_of(word: str) -> Sort:
    """``cores-``: by cores, the largest first."""
    return Sort(word.rstrip("-"), word.endswith("-"))


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


def natural(text: str) -> str:
    """A text that sorts as people count: node2 before node10, job 9 before 10. Each number is led by its length."""
    if text.isdecimal() and text.isascii() and text[0] != "0":
        return f"{chr(len(text))}{text}"
    return _NUMBER.sub(_counted, text)


def _counted(number: re.Match[str]) -> str:
    digits = str(int(number[0]))
    zeros = len(number[0]) - len(digits)
    return f"{chr(len(digits))}{digits}{chr(zeros) if zeros else ''}"


_natural = lru_cache(maxsize=1 << 14)(natural)  # names, owners, queues: few different ones


def key_of(sort: Sequence[Sort]) -> KeyOf:
    """The key of a row under these sorts; no two rows have the same. Keys are flat: tuples in tuples compare slowly."""
    if sort and sort[0] == Sort("id"):
        return lambda ref, row: (natural(ref.id), ref.cluster, ref.born or "")
    parts = [_part(item) for item in sort]
    if len(parts) == 1:
        only = parts[0]
        return lambda ref, row: (*only(row), natural(ref.id), ref.cluster, ref.born or "")

    def key(ref: Ref, row: Row) -> tuple[Any, ...]:
        return (*chain.from_iterable(part(row) for part in parts), natural(ref.id), ref.cluster, ref.born or "")

    return key


def _part(sort: Sort) -> Callable[[Row], tuple[Any, ...]]:
    """(rank, value): ranks keep different types apart, and unknown values last."""
    field, down = sort.field, sort.descending

    def part(row: Row) -> tuple[Any, ...]:
        value = getattr(row, field, None)
        if value is None and field not in getattr(row, "_fields", ()):
            value = row.extensions.get(field)
        rank, plain = _comparable(field, value)
        if not down or rank == _UNKNOWN:
            return (rank, plain)
        return (-rank, -plain if isinstance(plain, int | float) else _Down(plain))

    return part


def _comparable(field: str, value: Any) -> tuple[int, Any]:
    """A rank that keeps different types apart, and a value that compares within it."""
    if value is None or value == "" or value == () or value != value:  # NaN has no place in an order
        return (_UNKNOWN, 0)
    if isinstance(value, bool | int | float):
        return (0, value)
    if isinstance(value, datetime):
        return (0, value.timestamp())
    if isinstance(value, str):
        return (0, _STATUS[value]) if field == "status" and value in _STATUS else (1, _natural(value.casefold()))
    return (1, _natural(str(value[0] if isinstance(value, tuple) else value).casefold()))


def in_order(keyed: list[T]) -> list[T]:
    """Sorted in pieces: one sort of 100,000 would keep every other thread waiting until it is done, 0.2 s."""
    runs = [sorted(keyed[start : start + _RUN]) for start in range(0, len(keyed), _RUN)]
    while len(runs) > 1:
        runs = [sorted(chain(*runs[at : at + 2])) for at in range(0, len(runs), 2)]
    return runs[0] if runs else []
