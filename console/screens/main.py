"""The main screen: three panes on the store, and the way from a key to what it means here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Horizontal
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget

from adapters.model import Ref
from console.commands import Command, Context
from console.notices import Watched
from console.screens.admin_keys import AdminKeys
from console.screens.bindings import CommandScreen, bindings_for
from console.screens.board import Board
from console.screens.chat_keys import ChatKeys
from console.screens.facts import status_of
from console.screens.mark_keys import MarkKeys
from console.screens.menu_keys import MenuKeys
from console.screens.notice_keys import NoticeKeys
from console.screens.open_keys import OpenKeys
from console.screens.overview import Overview
from console.screens.pane_keys import PaneKeys, Place
from console.screens.wants import WantsKeys
from console.screens.write_keys import WriteKeys
from console.view import Sort
from widgets.columns import Moment, Role
from widgets.filter_bar import FilterBar
from widgets.jobs import JobsPane
from widgets.key_bar import KeyBar
from widgets.nodes import NodesPane
from widgets.overview import OverviewBar
from widgets.pane import Pane
from widgets.queues import QueuesPane
from widgets.status_bar import StatusBar
from widgets.table import RecordTable

if TYPE_CHECKING:
    from console.app import ConsoleApp

TICK = 0.05  # seconds from a change of the store to a look at it: a lone event is painted soon
AGES = 0.5  # seconds between looks for ages that have changed: twice in the second that they show
GAP = 0.2  # seconds between two paintings at least: a stream of events is painted in batches
SORTS: dict[str, tuple[Sort, ...]] = {
    "job": (Sort("submission_time", descending=True), Sort("status"), Sort("name"), Sort("owner"), Sort("queue"),
            Sort("cores", descending=True), Sort("id")),
    "queue": (Sort("name"), Sort("pending_jobs", descending=True), Sort("running_jobs", descending=True)),
    "node": (Sort("name"), Sort("status"), Sort("slots_used", descending=True), Sort("heartbeat_time")),
}  # fmt: skip


class MainScreen(
    ChatKeys, WantsKeys, NoticeKeys, PaneKeys, MenuKeys, MarkKeys, OpenKeys, AdminKeys, WriteKeys, CommandScreen,
    Screen[None],
):  # fmt: skip
    """Jobs, queues and nodes of every cluster."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("main", "jobs", "queues", "nodes", "chat", "say")
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """As in the base class, but that a change of focus does not repaint the whole screen."""

    def __init__(self, host: ConsoleApp) -> None:
        super().__init__(id="main")
        self._host = host
        self._store = host.engine.store
        row = self._store.row
        clusters = list(host.engine.clusters)
        several = len(clusters) > 1
        columns = host.engine.config.columns
        panes: tuple[Pane, ...] = (
            JobsPane(row, several=several, columns=columns.get("jobs", ())),
            QueuesPane(row, several=several, columns=columns.get("queues", ())),
            NodesPane(row, several=several, columns=columns.get("nodes", ())),
        )
        self.boards = {
            pane.id or "": Board(pane, self._store, clusters, SORTS[pane.kind], self._aside) for pane in panes
        }
        self._said: tuple[str, Role] = ("", "plain")
        self._moment = Moment(self._store.now(), self._store.marked)
        self._active = "jobs"
        self._paused = False
        self._painted = -1
        self._trail: list[Place] = []
        self._overview = Overview(self._store, clusters)
        self._watched = Watched(self._store, host.engine.config.notices, host.is_mine)
        self._waking: asyncio.TimerHandle | None = None
        self.recall_views()

    def _aside(self, work: Coroutine[Any, Any, None], group: str) -> None:
        self.run_worker(work, group=group, exclusive=True, exit_on_error=False)

    def compose(self) -> ComposeResult:
        yield OverviewBar()
        yield Horizontal(Container(*(board.pane for board in self.boards.values()), id="panes"), id="work")
        yield FilterBar()
        yield StatusBar()
        yield KeyBar()

    def on_mount(self) -> None:
        self.go(self._active)
        for board in self.boards.values():
            board.rebuild(self._moment)
        self.set_interval(AGES, self.tick)
        self._end_listening = self._store.listen(self._wake)
        self._wake()
        self.show_status()

    def on_unmount(self) -> None:
        self._end_listening()
        if self._waking is not None:
            self._waking.cancel()

    # -- where the person is ----------------------------------------------------------------------------------------

    @property
    def board(self) -> Board:
        """The pane that has, or last had, the focus."""
        return self.boards[self._active]

    @property
    def contexts(self) -> frozenset[Context]:
        if (chat := self.chat_context) is not None:
            return frozenset({chat})
        pane: Context = {"jobs": "jobs", "queues": "queues"}.get(self._active, "nodes")  # type: ignore[assignment]
        return frozenset({"main", pane})

    @property
    def movable(self) -> RecordTable:
        return self.board.pane.table

    @property
    def target(self) -> Ref | None:
        """The row under the cursor."""
        return self.board.pane.table.cursor

    def look(self, command: Command) -> str:
        if command.verb and (target := self.target) and self._host.off(target.cluster, command.verb):
            return "off"
        return super().look(command)

    # -- painting ---------------------------------------------------------------------------------------------------

    def _wake(self) -> None:
        """The store changed: look at it soon, once for all that comes until then."""
        if self._waking is None:
            self._waking = asyncio.get_running_loop().call_later(TICK, self.call_later, self._woken)

    def _woken(self) -> None:
        self._waking = None
        self.tick()
        if self.is_active and not self.up_to_date:
            self._wake()

    def tick(self) -> None:
        """Show what changed. Under a dialog nothing is painted: each change there would repaint the whole screen."""
        now = self._store.now().replace(microsecond=0)
        fresh = self._store.revision != self._painted or now != self._moment.now
        clock = time.monotonic()
        self.tell_news()
        if not self.is_active or not fresh or not self._host.link.due(clock, GAP):
            return
        self._painted = self._store.revision
        if now != self._moment.now:
            self._moment = Moment(now, self._store.marked)
        for board in self.boards.values():
            board.tick(self._moment, clock, self._paused)
            if lost := board.lost_marks():
                self.say(f"{lost} marked {board.pane.noun} are gone; their marks with them.", "warn")
        self._show_around()

    def _show_around(self) -> None:
        """What stands around the panes."""
        self._show_tabs()
        if not self.has_class("-narrow"):
            self.query_one(OverviewBar).show(self._overview.lines(self._moment.now))
        self.show_agents()
        self.show_status()

    @property
    def up_to_date(self) -> bool:
        """Everything that the store holds has been handed to the panes."""
        return self._painted == self._store.revision

    def on_screen_resume(self) -> None:
        """Back from a dialog: paint once what was held back."""
        self._moment = Moment(self._store.now().replace(microsecond=0), self._store.marked)
        for board in self.boards.values():
            board.tick(self._moment, time.monotonic(), self._paused)
        self._show_around()

    def say(self, text: str, role: Role = "plain") -> None:
        """One line about what the last key came to."""
        self._said = (text, role)
        self.show_status()

    def show_status(self) -> None:
        if not self.query(StatusBar):
            return  # the console closes: a key that was on its way still arrives
        engine, link = self._host.engine, self._host.link
        status = status_of(
            self._store, engine.clusters, engine.gate.operations, self._said,
            read_only=engine.config.read_only, slow=link.slow, now=self._store.now(), waiting=self.waiting_words(),
        )  # fmt: skip
        self.query_one(StatusBar).show(status)
        self.query_one(KeyBar).show(self.hints())

    def _show_tabs(self) -> None:
        """Where there is room for one pane, its title names the others too."""
        names = [f"{board.pane.heading.name_shown} {board.view.shown}" for board in self.boards.values()]
        if not self.has_class("-narrow"):
            names = [""] * len(names)
        for index, board in enumerate(self.boards.values()):
            before, after = names[:index], names[index + 1 :]
            board.pane.heading.show_others(" · ".join(filter(None, before)), " · ".join(filter(None, after)))

    # -- layout -----------------------------------------------------------------------------------------------------

    def on_resize(self, event: events.Resize) -> None:
        self.layout_for(*event.size)

    def layout_for(self, width: int, height: int) -> None:
        """Arrange the panes in what the chat leaves of the screen."""
        width = self.make_room(width)
        layout = "-narrow" if width < 110 or height < 30 else "-wide" if width >= 180 else "-medium"
        if not self.has_class(layout):  # each change of a class looks at the style of everything on screen
            self.remove_class("-narrow", "-medium", "-wide", update=False).add_class(layout)
        self._show_tabs()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        for id, board in self.boards.items():
            if event.widget is board.pane.table:
                self._activate(id)
        self.show_keys()

    def show_keys(self) -> None:
        self.query_one(KeyBar).show(self.hints())

    def _activate(self, id: str) -> None:
        self._active = id
        for name, board in self.boards.items():
            board.pane.activate(name == id)
        self.query_one(KeyBar).show(self.hints())

    def go(self, id: str) -> None:
        """Give the focus to a pane."""
        self._activate(id)
        self.set_focus(self.board.pane.table, scroll_visible=False)

    # -- commands ---------------------------------------------------------------------------------------------------

    def do_refresh(self) -> None:
        self._host.engine.refresh()
        self.say("Asked for fresh data.", "dim")

    def do_pause(self) -> None:
        self._paused = not self._paused
        for board in self.boards.values():
            board.rebuild(self._moment, self._paused)
        self.say("Paused: changes come in but are not painted." if self._paused else "", "warn")

    def do_back(self) -> None:
        """One level back: in the chat, else the last thing said, the marks, the trail, the filter. Never quits."""
        if self.chat_back():
            return
        if self._said[0] and not self._paused:
            self.say("")
        elif not self.clear_marks() and not self.go_back() and self.board.filter:
            self.set_filter("")

    def do_quit(self) -> None:
        self._host.leave(self.say)

    # -- messages ---------------------------------------------------------------------------------------------------

    def on_record_table_row_opened(self, message: RecordTable.RowOpened) -> None:
        message.stop()
        if self._active == "jobs":
            self.do_job_open()
        elif self._active == "nodes":
            self.do_node_open()
        else:
            self.do_queue_jobs()

    def on_record_table_row_highlighted(self, message: RecordTable.RowHighlighted) -> None:
        message.stop()
        self.query_one(KeyBar).show(self.hints())

    def on_record_table_header_clicked(self, message: RecordTable.HeaderClicked) -> None:
        message.stop()
        self.board.sort_by(message.column, self._moment)
        self.remember_sort()

    async def on_key_bar_clicked(self, message: KeyBar.Clicked) -> None:
        await self.action_run(message.command)
