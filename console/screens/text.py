"""A text to read, in a dialog: one line of the audit log, for one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from adapters.text import clean
from console.commands import Context
from console.screens.bindings import CommandScreen, bindings_for


class TextScreen(CommandScreen, ModalScreen[None]):
    """Lines that scroll. It understands what the help does."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("help")
    contexts = frozenset[Context]({"help"})

    def __init__(self, title: str, lines: Sequence[str]) -> None:
        super().__init__()
        self._title = title
        self._lines = tuple(lines)

    def compose(self) -> ComposeResult:
        self.view = VerticalScroll(
            Static(Content("\n".join(self._lines)), id="text-lines"), id="text-view", can_focus=True
        )
        dialog = Vertical(self.view, id="text-dialog", classes="dialog")
        dialog.border_title = Content(f" {clean(self._title, 60)} ")
        dialog.border_subtitle = Content(" Esc closes ")
        yield dialog

    def on_mount(self) -> None:
        self.view.focus()

    def _move(self, by: int) -> None:
        self.view.scroll_relative(y=by, animate=False)

    def do_move_page_down(self) -> None:
        self.view.scroll_page_down(animate=False)

    def do_move_page_up(self) -> None:
        self.view.scroll_page_up(animate=False)

    def do_back(self) -> None:
        self.dismiss(None)

    def do_quit(self) -> None:
        self.dismiss(None)
