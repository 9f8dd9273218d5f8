"""Finding lines in a log: a text that is asked for, and the first line that speaks of an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adapters.text import clean
from widgets.log_pane import LogPane
from widgets.log_search import find, first_error

if TYPE_CHECKING:
    from textual.app import App


class LogFind:
    """For the log screen."""

    _wanted = ""
    _at: int | None = None
    """The line that was found last, counted from the first there was."""

    if TYPE_CHECKING:
        app: App[Any]

        @property
        def pane(self) -> LogPane: ...

    @property
    def _found(self) -> int | None:
        """The line that was found last, where it is still kept."""
        at = None if self._at is None else self._at - self.pane.view.text.dropped
        return at if at is not None and at >= 0 else None

    def do_log_search(self) -> None:
        """Ask for a text and go to the next line that holds it."""
        from console.screens.prompt import PromptScreen

        prompt = PromptScreen("Search the log", "Text", initial=self._wanted)
        self.app.push_screen(prompt, self._search)

    def _search(self, wanted: str | None) -> None:
        if wanted:
            self._wanted = wanted
            self._go_to_found(1)

    def _go_to_found(self, step: int) -> None:
        view, at = self.pane.view, self._found
        start = at if at is not None else view.top - (step > 0)
        self._show_found(find(view.text, self._wanted, start, step), f"{clean(self._wanted, 40)!r} is not in it")

    def _show_found(self, index: int | None, otherwise: str) -> None:
        if index is None:
            self.pane.say(otherwise)
            return
        view = self.pane.view
        self._at = index + view.text.dropped
        view.show_line(index)
        self.pane.say(f"line {self._at + 1}")

    def do_log_next(self) -> None:
        if self._wanted:
            self._go_to_found(1)
        else:
            self.do_log_search()

    def do_log_previous(self) -> None:
        if self._wanted:
            self._go_to_found(-1)

    def do_log_error(self) -> None:
        """Go to the first line that speaks of an error, then to the next one."""
        at = self._found
        index = first_error(self.pane.view.text, at if at is not None else -1)
        self._show_found(index, "no line speaks of an error")
