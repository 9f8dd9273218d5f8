"""The line of key hints at the bottom; the same table that binds the keys tells it what to show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget


class KeyBar(Widget):
    """Hints such as ``? help``; as many as fit, in order of their rank. A click on one is like its key."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"key-bar--key", "key-bar--write", "key-bar--off"}
    DEFAULT_CSS = "KeyBar { height: 1; }"

    class Clicked(Message):
        """A hint was clicked."""

        def __init__(self, command: str) -> None:
            super().__init__()
            self.command = command

    def __init__(self) -> None:
        super().__init__()
        self._hints: tuple[tuple[str, str, str, str], ...] = ()
        self._spots: list[tuple[int, int, str]] = []

    def show(self, hints: Sequence[tuple[str, str, str, str]]) -> None:
        """Show (command id, key, words, look) each; look is ``key``, ``write`` or ``off``."""
        if tuple(hints) != self._hints:
            self._hints = tuple(hints)
            self.refresh()

    @property
    def text(self) -> str:
        """What it says, for tests."""
        return self.render_line(0).text

    def render_line(self, y: int) -> Strip:
        base, x = self.rich_style, 1
        segments = [Segment(" ", base)]
        self._spots = []
        for command, key, words, look in self._hints:
            length = cell_len(key) + 1 + cell_len(words)
            if x + length > self.size.width - 1:
                continue
            style = self.get_component_rich_style(f"key-bar--{look}")
            rest = style if look == "off" else base
            segments += [Segment(key, style), Segment(f" {words}", rest), Segment("  ", base)]
            self._spots.append((x, x + length, command))
            x += length + 2
        return Strip(segments).adjust_cell_length(self.size.width, base)

    def on_click(self, event: events.Click) -> None:
        for start, end, command in self._spots:
            if start <= event.x < end:
                self.post_message(self.Clicked(command))
