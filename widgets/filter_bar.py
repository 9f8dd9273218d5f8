"""The line for typing a filter: Enter keeps it, Esc clears it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input

from adapters.text import clean
from widgets.past import Past


class FilterBar(Input):
    """Narrows the rows while one types; hidden until asked for."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "clear_filter", "Clear", show=False),
        Binding("up", "older", show=False),
        Binding("down", "newer", show=False),
    ]
    DEFAULT_CSS = """
    FilterBar { display: none; height: 1; border: none; padding: 0 1; }
    FilterBar.-open { display: block; }
    """

    class Typed(Message):
        """The filter text has changed."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Closed(Message):
        """Typing is over; `text` empty means that there is no filter."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self) -> None:
        super().__init__(placeholder="filter: text, or field:value", compact=True, max_length=512)
        self._past = Past()

    def open(self, text: str, history: Sequence[str] = ()) -> None:
        """Show the line with this text in it and take the focus; up and down go through the history."""
        self._past = Past(history)
        with self.prevent(Input.Changed):
            self.value = text
        self.add_class("-open")
        self.focus()

    def action_older(self) -> None:
        self._recall(self._past.older(self.value))

    def action_newer(self) -> None:
        self._recall(self._past.newer())

    def _recall(self, text: str | None) -> None:
        if text is not None:
            with self.prevent(Input.Changed):
                self.value = text
            self.cursor_position = len(text)
            self.post_message(self.Typed(clean(text)))

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._past.leave()
        self.post_message(self.Typed(clean(event.value)))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._close(clean(event.value))

    def action_clear_filter(self) -> None:
        with self.prevent(Input.Changed):
            self.value = ""
        self._close("")

    def _close(self, text: str) -> None:
        self.remove_class("-open")
        self.post_message(self.Closed(text))
