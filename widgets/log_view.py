"""A job's output: a virtual list of lines that follows its end until one scrolls up."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from widgets.format import fit
from widgets.log_search import ERROR
from widgets.log_text import LogText


class LogView(ScrollView, can_focus=True):
    """Shows a LogText; draws the lines on screen and no others."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"log-view--note", "log-view--found", "log-view--error"}
    DEFAULT_CSS = "LogView { overflow-x: hidden; scrollbar-size-vertical: 1; }"
    ALLOW_SELECT = False

    def __init__(self) -> None:
        super().__init__(id="log-view")
        self.text = LogText()
        self.following = True
        self._note = ""
        self._found: int | None = None
        self._wraps = False
        self._rows: list[tuple[int, int]] = []  # of wrapped lines: line and first character of each row

    def feed(self, data: bytes, reset: bool = False) -> None:
        """Add bytes of the log; `reset`: it begins anew."""
        if reset:
            self.text.clear()
        before = len(self.text)
        dropped = self.text.dropped
        self.text.feed(data)
        self._resize()
        if self.following:
            self.to_end()
        if self.text.dropped != dropped or reset or self._wraps:
            self.refresh()
        else:
            first = max(0, before - 1 - self.scroll_offset.y)
            if first < self.size.height:
                self.refresh(Region(0, first, self.size.width, self.size.height - first))

    def note(self, text: str) -> None:
        """What is said below the last line: why there is nothing, or that the job is over."""
        if text != self._note:
            self._note = text
            self._resize()
            self.refresh()

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
        return self._rows[y][0] if self._wraps and y < len(self._rows) else y

    def show_line(self, index: int) -> None:
        """Bring a line on screen and mark it; stops following."""
        self.following, self._found = False, index
        row = next((n for n, (line, _) in enumerate(self._rows) if line >= index), index) if self._wraps else index
        self.scroll_to(y=max(0, row - self.page // 3), animate=False, force=True)
        self.refresh()

    def toggle_wrap(self) -> bool:
        """Wrap long lines, or cut them; returns what holds now."""
        self._wraps = not self._wraps
        self._resize()
        if self.following:
            self.to_end()
        self.refresh()
        return self._wraps

    def _resize(self) -> None:
        if self._wraps:
            width = max(1, self.size.width)
            self._rows = [
                (index, start)
                for index in range(len(self.text))
                for start in range(0, max(1, len(self.text.line(index))), width)
            ]
        count = len(self._rows) if self._wraps else len(self.text)
        self.virtual_size = Size(0, count + bool(self._note))

    def on_resize(self) -> None:
        self._resize()

    def render_line(self, y: int) -> Strip:
        row, width = self.scroll_offset.y + y, self.size.width
        count = len(self._rows) if self._wraps else len(self.text)
        if row < count:
            index, start = self._rows[row] if self._wraps else (row, 0)
            line = self.text.line(index)
            text = line[start : start + width] if self._wraps else line
            return Strip([Segment(fit(text, width), self._line_style(index, line))], width)
        if row == count and self._note:
            return Strip([Segment(fit(self._note, width), self.get_component_rich_style("log-view--note"))], width)
        return Strip.blank(width, self.rich_style)

    def _line_style(self, index: int, line: str) -> Style:
        if index == self._found:
            return self.get_component_rich_style("log-view--found")
        if ERROR.search(line):
            return self.get_component_rich_style("log-view--error")
        return self.rich_style

    def on_mouse_scroll_up(self) -> None:
        self.following = False
