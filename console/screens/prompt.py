"""A dialog that asks for one line of text, such as the reason of a drain."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen

from adapters.text import clean
from widgets.prompt import SENDS, PromptPanel


class PromptScreen(ModalScreen[str | None]):
    """Returns what was entered, or None. It changes nothing by itself: what follows is the question of a write."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back", show=False)]

    def __init__(
        self, title: str, label: str, *, initial: str = "", placeholder: str = "", hint: str = SENDS,
        optional: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self._title = title
        self.panel = PromptPanel(label, initial=initial, placeholder=placeholder, hint=hint, optional=optional)

    def compose(self) -> ComposeResult:
        dialog = Vertical(self.panel, id="prompt-dialog", classes="dialog")
        dialog.border_title = Content(f" {clean(self._title, 56)} ")
        yield dialog

    def on_prompt_panel_entered(self, message: PromptPanel.Entered) -> None:
        self.dismiss(message.text)

    def action_leave(self) -> None:
        self.dismiss(None)
