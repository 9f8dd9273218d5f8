"""Long lines over several rows of the screen, by cells and not by characters. No widget here."""

from __future__ import annotations

from bisect import bisect_left

from rich.cells import get_character_cell_size

from widgets.log_text import LogText

SLACK = 10_000  # rows that may have gone before memory for them is given back


def starts(text: str, width: int) -> list[int]:
    """The characters at which the rows of a line begin: no row is wider than `width` cells, none splits a character.

    A character that is wider than the row stands alone in it.
    """
    if text.isascii():
        return list(range(0, max(1, len(text)), width))
    found, used = [0], 0
    for at, char in enumerate(text):
        cells = get_character_cell_size(char)
        if used + cells > width and used:
            found.append(at)
            used = 0
        used += cells
    return found


class Wrapping:
    """The rows of a text at a width. Lines that are finished are measured once."""

    def __init__(self, text: LogText, width: int) -> None:
        self._text = text
        self._width = width
        self._rows: list[tuple[int, int]] = []  # line, counted from the first there was, and first character
        self._gone = 0  # rows at the beginning of the list that no longer count
        self._measured = 0  # lines, counted from the first there was, that are finished and measured
        self._open = 0  # rows of unfinished lines at the end of the list
        self.clear()

    def __len__(self) -> int:
        return len(self._rows) - self._gone

    def clear(self) -> None:
        """Measure anew."""
        self._rows.clear()
        self._gone = self._open = 0
        self._measured = self._text.dropped

    def drop(self, dropped: int) -> int:
        """Forget the rows of the first lines, so many in all by now; returns how many rows that were."""
        before = self._gone
        self._gone = bisect_left(self._rows, (dropped, 0), before)
        gone = self._gone - before
        if self._gone > SLACK:
            del self._rows[: self._gone]
            self._gone = 0
        self._measured = max(self._measured, dropped)
        return gone

    def update(self, width: int) -> None:
        """Measure what is new; all of it at another width."""
        if width != self._width:
            self._width = width
            self.clear()
        if self._open:
            del self._rows[-self._open :]
        dropped = self._text.dropped
        finished = dropped + len(self._text.lines)
        for number in range(self._measured, finished):
            self._add(number, number - dropped)
        self._measured = finished
        before = len(self._rows)
        for number in range(finished, dropped + len(self._text)):
            self._add(number, number - dropped)
        self._open = len(self._rows) - before

    def _add(self, number: int, index: int) -> None:
        self._rows.extend((number, start) for start in starts(self._text.line(index), self._width))

    def row(self, y: int) -> tuple[int, int]:
        """Of a row: the line, and the character it begins with."""
        number, start = self._rows[self._gone + y]
        return number - self._text.dropped, start

    def row_of(self, index: int) -> int:
        """The first row of a line."""
        return bisect_left(self._rows, (index + self._text.dropped, 0), self._gone) - self._gone

    @staticmethod
    def end(text: str, start: int, width: int) -> int:
        """The character behind the last one of the row that begins at `start`."""
        if text.isascii():
            return min(len(text), start + width)
        end, used = start, 0
        while end < len(text):
            cells = get_character_cell_size(text[end])
            if used + cells > width and used:
                break
            used, end = used + cells, end + 1
        return end
