"""RecordTable: a table over names and a row getter, for a hundred thousand rows and a thousand changes a second.

Rows live outside. The widget holds their order (a list of Refs), a small cache of painted lines, and the cursor and
marks, which are names too and so never slip to another row. A change repaints the cells that differ of rows that are
on screen, and nothing else: measured in docs/decisions.md.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from adapters.model import Ref
from widgets.columns import Column, Moment, Placed, place
from widgets.format import fit
from widgets.rows import Painted, cells_of, changed_span, paint

RowOf = Callable[[Ref], Any]


class RecordTable(ScrollView, can_focus=True):
    """The table.

    | component class | what |
    |---|---|
    | `record-table--header` | the line of titles |
    | `record-table--cursor` | the row under the cursor while the table has the focus |
    | `record-table--cursor-blurred` | the same without the focus |
    | `record-table--marked` | a marked row |
    | `record-table--ok` `--info` `--warn` `--bad` `--dim` `--strong` | cells, by role |
    | `record-table--empty` | the reason why there is nothing |
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "record-table--header", "record-table--cursor", "record-table--cursor-blurred", "record-table--marked",
        "record-table--ok", "record-table--info", "record-table--warn", "record-table--bad", "record-table--dim",
        "record-table--strong", "record-table--empty",
    }  # fmt: skip
    DEFAULT_CSS = """
    RecordTable { overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; scrollbar-gutter: stable; }
    """
    ALLOW_SELECT = False

    class RowHighlighted(Message):
        """The cursor stands on another row; `ref` None: there is none."""

        def __init__(self, table: RecordTable, ref: Ref | None) -> None:
            super().__init__()
            self.table = table
            self.ref = ref

        @property
        def control(self) -> RecordTable:
            return self.table

    class RowOpened(RowHighlighted):
        """A row was chosen by a double click."""

    class HeaderClicked(Message):
        """A column's title was clicked."""

        def __init__(self, table: RecordTable, column: str) -> None:
            super().__init__()
            self.table = table
            self.column = column

        @property
        def control(self) -> RecordTable:
            return self.table

    def __init__(self, columns: Sequence[Column], row_of: RowOf, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._columns = tuple(columns)
        self._row_of = row_of
        self._order: Sequence[Ref] = ()
        self._cursor: Ref | None = None
        self._index = 0
        self._marks: set[Ref] = set()
        self._moment = Moment()
        self._placed: tuple[Placed, ...] = ()
        self._width = 0
        self._lines: LRUCache[tuple[Ref, tuple[str, bool]], Painted] = LRUCache(512)
        self._styles: dict[str, Style] = {}
        self._styles_old = False
        self._blended: dict[tuple[str, str], Style] = {}
        self._sorted_by: tuple[str, bool] | None = None
        self._empty: tuple[str, ...] = ()
        self.stay_on_top = False
        """While the rows are still being loaded, a cursor on the first line stays on the first line."""

    # -- what stands in it ------------------------------------------------------------------------------------------

    @property
    def order(self) -> Sequence[Ref]:
        """The names of the rows, top to bottom."""
        return self._order

    @property
    def cursor(self) -> Ref | None:
        """The row under the cursor."""
        return self._cursor

    @property
    def marks(self) -> frozenset[Ref]:
        return frozenset(self._marks)

    @property
    def page(self) -> int:
        """Rows that fit below the titles."""
        return max(1, self.size.height - 1)

    def show(self, order: Sequence[Ref], moment: Moment, changed: Collection[Ref] = ()) -> None:
        """Show these rows in this order. The cursor stays on its row, and the row stays on its line where it can."""
        before, top = self._visible(), self._top
        grew = len(order) != len(self._order)
        self._order, self._moment = order, moment
        self._follow_cursor(top)
        if grew:
            self.virtual_size = Size(0, len(order) + 1)
        if self._top != top or not order or not before:
            self.refresh()
            return
        after = self._visible()
        for line in range(max(len(before), len(after))):
            old, new = before[line : line + 1], after[line : line + 1]
            if old != new:
                self._refresh_line(line)
        self.update_rows(changed, moment)

    def update_rows(self, changed: Collection[Ref], moment: Moment) -> None:
        """Repaint the cells that differ: of changed rows, and of those whose text changes with time."""
        self._moment = moment
        for line, ref in enumerate(self._visible()):
            key = (ref, self._look(ref))
            painted = self._lines.get(key)
            if painted is None:
                self._refresh_line(line)
                continue
            if painted.moment is moment and ref not in changed:
                continue
            row = self._row_of(ref)
            if row is None:
                continue
            cells = cells_of(row, self._placed, moment)
            part = changed_span(painted.cells, cells, self._placed)
            if part is None:
                self._lines[key] = painted._replace(row=row, moment=moment)
            else:
                self._lines.discard(key)
                self.refresh(Region(part[0], line + 1, part[1], 1))

    def show_columns(self, columns: Sequence[Column]) -> None:
        """Other columns, or the same in another order."""
        self._columns = tuple(columns)
        self._width = -1  # laid out anew with the next line
        self._lines.clear()
        self.refresh()

    def explain_empty(self, lines: Sequence[str]) -> None:
        """Say why there are no rows."""
        if tuple(lines) != self._empty:
            self._empty = tuple(lines)
            if not self._order:
                self.refresh()

    def show_sort(self, column: str | None, descending: bool = False) -> None:
        """Mark the column by which the rows are sorted."""
        after = (column, descending) if column else None
        if after != self._sorted_by:
            self._sorted_by = after
            self._refresh_line(-1)

    # -- cursor and marks -------------------------------------------------------------------------------------------

    def move(self, by: int) -> None:
        """Move the cursor by so many rows, as far as there are any."""
        self.move_to_index(self._index + by)

    def move_to_index(self, index: int) -> None:
        if not self._order:
            return
        index = min(max(index, 0), len(self._order) - 1)
        before, top = self._index, self._top
        self._index, self._cursor = index, self._order[index]
        self._scroll_to_cursor()
        if self._top == top:
            self._refresh_line(before - top)
            self._refresh_line(index - top)
        self.post_message(self.RowHighlighted(self, self._cursor))

    def move_to(self, ref: Ref) -> bool:
        """Put the cursor on this row; False where it is not shown."""
        try:
            self.move_to_index(self._order.index(ref))
        except ValueError:
            return False
        return True

    def set_marks(self, marks: Collection[Ref]) -> None:
        changed = self._marks.symmetric_difference(marks)
        self._marks = set(marks)
        for line, ref in enumerate(self._visible()):
            if ref in changed:
                self._refresh_line(line)

    def _follow_cursor(self, top: int) -> None:
        """Find the cursor's row in the new order and keep it on its line of the screen."""
        if not self._order:
            moved, self._cursor, self._index = self._cursor is not None, None, 0
        else:
            old, line = self._cursor, self._index - top
            index = min(self._index, len(self._order) - 1)
            on_top = self.stay_on_top and self._index == 0
            if old is not None and self._order[index] != old and not on_top:
                # Where its row is gone the cursor stays where it was, on the row that took the place.
                with suppress(ValueError):
                    index = self._order.index(old)
            self._index, self._cursor = index, self._order[index]
            moved = self._cursor != old
            if top > 0 and 0 <= line < self.page:
                self._set_top(index - line)
            self._scroll_to_cursor()
        if moved:
            self.post_message(self.RowHighlighted(self, self._cursor))

    def _scroll_to_cursor(self) -> None:
        if self._index < self._top:
            self._set_top(self._index)
        elif self._index >= self._top + self.page:
            self._set_top(self._index - self.page + 1)

    def _set_top(self, top: int) -> None:
        limit = max(0, len(self._order) - self.page)
        if self.virtual_size.height != len(self._order) + 1:
            self.virtual_size = Size(0, len(self._order) + 1)
        self.scroll_to(y=min(max(top, 0), limit), animate=False, force=True)

    @property
    def _top(self) -> int:
        return self.scroll_offset.y

    def _visible(self) -> Sequence[Ref]:
        return self._order[self._top : self._top + self.page]

    # -- painting ---------------------------------------------------------------------------------------------------

    def _refresh_line(self, line: int) -> None:
        """Repaint one line of rows on screen; -1 is the line of titles."""
        if -1 <= line < self.page:
            self.refresh(Region(0, line + 1, self.size.width, 1))

    def _look(self, ref: Ref) -> tuple[str, bool]:
        """The style of a row's line, and whether it bears a mark."""
        marked = ref in self._marks
        if ref == self._cursor:
            return ("cursor" if self.has_focus else "cursor-blurred"), marked
        return ("marked" if marked else ""), marked

    def _style(self, name: str) -> Style:
        """The style of a component class, or of the table itself."""
        style = self._styles.get(name)
        if style is None:
            style = self.get_component_rich_style(f"record-table--{name}") if name else self.rich_style
            self._styles[name] = style
        return style

    def _fit_width(self) -> None:
        """Lay the columns out anew when the width has changed: a line is asked for before the resize is announced."""
        width = self.scrollable_content_region.width  # without the scrollbar
        if width != self._width:
            self._width = width
            self._placed = place(self._columns, self._width)
            self._lines.clear()

    def _role_style(self, look: str, role: str) -> Style:
        """The colour of a role on a line that has a style of its own."""
        key = (look, role)
        style = self._blended.get(key)
        if style is None:
            style = self._blended[key] = self._style(look) + Style(color=self._style(role).color)
        return style

    def render_line(self, y: int) -> Strip:
        self._fit_width()
        if self._styles_old:
            self._renew_styles()
        if y == 0:
            return self._header()
        index = self._top + y - 1
        if index < len(self._order):
            return self._row_line(self._order[index])
        if not self._order and y - 2 < len(self._empty) and y >= 2:
            text = fit(" " * 2 + self._empty[y - 2], self._width)
            return Strip([Segment(text, self._style("empty"))], self._width)
        return Strip.blank(self._width, self._style(""))

    def _row_line(self, ref: Ref) -> Strip:
        look = self._look(ref)
        row = self._row_of(ref)
        painted = self._lines.get((ref, look))
        if painted is not None and painted.row is row and painted.moment is self._moment:
            return painted.strip
        if row is None:
            return Strip.blank(self._width, self._style(""))
        cells = cells_of(row, self._placed, self._moment)
        style, marked = look
        lead = ("*" if marked else " ") + (">" if style == "cursor" and self.app.no_color else " ")
        style_of = None if style == "cursor" else partial(self._role_style, style) if style else self._style
        strip = paint(cells, self._placed, self._width, lead, self._style(style), style_of)
        self._lines[(ref, look)] = Painted(row, self._moment, cells, strip)
        return strip

    def _header(self) -> Strip:
        style = self._style("header")
        texts = []
        for spot in self._placed:
            title = spot.column.title
            if self._sorted_by and self._sorted_by[0] == spot.column.id:
                title = f"{title[: spot.width - 1]}{'v' if self._sorted_by[1] else '^'}"
            texts.append((fit(title, spot.width, spot.column.right), "plain"))
        return paint(texts, self._placed, self._width, "  ", style, None)  # type: ignore[arg-type]

    # -- events of the toolkit --------------------------------------------------------------------------------------

    def notify_style_update(self) -> None:
        self._styles_old = True
        super().notify_style_update()

    def _renew_styles(self) -> None:
        """Forget painted lines if a style is really another one: each change of focus announces new styles."""
        self._styles_old = False
        before, self._styles = self._styles, {}
        self._blended.clear()
        if any(self._style(name) != style for name, style in before.items()):
            self._lines.clear()

    def on_resize(self, event: events.Resize) -> None:
        self._scroll_to_cursor()

    def _on_focus(self, event: events.Focus) -> None:
        """As the base class, but for the repaint: the focus changes one line, not the whole table."""
        event.prevent_default()
        self._take_focus(True, events.DescendantFocus(self))

    def _on_blur(self, event: events.Blur) -> None:
        event.prevent_default()
        self._take_focus(False, events.DescendantBlur(self))

    def _take_focus(self, focus: bool, told: events.DescendantFocus | events.DescendantBlur) -> None:
        self.has_focus = focus
        self._refresh_line(self._index - self._top)
        if self.parent is not None:
            self.parent.post_message(told)

    def on_click(self, event: events.Click) -> None:
        if event.y == 0:
            for spot in self._placed:
                if spot.x <= event.x < spot.x + spot.width:
                    self.post_message(self.HeaderClicked(self, spot.column.id))
            return
        index = self._top + event.y - 1
        if index < len(self._order):
            self.move_to_index(index)
            if event.chain == 2:
                self.post_message(self.RowOpened(self, self._cursor))
