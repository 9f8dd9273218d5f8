"""A dialog with a list to choose from: the menu of actions, the palette, and every other list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen

from adapters.text import clean
from widgets.chooser import Chooser, Offer


class ChooseScreen(ModalScreen[str | None]):
    """Returns the id that was chosen, ``line:TEXT`` for a text that stands for itself, or None.

    Args:
        keys: key -> id, for lists that answer to their own keys.
        lines: a typed text may stand for itself.
        history: what was typed there before.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back", show=False)]

    def __init__(
        self, title: str, offer: Offer, *, typing: bool = False, lines: bool = False, placeholder: str = "",
        text: str = "", keys: Mapping[str, str] | None = None, history: Sequence[str] = (),
    ) -> None:  # fmt: skip
        super().__init__()
        self._title = title
        self._lines = lines
        self._keys = dict(keys or {})
        self.chooser = Chooser(offer, typing=typing, placeholder=placeholder, text=text, history=history)

    def compose(self) -> ComposeResult:
        dialog = Vertical(self.chooser, id="choose-dialog", classes="dialog")
        dialog.border_title = Content(f" {clean(self._title, 60)} ")
        dialog.border_subtitle = Content(" Enter chooses, Esc goes back ")
        yield dialog

    def on_key(self, event: events.Key) -> None:
        if event.key in self._keys:
            event.stop()
            self.dismiss(self._keys[event.key])

    def on_chooser_chosen(self, message: Chooser.Chosen) -> None:
        self.dismiss(message.id)

    def on_chooser_entered(self, message: Chooser.Entered) -> None:
        if self._lines and message.text:
            self.dismiss(f"line:{message.text}")

    def action_leave(self) -> None:
        self.dismiss(None)
