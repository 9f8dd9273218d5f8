"""A job's output: a virtual list of lines that follows its end until one scrolls up."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from widgets.format import fit
from widgets.log_text import LogText


class LogView(ScrollView, can_focus=True):
    """Shows a LogText; draws the lines on screen and no others."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"log-view--note"}
    DEFAULT_CSS = "LogView { overflow-x: hidden; scrollbar-size-vertical: 1; }"
    ALLOW_SELECT = False

    def __init__(self) -> None:
        super().__init__(id="log-view")
        self.text = LogText()
        self.following = True
        self._note = ""

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
        if self.text.dropped != dropped or reset:
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

    def _resize(self) -> None:
        self.virtual_size = Size(0, len(self.text) + bool(self._note))

    def render_line(self, y: int) -> Strip:
        index, width = self.scroll_offset.y + y, self.size.width
        if index < len(self.text):
            return Strip([Segment(fit(self.text.line(index), width), self.rich_style)], width)
        if index == len(self.text) and self._note:
            return Strip([Segment(fit(self._note, width), self.get_component_rich_style("log-view--note"))], width)
        return Strip.blank(width, self.rich_style)

    def on_mouse_scroll_up(self) -> None:
        self.following = False
