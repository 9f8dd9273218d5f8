"""One log under its title: which stream, how many lines, whether it follows."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from adapters.text import clean
from widgets.log_view import LogView


class LogPane(Vertical):
    """A title line over a LogView. `name_shown` names what is in it, such as ``stderr``."""

    DEFAULT_CSS = """
    LogPane > Static { height: 1; }
    LogPane > LogView { height: 1fr; }
    """

    def __init__(self, name_shown: str, of: str, *, merged: bool = False) -> None:
        super().__init__()
        self.name_shown = name_shown
        self._of = of
        self._word = ""
        self._shown = Content("")
        self.heading = Static("", classes="log-title")
        self.view = LogView(merged=merged)

    def compose(self) -> ComposeResult:
        yield self.heading
        yield self.view

    def on_mount(self) -> None:
        self.show_title()

    def paint(self) -> None:
        """Show what was fed since it was last painted."""
        if self.view.fresh:
            self.view.paint()
            self.show_title()

    def say(self, word: str = "") -> None:
        """A few words in the title about what the last key came to."""
        self._word = word
        self.show_title()

    def show_title(self) -> None:
        view = self.view
        following = "following" if view.following else "not following, f follows"
        dropped = f", first {view.text.dropped} lines dropped" if view.text.dropped else ""
        said = f"; {clean(self._word)}" if self._word else ""
        content = Content(f" {self.name_shown}{self._of}  {len(view.text)} lines{dropped}, {following}{said}")
        if content != self._shown:
            self._shown = content
            self.heading.update(content, layout=False)

    def on_log_view_moved(self, message: LogView.Moved) -> None:
        message.stop()
        self.show_title()
