"""A job's output, followed while it is written."""

from __future__ import annotations

import os
import shlex
import subprocess
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from adapters.base import AdapterError
from adapters.model import Job
from adapters.text import clean
from console.commands import Context
from console.screens.bindings import CommandScreen, bindings_for
from widgets.key_bar import KeyBar
from widgets.log_search import find, first_error
from widgets.log_view import LogView

if TYPE_CHECKING:
    from console.app import ConsoleApp

TAIL = 5000  # lines read from the end of the log


class LogScreen(CommandScreen, Screen[None]):
    """One stream at a time; `e` switches between stdout and stderr."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("log")
    contexts = frozenset[Context]({"log"})

    def __init__(self, host: ConsoleApp, job: Job) -> None:
        super().__init__()
        self._host = host
        self._job = job
        self._stream: Literal["stdout", "stderr"] = "stdout"
        self.heading = Static("", id="log-title")
        self._wanted = ""
        self._at: int | None = None
        self.view = LogView()
        self.keys = KeyBar()

    def compose(self) -> ComposeResult:
        yield self.heading
        yield self.view
        yield self.keys

    def on_mount(self) -> None:
        self.view.focus()
        self.keys.show(self.hints())
        self._read()

    @property
    def movable(self) -> LogView:
        return self.view

    def _read(self) -> None:
        self._at = None
        self.view.feed(b"", reset=True)
        self.view.note(f"Waiting for {self._stream} …")
        self._title()
        self.run_worker(self._follow(), group="log", exclusive=True, exit_on_error=False)

    async def _follow(self) -> None:
        """Read until the job is over or the screen is left. What goes wrong is said below the last line."""
        try:
            reader = self._host.engine.reader(self._job.cluster)
            async for chunk in reader.job_logs(self._job.id, self._stream, tail=TAIL, follow=True):
                self.view.feed(chunk.data, chunk.reset)
                if chunk.note:
                    self.view.note(f"-- {clean(chunk.note)} --")
                elif chunk.at_end:
                    self.view.note("-- the job is over, this is all --")
                elif chunk.data:
                    self.view.note("")
                self._title()
            if not len(self.view.text):
                self.view.note(f"-- the job wrote nothing to {self._stream} --")
        except AdapterError as error:
            self.view.note(f"-- {clean(error.message)} {clean(error.hint)} --")

    def _title(self, word: str = "") -> None:
        following = "following" if self.view.following else "not following, f follows"
        dropped = f", first {self.view.text.dropped} lines dropped" if self.view.text.dropped else ""
        name = clean(self._job.name, 60)
        lines = f"{len(self.view.text)} lines{dropped}, {following}" + (f"; {word}" if word else "")
        text = f" {self._stream} of job {clean(self._job.id, 40)} {name}  {lines}"
        self.heading.update(Content(text), layout=False)

    def _move(self, by: int) -> None:
        super()._move(by)
        self._title()

    def do_move_top(self) -> None:
        self.view.to_top()
        self._title()

    def do_move_bottom(self) -> None:
        self.view.to_end()
        self._title()

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
        start = self._at if self._at is not None else self.view.top - (step > 0)
        self._show_found(find(self.view.text, self._wanted, start, step), f"{clean(self._wanted, 40)!r} is not in it")

    def _show_found(self, index: int | None, otherwise: str) -> None:
        if index is None:
            self._title(otherwise)
            return
        self._at = index
        self.view.show_line(index)
        self._title(f"line {index + 1}")

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
        start = self._at if self._at is not None else -1
        self._show_found(first_error(self.view.text, start), "no line speaks of an error")

    def do_log_wrap(self) -> None:
        self._title("long lines wrapped" if self.view.toggle_wrap() else "long lines cut")

    def do_log_pager(self) -> None:
        """Hand what was read to the person's pager; the console comes back when it ends."""
        lines = "\n".join(self.view.text.line(n) for n in range(len(self.view.text)))
        pager = shlex.split(os.environ.get("PAGER", "less"))
        try:
            with self.app.suspend():
                subprocess.run(pager, input=lines.encode(), check=False)
        except (OSError, SuspendNotSupported) as error:
            self._title(f"{pager[0]}: {getattr(error, 'strerror', None) or 'cannot run here'}")

    def do_log_follow(self) -> None:
        if self.view.following:
            self.view.following = False
        else:
            self.view.to_end()
        self._title()

    def do_log_stream(self) -> None:
        self._stream = "stderr" if self._stream == "stdout" else "stdout"
        self._read()

    def do_help(self) -> None:
        from console.screens.help import HelpScreen

        self.app.push_screen(HelpScreen(self.contexts))

    def do_back(self) -> None:
        self.dismiss(None)

    def do_quit(self) -> None:
        self.dismiss(None)
