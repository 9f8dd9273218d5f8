"""One line at the top of a screen while autopilot is on; takes no room otherwise."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from adapters.text import clean


class Banner(Static):
    """What holds until somebody ends it."""

    DEFAULT_CSS = """
    Banner { display: none; height: 1; width: 1fr; padding: 0 1; }
    Banner.-shown { display: block; }
    """

    def __init__(self) -> None:
        super().__init__("")
        self._text = ""

    def show(self, text: str) -> None:
        if text != self._text:
            self._text = text
            self.set_class(bool(text), "-shown")
            self.update(Content(clean(text, 400)))
