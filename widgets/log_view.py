"""A job's output: a virtual list of lines that follows its end until one scrolls up."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from widgets.format import fit
from widgets.log_search import ERROR
from widgets.log_text import Line, LogText, Origin
from widgets.log_wrap import Wrapping

MARKS: dict[Origin, str] = {"stdout": "  ", "stderr": "e ", "note": "  "}
"""What stands before a line where two streams are merged: to be told apart without colour too."""


class LogView(ScrollView, can_focus=True, inherit_bindings=False):
    """Shows a LogText; draws the lines on screen and no others. What is fed shows with the next `paint`."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "log-view--note", "log-view--found", "log-view--error", "log-view--stderr",
    }  # fmt: skip
    DEFAULT_CSS = "LogView { overflow-x: hidden; scrollbar-size-vertical: 1; }"
    ALLOW_SELECT = False

    class Moved(Message):
        """It was scrolled by the mouse, and may follow the end no more."""

    def __init__(self, *, merged: bool = False) -> None:
        super().__init__()
        self.text = LogText()
        self.following = True
        self.fresh = False  # something was fed that is not painted yet
        self._merged = merged
        self._note = ""
        self._found: int | None = None  # counted from the first line there was
        self._dropped = 0  # lines that were dropped when it was last painted
        self._wrapping: Wrapping | None = None

    # -- what it shows ----------------------------------------------------------------------------------------------

    def feed(self, data: bytes, reset: bool = False, origin: Origin = "stdout") -> None:
        """Add bytes of the log; `reset`: it begins anew. It is painted by the next `paint`."""
        if reset:
            self.clear()
        self.text.feed(data, origin)
        self.fresh = True

    def clear(self) -> None:
        """Begin anew."""
        self.text.clear()
        self._found, self._dropped, self.fresh = None, 0, True
        if self._wrapping is not None:
            self._wrapping.clear()

    def note(self, text: str) -> None:
        """What is said below the last line: why there is nothing, or that the job is over."""
        if text != self._note:
            self._note, self.fresh = text, True

    def paint(self) -> None:
        """Show what was fed since."""
        self.fresh = False
        gone = self.text.dropped - self._dropped
        self._dropped = self.text.dropped
        rows_gone = self._wrapping.drop(self._dropped) if self._wrapping is not None else gone
        self._resize()
        if self.following:
            self.to_end()
        elif rows_gone > 0:  # the lines on screen stay where they are, although those above have gone
            self.scroll_to(y=self.scroll_offset.y - rows_gone, animate=False, force=True)
        self.refresh()

    # -- where it stands --------------------------------------------------------------------------------------------

    def move(self, by: int) -> None:
        """Scroll; moving up stops following, reaching the end resumes it."""
        self.scroll_to(y=self.scroll_offset.y + by, animate=False, force=True)
        self.following = by > 0 and self.scroll_offset.y >= self.max_scroll_y

    def to_top(self) -> None:
        self.following = False
        self.scroll_to(y=0, animate=False, force=True)

    def to_end(self) -> None:
        self.following = True
        self.scroll_to(y=self.max_scroll_y, animate=False, force=True)

    @property
    def page(self) -> int:
        return max(1, self.size.height - 1)

    @property
    def top(self) -> int:
        """The first line on screen."""
        y = self.scroll_offset.y
        return self._wrapping.row(y)[0] if self._wrapping is not None and y < len(self._wrapping) else y

    def show_line(self, index: int) -> None:
        """Bring a line on screen and mark it; stops following."""
        if self.fresh:
            self.paint()
        self.following, self._found = False, index + self.text.dropped
        row = self._wrapping.row_of(index) if self._wrapping is not None else index
        self.scroll_to(y=max(0, row - self.page // 3), animate=False, force=True)
        self.refresh()

    def toggle_wrap(self) -> bool:
        """Wrap long lines, or cut them; returns what holds now."""
        self._wrapping = Wrapping(self.text, self._room) if self._wrapping is None else None
        self.paint()
        return self._wrapping is not None

    # -- drawing ----------------------------------------------------------------------------------------------------

    @property
    def _room(self) -> int:
        """Cells for the text of a line."""
        return max(1, self.size.width - (len(MARKS["stdout"]) if self._merged else 0))

    def _count(self) -> int:
        return len(self.text) if self._wrapping is None else len(self._wrapping)

    def _resize(self) -> None:
        if self._wrapping is not None:
            self._wrapping.update(self._room)
        self.virtual_size = Size(0, self._count() + bool(self._note))

    def on_resize(self) -> None:
        self.paint()

    def render_line(self, y: int) -> Strip:
        row, width = self.scroll_offset.y + y, self.size.width
        count = self._count()
        if row < count:
            index, start = (row, 0) if self._wrapping is None else self._wrapping.row(row)
            if index < len(self.text):
                return self._line(index, start)
        if row == count and self._note:
            return Strip([Segment(fit(self._note, width), self.get_component_rich_style("log-view--note"))], width)
        return Strip.blank(width, self.rich_style)

    def _line(self, index: int, start: int) -> Strip:
        """One line from a character on, in as many cells as there are."""
        line = self.text.entry(index)
        style = self._style(index, line)
        room, end = self._room, len(line.text)
        if self._wrapping is not None:
            end = self._wrapping.end(line.text, start, room)
        pieces = [Segment(MARKS[line.origin] if start == 0 else "  ", style)] if self._merged else []
        if line.spans and style == self.rich_style and cell_len(line.text[start:end]) <= room:
            pieces += _pieces(line, start, end, style)
            pieces.append(Segment(" " * (room - cell_len(line.text[start:end])), style))
        else:
            pieces.append(Segment(fit(line.text[start:end], room), style))
        return Strip(pieces, self.size.width)

    def _style(self, index: int, line: Line) -> Style:
        if index + self.text.dropped == self._found:
            return self.get_component_rich_style("log-view--found")
        if line.origin == "note":
            return self.get_component_rich_style("log-view--note")
        if ERROR.search(line.text):
            return self.get_component_rich_style("log-view--error")
        if self._merged and line.origin == "stderr":
            return self.get_component_rich_style("log-view--stderr")
        return self.rich_style

    def on_mouse_scroll_up(self) -> None:
        self.following = False
        self.post_message(self.Moved())


def _pieces(line: Line, start: int, end: int, style: Style) -> list[Segment]:
    """The text between two characters, in the colours that the program gave it."""
    pieces, at = [], start
    for span in line.spans:
        first, last = max(at, span.start), min(span.end, end)
        if last <= first:
            continue
        pieces.append(Segment(line.text[at:first], style))
        pieces.append(Segment(line.text[first:last], style + Style.parse(span.style)))
        at = last
    pieces.append(Segment(line.text[at:end], style))
    return [piece for piece in pieces if piece.text]
