"""The top edge of a pane: its number and name, how many rows, and how its feed stands."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from widgets.columns import Role
from widgets.format import fit


class PaneTitle(Widget):
    """One line, drawn by hand: a border title would repaint the whole pane each time an age or a count changes."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "pane-title--line", "pane-title--name", "pane-title--count", "pane-title--ok", "pane-title--warn",
        "pane-title--bad", "pane-title--info",
    }  # fmt: skip
    DEFAULT_CSS = "PaneTitle { height: 1; }"

    def __init__(self, name: str) -> None:
        super().__init__()
        self._title = name
        self._count = ""
        self._state: tuple[str, Role] = ("never loaded", "warn")
        self._note = ""
        self._before = self._after = ""

    @property
    def name_shown(self) -> str:
        """Number and name, such as ``1 Jobs``."""
        return self._title

    def show_others(self, before: str, after: str) -> None:
        """The panes that are there but not shown, to the left and right of this one's name."""
        if (before, after) != (self._before, self._after):
            self._before, self._after = before, after
            self.refresh(Region(0, 0, self.size.width, 1))

    @property
    def text(self) -> str:
        """What it says, for tests."""
        return self.render_line(0).text

    def show(self, count: str, state: tuple[str, Role], note: str = "") -> None:
        """Set the count (``12/40``), the state with its role, and a note such as the filter."""
        if (count, state, note) != (self._count, self._state, self._note):
            self._count, self._state, self._note = count, state, note
            self.refresh(Region(0, 0, self.size.width, 1))

    def _style(self, part: str) -> Style:
        return self.get_component_rich_style(f"pane-title--{part}")

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        line = self._style("line")
        state, role = self._state
        before = f"{self._before} · " if self._before else ""
        left = [
            ("╭─ ", line),
            (before, self._style("count")),
            (self._title, self._style("name")),
            (f" {self._count} ", self._style("count")),
        ]
        if self._after:
            left.append((f"· {self._after} ", self._style("count")))
        if self._note:
            room = max(0, width - 12 - sum(cell_len(t) for t, _ in left) - cell_len(state))
            left.append((fit(self._note, min(room, cell_len(self._note))) + " " * bool(room), self._style("info")))
        shown_role = role if role in ("ok", "warn", "bad") else "info"
        right = [(" ", line), (state, self._style(shown_role)), (" ─╮", line)]
        used = sum(cell_len(text) for text, _ in left + right)
        if used > width - 1:
            state = fit(state, max(0, cell_len(state) - (used - width + 1)))
            right = [(" ", line), (state, self._style(shown_role)), (" ─╮", line)]
            used = sum(cell_len(text) for text, _ in left + right)
        rule = ("─" * max(0, width - used), line)
        segments = [Segment(text, style) for text, style in [*left, rule, *right] if text]
        return Strip(segments).adjust_cell_length(width, line)
