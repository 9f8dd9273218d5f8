"""A job's output, followed while it is written: one stream, both beside each other, or both as one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.screen import Screen

from adapters.base import AdapterError, LogChunk
from adapters.model import Job
from adapters.text import clean
from console.commands import Context
from console.log_reading import STREAMS, Stream, follow, follow_both
from console.screens.bindings import CommandScreen, bindings_for
from console.screens.log_find import LogFind
from console.screens.log_open import LogOpen
from widgets.key_bar import KeyBar
from widgets.log_pane import LogPane
from widgets.log_view import LogView

if TYPE_CHECKING:
    from console.app import ConsoleApp

View: TypeAlias = Literal["stdout", "stderr", "beside", "merged"]
VIEWS: tuple[View, ...] = ("stdout", "stderr", "beside", "merged")
LOOK = 0.1  # seconds between looks for what is to be painted
GAP = 0.2  # seconds between two paintings at least; a slow terminal makes it longer
NARROW = 110  # columns below which two logs stand one above the other


class LogScreen(LogFind, LogOpen, CommandScreen, Screen[None]):
    """`e` goes on from one view to the next; with two logs on screen Tab goes to the other one."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("log")
    contexts = frozenset[Context]({"log"})

    def __init__(self, host: ConsoleApp, job: Job) -> None:
        super().__init__()
        self._host = host
        self._job = job
        self._view: View = "stdout"
        self._wraps = False
        self._active = 0
        self._paths: dict[Stream, str] = {}
        self.panes: list[LogPane] = []
        self.logs = Container(id="logs")
        self.keys = KeyBar()

    def compose(self) -> ComposeResult:
        yield self.logs
        yield self.keys

    async def on_mount(self) -> None:
        self.keys.show(self.hints())
        await self._show(self._view)
        self.set_interval(LOOK, self.tick)

    # -- what is shown ----------------------------------------------------------------------------------------------

    @property
    def pane(self) -> LogPane:
        """The log that the keys are for."""
        return self.panes[self._active]

    @property
    def view(self) -> LogView:
        return self.pane.view

    @property
    def movable(self) -> LogView:
        return self.view

    @property
    def stream(self) -> Stream:
        """The stream of the pane that the keys are for; of the merged one its first."""
        return "stderr" if self._view == "stderr" or (self._view == "beside" and self._active) else "stdout"

    @property
    def path(self) -> str:
        return self._paths.get(self.stream, "")

    @property
    def log_name(self) -> str:
        """A name for a copy: letters, digits, dots and dashes alone."""
        id = "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "_" for char in self._job.id)
        return f"job-{id[:60]}-{self._view if self._view == 'merged' else self.stream}.log"

    async def _show(self, view: View) -> None:
        """Read anew for this view."""
        self._view, self._active, self._at = view, 0, None
        self._paths.clear()
        await self.logs.remove_children()
        of = f" of job {clean(self._job.id, 40)} {clean(self._job.name, 60)}"
        names = {"beside": STREAMS, "merged": ("stdout and stderr",)}.get(view, (view,))
        merged = view == "merged"
        self.panes = [LogPane(name, "" if n else of, merged=merged) for n, name in enumerate(names)]
        self.logs.set_class(view == "beside", "-beside")
        await self.logs.mount_all(self.panes)
        for pane in self.panes:
            if self._wraps:
                pane.view.toggle_wrap()
            pane.view.note(f"Waiting for {pane.name_shown} …")
            pane.paint()
        self._focus(0)
        self.run_worker(self._read(), group="log", exclusive=True, exit_on_error=False)

    async def _read(self) -> None:
        """Read until the job is over or the screen is left. What goes wrong is said in the log."""
        try:
            reader = self._host.engine.reader(self._job.cluster)
        except AdapterError as error:
            for pane in self.panes:
                pane.view.note(f"-- {clean(error.message)} {clean(error.hint)} --")
            return
        if self._view == "merged":
            await follow_both(reader, self._job.id, self)
        else:
            streams = STREAMS if self._view == "beside" else (self.stream,)
            await asyncio.gather(*(follow(reader, self._job.id, stream, self) for stream in streams))

    # -- from who reads ---------------------------------------------------------------------------------------------

    def _pane_of(self, stream: Stream) -> LogPane:
        return self.panes[1] if self._view == "beside" and stream == "stderr" else self.panes[0]

    def fed(self, chunk: LogChunk) -> None:
        """A piece came."""
        if chunk.path:
            self._paths[chunk.stream] = chunk.path
        view = self._pane_of(chunk.stream).view
        if self._view != "merged":
            view.feed(chunk.data, chunk.reset)
            return
        if chunk.reset:
            view.text.forget(chunk.stream)
            view.text.say(f"-- {chunk.stream} was cut or replaced and begins anew --")
        view.feed(chunk.data, origin=chunk.stream)

    def noted(self, stream: Stream, text: str) -> None:
        """To be said below the last line."""
        self._pane_of(stream).view.note(text)

    def said(self, text: str) -> None:
        """To be said between the lines."""
        view = self.panes[0].view
        view.text.say(text)
        view.fresh = True

    # -- painting ---------------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Paint what came, as often as the terminal takes it."""
        if self.is_current and any(p.view.fresh for p in self.panes) and self._host.link.due(time.monotonic(), GAP):
            for pane in self.panes:
                pane.paint()

    def on_resize(self, event: events.Resize) -> None:
        self.logs.set_class(event.size.width < NARROW, "-narrow")

    def _focus(self, index: int) -> None:
        self._active = index
        self.view.focus()
        for n, pane in enumerate(self.panes):
            pane.set_class(n == index and len(self.panes) > 1, "-active")

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        for n, pane in enumerate(self.panes):
            if event.widget is pane.view and n != self._active:
                self._at = None
                self._focus(n)

    # -- keys -------------------------------------------------------------------------------------------------------

    async def do_log_stream(self) -> None:
        await self._show(VIEWS[(VIEWS.index(self._view) + 1) % len(VIEWS)])

    def do_log_other(self) -> None:
        self._at = None
        self._focus((self._active + 1) % len(self.panes))

    def _move(self, by: int) -> None:
        super()._move(by)
        self.pane.say()

    def do_move_top(self) -> None:
        self.view.to_top()
        self.pane.say()

    def do_move_bottom(self) -> None:
        self.view.to_end()
        self.pane.say()

    def do_log_wrap(self) -> None:
        for pane in self.panes:
            self._wraps = pane.view.toggle_wrap()
        self.pane.say("long lines wrapped" if self._wraps else "long lines cut")

    def do_log_follow(self) -> None:
        if self.view.following:
            self.view.following = False
        else:
            self.view.to_end()
        self.pane.say()

    def _outside(self, work: Coroutine[Any, Any, None]) -> None:
        """Let another program have the terminal, one at a time."""
        if not any(worker.group == "outside" and worker.is_running for worker in self.workers):
            self.run_worker(work, group="outside", exit_on_error=False)

    def do_help(self) -> None:
        from console.screens.help import HelpScreen

        self.app.push_screen(HelpScreen(self.contexts))

    def do_back(self) -> None:
        self.dismiss(None)

    def do_quit(self) -> None:
        self.dismiss(None)
