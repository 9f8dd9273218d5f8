"""Painting one row: cells to segments, and which cells differ between two versions of a row. No widget here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from widgets.columns import Moment, Placed, Role
from widgets.format import fit

Cell: TypeAlias = tuple[str, Role]
StyleOf: TypeAlias = Callable[[str], Style]


class Painted(NamedTuple):
    """A row as it stands on screen: the row it was made from, its cells, and the line."""

    row: Any
    moment: Moment
    cells: tuple[Cell, ...]
    strip: Strip


def cells_of(row: Any, placed: Sequence[Placed], moment: Moment) -> tuple[Cell, ...]:
    """The fitted text and role of each shown column."""
    return tuple((fit(p.column.text(row, moment), p.width, p.column.right), p.column.role(row)) for p in placed)


def changed_span(before: Sequence[Cell], after: Sequence[Cell], placed: Sequence[Placed]) -> tuple[int, int] | None:
    """First cell and width of the part of the line that differs; None where nothing does.

    The compositor sends a changed line from the left edge up to the end of this span, so the end matters most.
    """
    if len(before) != len(after):
        last = placed[-1]
        return 0, last.x + last.width
    differing = [p for p, old, new in zip(placed, before, after, strict=True) if old != new]
    if not differing:
        return None
    first, last = differing[0], differing[-1]
    return first.x, last.x + last.width - first.x


def paint(
    cells: Sequence[Cell], placed: Sequence[Placed], width: int, lead: str, base: Style, style_of: StyleOf | None
) -> Strip:
    """One line of `width` cells. Runs of equal style become one segment, which halves what a page costs.

    Args:
        lead: the mark at the left edge, at most as wide as the margin.
        base: style of the line.
        style_of: style of a role; None paints the whole line in `base` (the cursor, where a state's colour on the
            cursor's would be unreadable).
    """
    segments: list[Segment] = []
    run, run_style, x = lead, base, len(lead)
    for (text, role), spot in zip(cells, placed, strict=True):
        style = base if style_of is None or role == "plain" else style_of(role)
        gap = " " * (spot.x - x)
        if style is run_style or not text.strip():
            run += gap + text
        else:
            segments.append(Segment(run + gap, run_style))
            run, run_style = text, style
        x = spot.x + spot.width
    segments.append(Segment(run, run_style))
    if x < width:
        segments.append(Segment(" " * (width - x), base))
    return Strip([s for s in segments if s.text], max(x, width)).simplify().crop(0, width)
