"""Every node as one cell, by queue: its state and how much of it is used, for thousands of nodes on one screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from adapters.model import Ref
from widgets.columns import Role
from widgets.format import fit

SHARES = "▁▂▃▄▅▆▇█"
"""How much of a busy node is used, in eighths."""
ROOMY = 400  # nodes up to which each has two columns of the screen


class MapCell(NamedTuple):
    """One node: its sign, which needs no colour to be read, and how that looks."""

    ref: Ref
    sign: str
    role: Role


@dataclass(frozen=True, slots=True)
class MapGroup:
    """The nodes of one queue below a line that says how it fares."""

    title: str
    facts: str
    cells: tuple[MapCell, ...]


class _Line(NamedTuple):
    """One line of the screen: a group's title, or its cells from `start` on."""

    group: int
    start: int
    length: int  # 0 for the title


def share_sign(share: float | None) -> str:
    """The sign of a busy node; ``b`` where nothing tells how much of it is used."""
    return "b" if share is None else SHARES[min(7, max(0, int(share * 8 - 1e-9)))]


class NodeMap(ScrollView, can_focus=True):
    """The map. The cursor is a node within a group; it stays on it whatever changes around it."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "node-map--title", "node-map--facts", "node-map--cursor", "node-map--ok", "node-map--info", "node-map--warn",
        "node-map--bad", "node-map--dim",
    }  # fmt: skip
    DEFAULT_CSS = """
    NodeMap { overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; scrollbar-gutter: stable; height: 1fr; }
    """
    ALLOW_SELECT = False

    class Moved(Message):
        """The cursor stands on another node; None: there is none."""

        def __init__(self, ref: Ref | None) -> None:
            super().__init__()
            self.ref = ref

    class Opened(Moved):
        """A node was chosen by a double click."""

    def __init__(self) -> None:
        super().__init__(id="node-map")
        self._groups: tuple[MapGroup, ...] = ()
        self._lines: tuple[_Line, ...] = ()
        self._at = (0, 0)  # group, cell
        self._width = 0

    # -- what stands in it ------------------------------------------------------------------------------------------

    def show(self, groups: Sequence[MapGroup]) -> None:
        """Show these groups; lines that say the same as before are not repainted."""
        before, old = self._groups, self._lines
        here = self.cursor
        self._groups = tuple(groups)
        self._follow(here, before)
        self._lay_out()
        if self._lines != old:
            self.refresh()
        else:
            for y, line in enumerate(self._lines):
                if self._groups[line.group] != before[line.group] and self._differs(line, before[line.group]):
                    self._refresh_line(y)
        if self.cursor != here:
            self.post_message(self.Moved(self.cursor))

    def _differs(self, line: _Line, before: MapGroup) -> bool:
        now = self._groups[line.group]
        if not line.length:
            return (now.title, now.facts) != (before.title, before.facts)
        part = slice(line.start, line.start + line.length)
        return now.cells[part] != before.cells[part]

    def _follow(self, ref: Ref | None, before: tuple[MapGroup, ...]) -> None:
        """Find the cursor's node again, in its own group first."""
        title = before[self._at[0]].title if ref is not None else ""
        places = [
            (g, c) for g, group in enumerate(self._groups) for c, cell in enumerate(group.cells) if cell.ref == ref
        ]
        own = [place for place in places if self._groups[place[0]].title == title]
        first = next(((g, 0) for g, group in enumerate(self._groups) if group.cells), (0, 0))
        self._at = (own or places or [first])[0]

    @property
    def step(self) -> int:
        """Columns of the screen that a node takes."""
        return 2 if sum(len(group.cells) for group in self._groups) <= ROOMY else 1

    def _lay_out(self) -> None:
        self._width = self.scrollable_content_region.width
        row = max(1, (self._width - 2) // self.step)
        lines: list[_Line] = []
        for index, group in enumerate(self._groups):
            lines.append(_Line(index, 0, 0))
            lines += [
                _Line(index, start, min(row, len(group.cells) - start)) for start in range(0, len(group.cells), row)
            ]
        self._lines = tuple(lines)
        self.virtual_size = Size(0, len(lines))

    # -- the cursor -------------------------------------------------------------------------------------------------

    @property
    def cursor(self) -> Ref | None:
        """The node under the cursor."""
        group, cell = self._at
        cells = self._groups[group].cells if group < len(self._groups) else ()
        return cells[cell].ref if cell < len(cells) else None

    @property
    def page(self) -> int:
        return max(1, self.size.height - 1)

    def step_by(self, by: int) -> None:
        """So many nodes on, over the ends of rows and groups."""
        flat = [(g, c) for g, group in enumerate(self._groups) for c in range(len(group.cells))]
        if flat:
            now = flat.index(self._at) if self._at in flat else 0
            self._move_to(flat[min(max(now + by, 0), len(flat) - 1)])

    def move(self, by: int) -> None:
        """So many lines down, or up: to the node that stands there, or the nearest of that line."""
        rows = [line for line in self._lines if line.length]
        here = next((n for n, line in enumerate(rows) if self._on(line)), None)
        if here is None:
            return
        column = self._at[1] - rows[here].start
        line = rows[min(max(here + by, 0), len(rows) - 1)]
        self._move_to((line.group, line.start + min(column, line.length - 1)))

    def go_to(self, ref: Ref) -> None:
        """To the first place where this node stands, if it does."""
        for g, group in enumerate(self._groups):
            for c, cell in enumerate(group.cells):
                if cell.ref == ref:
                    self._move_to((g, c))
                    return

    def _on(self, line: _Line) -> bool:
        return line.group == self._at[0] and line.start <= self._at[1] < line.start + line.length

    def _move_to(self, at: tuple[int, int]) -> None:
        before, self._at = self._at, at
        top = self.scroll_offset.y
        for y, line in enumerate(self._lines):
            if line.length and line.group in (before[0], at[0]):
                self._refresh_line(y)
                if self._on(line):
                    self._bring_into_view(y)
        if self.scroll_offset.y != top:
            self.refresh()
        self.post_message(self.Moved(self.cursor))

    def _bring_into_view(self, y: int) -> None:
        top, height = self.scroll_offset.y, self.size.height
        above = y - 1 if y and not self._lines[y - 1].length else y  # with the title of its group
        if above < top:
            self.scroll_to(y=above, animate=False, force=True)
        elif y >= top + height:
            self.scroll_to(y=y - height + 1, animate=False, force=True)

    # -- painting ---------------------------------------------------------------------------------------------------

    def _refresh_line(self, y: int) -> None:
        line = y - self.scroll_offset.y
        if 0 <= line < self.size.height:
            self.refresh(Region(0, line, self.size.width, 1))

    def _style(self, name: str) -> Style:
        return self.rich_style if name in ("plain", "strong") else self.get_component_rich_style(f"node-map--{name}")

    def render_line(self, y: int) -> Strip:
        if self.scrollable_content_region.width != self._width:
            self._lay_out()
        index = y + self.scroll_offset.y
        if index >= len(self._lines):
            return Strip.blank(self._width, self.rich_style)
        line = self._lines[index]
        group = self._groups[line.group]
        if not line.length:
            title = fit(group.title, min(self._width - 1, max(12, len(group.title))))
            facts = fit(f"  {group.facts}", max(0, self._width - len(title) - 1))
            parts = [Segment(f" {title}", self._style("title")), Segment(facts, self._style("facts"))]
            return Strip(parts).adjust_cell_length(self._width, self.rich_style)
        return self._cells(line, group)

    def _cells(self, line: _Line, group: MapGroup) -> Strip:
        gap = " " * (self.step - 1)
        segments = [Segment("  ", self.rich_style)]
        for n in range(line.start, line.start + line.length):
            cell = group.cells[n]
            if (line.group, n) == self._at:
                segments += [Segment(cell.sign, self._style("cursor")), Segment(gap, self.rich_style)]
            else:
                segments.append(Segment(cell.sign + gap, self._style(cell.role)))
        return Strip(segments).simplify().adjust_cell_length(self._width, self.rich_style)

    # -- events of the toolkit --------------------------------------------------------------------------------------

    def on_resize(self, event: events.Resize) -> None:
        self._lay_out()
        self._move_to(self._at)

    def on_click(self, event: events.Click) -> None:
        index = event.y + self.scroll_offset.y
        if index >= len(self._lines):
            return
        line = self._lines[index]
        column = (event.x - 2) // self.step
        if 0 <= column < line.length:
            self._move_to((line.group, line.start + column))
            if event.chain == 2:
                self.post_message(self.Opened(self.cursor))
