"""Columns of a table: what a cell says, how it looks, and which columns a width has room for. Nothing is drawn here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

from adapters.model import Ref

Role: TypeAlias = Literal["plain", "ok", "info", "warn", "bad", "dim", "strong"]
"""How a cell looks; a theme gives each a colour. The text says the same without colour."""


def no_mark(ref: Ref) -> str | None:
    """The mark of a row where nothing is on its way."""
    return None


@dataclass(frozen=True, slots=True)
class Moment:
    """What a cell may depend on besides its row.

    Args:
        now: the console's one clock.
        mark: what is on its way for a row (``cancel sent``), until the backend says so.
    """

    now: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    mark: Callable[[Ref], str | None] = no_mark


def plain(row: Any) -> Role:
    return "plain"


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Args:
        id: the model's field, or the name under which a view sorts by it.
        width: cells; the least a growing column is given.
        priority: 0 is always shown; the highest number goes first when the terminal is narrow.
        text: the cell's text, already clean.
        role: how it looks.
        grow: share of the space left over; 0 keeps `width`.
        limit: a growing column gets no wider than this.
        ticks: the text changes with time alone.
    """

    id: str
    title: str
    width: int
    priority: int
    text: Callable[[Any, Moment], str]
    role: Callable[[Any], Role] = plain
    right: bool = False
    grow: int = 0
    limit: int = 10_000
    ticks: bool = False


@dataclass(frozen=True, slots=True)
class Placed:
    """A column and where it stands: first cell and width."""

    column: Column
    x: int
    width: int


def place(columns: Sequence[Column], width: int, margin: int = 2) -> tuple[Placed, ...]:
    """Lay out what fits into `width` cells, in the given order, after a left `margin` that holds the mark.

    Columns are taken by priority as long as their width fits; the rest is shared among the growing ones.
    Columns of priority 0 are kept even where they do not fit: they are cut at the edge.
    """
    gap = 1 if width < 100 else 2
    room = width - margin
    kept: set[str] = set()
    for column in sorted(columns, key=lambda c: c.priority):
        need = column.width + (gap if kept else 0)
        if need <= room:
            room -= need
        elif column.priority:
            continue
        else:
            room = 0
        kept.add(column.id)
    shown = [column for column in columns if column.id in kept]
    widths = _grow(shown, max(0, room))
    placed, x = [], margin
    for column in shown:
        if x < width:
            placed.append(Placed(column, x, min(widths[column.id], width - x)))
        x += widths[column.id] + gap
    return tuple(placed)


def _grow(columns: Sequence[Column], spare: int) -> dict[str, int]:
    """Share `spare` cells among the growing columns by their weight, up to their limit."""
    widths = {column.id: column.width for column in columns}
    growing = [column for column in columns if column.grow]
    while spare > 0 and growing:
        weight = sum(column.grow for column in growing)
        before = spare
        for column in growing:
            share = max(1, before * column.grow // weight)
            share = min(share, spare, column.limit - widths[column.id])
            widths[column.id] += share
            spare -= share
        growing = [column for column in growing if widths[column.id] < column.limit]
        if spare == before:
            break
    return widths


def tagged(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The same columns with the cluster before the name: for a table that holds rows of several clusters."""
    tag = Column("cluster", "CLUSTER", 8, 1, lambda row, _: row.cluster, lambda row: "info", grow=1, limit=14)
    at = next((n for n, column in enumerate(columns) if column.id == "name"), 0)
    return (*columns[:at], tag, *columns[at:])


def chosen(columns: Sequence[Column], ids: Sequence[str]) -> tuple[Column, ...]:
    """The columns of these ids, in this order, the first wanted most; without a known id, all as given."""
    known = {column.id: column for column in columns}
    found = [known[id] for id in ids if id in known]
    return tuple(replace(column, priority=n) for n, column in enumerate(found)) if found else tuple(columns)
