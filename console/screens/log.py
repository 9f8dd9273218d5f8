"""A job's output, followed while it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from textual.app import ComposeResult
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

    def _title(self) -> None:
        following = "following" if self.view.following else "not following, f follows"
        dropped = f", first {self.view.text.dropped} lines dropped" if self.view.text.dropped else ""
        name = clean(self._job.name, 60)
        lines = f"{len(self.view.text)} lines{dropped}, {following}"
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
