"""The inbox: what waits, and the whole of the entry under the cursor."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from widgets.inbox_list import InboxList, InboxRow

EMPTY = "Nothing waits for an answer. What agents propose comes here; nothing of it is sent before you say so."


class InboxView(Container):
    """List and plan: side by side where there is room, else one above the other."""

    DEFAULT_CSS = """
    InboxView { height: 1fr; layout: vertical; }
    InboxView > InboxList { height: auto; min-height: 2; max-height: 8; }
    InboxView > VerticalScroll { height: 1fr; scrollbar-size-vertical: 1; }
    InboxView.-beside { layout: horizontal; }
    InboxView.-beside > InboxList { width: 2fr; height: 1fr; max-height: 100%; margin-right: 2; }
    InboxView.-beside > VerticalScroll { width: 3fr; }
    InboxView Static { width: 1fr; height: auto; }
    """

    def __init__(self) -> None:
        super().__init__(id="inbox")
        self.list = InboxList()
        self._plan = Static("", id="inbox-plan")
        self.body = VerticalScroll(self._plan, id="inbox-body")
        self.body.can_focus = False
        self._shown: Content | None = None

    def compose(self) -> ComposeResult:
        yield self.list
        yield self.body

    def show(self, rows: Sequence[InboxRow]) -> None:
        self.list.show(rows)
        self.list.styles.height = "1fr" if self.has_class("-beside") else max(2, min(8, len(rows)))
        if not rows:
            self.show_plan(Content.styled(EMPTY, "$text-muted"))

    def show_plan(self, content: Content, *, top: bool = False) -> None:
        """Show the entry under the cursor; `top`: another one than before, from its beginning."""
        if self._shown is None or not content.is_same(self._shown):
            self._shown = content
            self._plan.update(content)
        if top:
            self.body.scroll_home(animate=False)

    def fit(self, width: int) -> None:
        """Put list and plan side by side from 100 cells on."""
        self.set_class(width >= 100, "-beside")
        self.list.styles.height = "1fr" if width >= 100 else max(2, min(8, len(self.list.rows)))
