"""A question for one line of text."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from adapters.text import clean

SENDS = "Enter goes on to what will be sent, Esc goes back."


class PromptPanel(Vertical):
    """A label, a field, and what is wrong with what was entered.

    Args:
        hint: what Enter leads to. optional: an empty text is an answer too.
    """

    DEFAULT_CSS = """
    PromptPanel { height: auto; }
    PromptPanel Static { height: auto; }
    """

    class Entered(Message):
        """Enter was pressed."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(
        self, label: str, *, initial: str = "", placeholder: str = "", limit: int = 1024, hint: str = SENDS,
        optional: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(id="prompt-panel")
        self._label = label
        self._hint = hint
        self._optional = optional
        self.field = Input(initial, placeholder=placeholder, compact=True, max_length=limit, id="prompt-field")

    def compose(self) -> ComposeResult:
        yield Static(Content(clean(self._label)), id="prompt-label")
        yield self.field
        yield Static(Content(clean(self._hint)), id="prompt-hint")

    def on_mount(self) -> None:
        self.field.focus()

    def say(self, text: str) -> None:
        """Say what is wrong."""
        self.query_one("#prompt-hint", Static).update(Content.styled(clean(text), "$error"))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        text = clean(event.value.strip())
        if text or self._optional:
            self.post_message(self.Entered(text))
        else:
            self.say("It must not be empty.")
