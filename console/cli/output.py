"""What a subcommand prints: tables for people, JSON for programs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, NamedTuple, TextIO, TypeVar

from adapters.model import as_json

T = TypeVar("T")


class Column(NamedTuple, Generic[T]):
    """One column of a table. `text` must return cleaned text on one line.

    `keep` says how important the column is: where the terminal is too narrow, those with the lowest go first, and
    before that columns with `shrink` are cut down to that width.
    """

    title: str
    text: Callable[[T], str]
    right: bool = False
    keep: int = 5
    shrink: int = 0


def emit_json(value: Any) -> None:
    """One value as one line of JSON."""
    print(json.dumps(as_json(value), ensure_ascii=False, default=str))


def emit_rows(rows: Iterable[T], columns: Sequence[Column[T]], *, as_lines_of_json: bool, nothing: str) -> None:
    """A list: one JSON object a line, or a table that fits the terminal; `nothing` is said where it is empty."""
    if as_lines_of_json:
        for row in rows:
            emit_json(row)
        return
    listed = list(rows)
    if not listed:
        print(nothing, file=sys.stderr)
        return
    for line in table_lines(listed, columns, terminal_width(sys.stdout)):
        print(line)


def terminal_width(stream: TextIO) -> int | None:
    """Columns of the terminal behind a stream; None where it is none, and then nothing is cut."""
    if not stream.isatty():
        return None
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except OSError:
        return None


def table_lines(rows: Sequence[T], columns: Sequence[Column[T]], width: int | None) -> list[str]:
    """The header and one line a row, no wider than `width` cells."""
    cells = [[column.text(row) for column in columns] for row in rows]
    natural = [
        max(cell_width(column.title), *(cell_width(line[index]) for line in cells))
        for index, column in enumerate(columns)
    ]
    widths = natural if width is None else fitted(columns, natural, width)
    titles = [column.title for column in columns]
    return [_line(line, columns, widths) for line in [titles, *cells]]


def fitted(columns: Sequence[Column[T]], natural: Sequence[int], width: int) -> list[int]:
    """A width for each column, 0 for those left out: first cut what may shrink, then drop the least important."""
    widths = list(natural)

    def excess() -> int:
        shown = [w for w in widths if w]
        return sum(shown) + 2 * (len(shown) - 1) - width

    while (over := excess()) > 0:
        broadest = max(
            (i for i, column in enumerate(columns) if column.shrink and widths[i] > column.shrink),
            key=lambda i: widths[i],
            default=None,
        )
        if broadest is not None:
            widths[broadest] = max(columns[broadest].shrink, widths[broadest] - over)
            continue
        shown = [i for i, w in enumerate(widths) if w]
        if len(shown) == 1:
            widths[shown[0]] = width
            break
        widths[min(shown, key=lambda i: (columns[i].keep, -i))] = 0
    return widths


def _line(cells: Sequence[str], columns: Sequence[Column[T]], widths: Sequence[int]) -> str:
    parts = [
        fit_cell(cell, width, right=column.right)
        for cell, column, width in zip(cells, columns, widths, strict=True)
        if width
    ]
    return "  ".join(parts).rstrip()


def cell_width(text: str) -> int:
    """Terminal cells of cleaned text."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def fit_cell(text: str, width: int, *, right: bool = False) -> str:
    """The text in exactly `width` cells: padded, or cut with a mark at the end."""
    missing = width - cell_width(text)
    if missing >= 0:
        return " " * missing + text if right else text + " " * missing
    if text.isascii():
        return text[: max(0, width - 1)] + "…"
    from rich.cells import set_cell_size

    return set_cell_size(text, width - 1) + "…"
