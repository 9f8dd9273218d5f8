"""What waits for an answer, grouped, with a cursor that stays on its entry while others come and go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from adapters.text import clean
from widgets.columns import Role
from widgets.format import fit


@dataclass(frozen=True, slots=True)
class InboxRow:
    """One line: a group, or one of its proposals.

    Args:
        key: names it while it waits.
        text: what it is, in one line.
        group: it stands for all that follows until the next group.
        role: how it looks: ``warn`` for what cannot be sent as it stands.
    """

    key: str
    text: str
    group: bool = False
    role: Role = "plain"


class InboxList(ScrollView, can_focus=True):
    """Lines with a cursor; tells where it is."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"inbox-list--cursor", "inbox-list--group", "inbox-list--warn"}
    DEFAULT_CSS = "InboxList { overflow-x: hidden; scrollbar-size-vertical: 1; }"
    ALLOW_SELECT = False

    class Moved(Message):
        """The cursor is on this entry now."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def __init__(self) -> None:
        super().__init__(id="inbox-list")
        self.rows: Sequence[InboxRow] = ()
        self._at = 0

    @property
    def key(self) -> str | None:
        """The entry under the cursor."""
        return self.rows[self._at].key if self._at < len(self.rows) else None

    def show(self, rows: Sequence[InboxRow]) -> None:
        """Show these; the cursor stays on its entry, or goes to the one that took its place."""
        if tuple(rows) == tuple(self.rows):
            return
        key, known = self.key, bool(self.rows)
        self.rows = tuple(rows)
        places = {row.key: n for n, row in enumerate(rows)}
        if key in places:
            self._at = places[key]
        elif not known:  # the first proposal, not the head of its group
            self._at = next((n for n, row in enumerate(rows) if not row.group), 0)
        else:
            self._at = min(self._at, max(0, len(rows) - 1))
        self.virtual_size = Size(0, len(rows))
        self.refresh()
        if self.key is not None and self.key != key:
            self.post_message(self.Moved(self.key))

    @property
    def page(self) -> int:
        return max(1, self.size.height - 1)

    def move(self, by: int) -> None:
        at = min(max(0, self._at + by), max(0, len(self.rows) - 1))
        if at != self._at:
            self._at = at
            if not self.scroll_offset.y <= at < self.scroll_offset.y + self.size.height:
                self.scroll_to(y=max(0, at - self.page // 2), animate=False, force=True)
            self.refresh()
            self.post_message(self.Moved(self.rows[at].key))

    def on_click(self, event: events.Click) -> None:
        self.move(self.scroll_offset.y + event.y - self._at)

    def render_line(self, y: int) -> Strip:
        at, width = self.scroll_offset.y + y, self.size.width
        if at >= len(self.rows):
            return Strip.blank(width, self.rich_style)
        row = self.rows[at]
        style = self.rich_style
        if at == self._at:
            style = self.get_component_rich_style("inbox-list--cursor")
        elif row.group:
            style = self.get_component_rich_style("inbox-list--group")
        elif row.role == "warn":
            style = self.get_component_rich_style("inbox-list--warn")
        mark = "" if row.group else "  "
        cursor = ">" if at == self._at else " "
        return Strip([Segment(fit(f"{cursor}{mark}{clean(row.text, 300)}", width), style)], width)
