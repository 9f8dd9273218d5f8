"""The field for a node's new quota."""

from __future__ import annotations

from textual import events
from textual.message import Message
from textual.widgets import Input

NONE = "none"


class QuotaInput(Input):
    """Takes a number, or ``none`` to lift the limit. Other keys pass through to the dialog, whose commands they are."""

    class Entered(Message):
        """A quota was entered; `slots` None lifts the limit."""

        def __init__(self, slots: int | None) -> None:
            super().__init__()
            self.slots = slots

    class Rejected(Message):
        """What was entered is no quota; `reason` says why."""

        def __init__(self, reason: str) -> None:
            super().__init__()
            self.reason = reason

    def __init__(self) -> None:
        super().__init__(id="quota", compact=True, max_length=7, placeholder="number or none", select_on_focus=False)

    def takes(self, character: str | None) -> bool:
        """Whether this character, typed now, is part of an answer: a digit, or the next letter of ``none``."""
        if character is None or not character.isprintable():
            return False
        if self.value.isdigit() or not self.value:
            return character.isascii() and (character.isdigit() or (not self.value and character == NONE[0]))
        return NONE.startswith(self.value + character)

    def check_consume_key(self, key: str, character: str | None) -> bool:
        return self.takes(character)

    def on_key(self, event: events.Key) -> None:
        """Keep the field from swallowing what is no part of an answer; the key then reaches the dialog."""
        if event.is_printable and not self.takes(event.character):
            event.prevent_default()

    def _on_paste(self, event: events.Paste) -> None:
        """A paste is dropped: a quota is typed."""
        event.prevent_default()
        event.stop()

    async def action_submit(self) -> None:
        text = self.value.strip()
        if text == NONE:
            self.post_message(self.Entered(None))
        elif text.isascii() and text.isdigit():
            self.post_message(self.Entered(int(text)))
        else:
            self.post_message(self.Rejected("A quota is a whole number of slots, or none to lift the limit."))
