"""A dialog with a list that is read when it is asked for: the audit log, API keys, reservations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static
from textual.worker import Worker

from adapters.base import AdapterError
from adapters.model import Ref
from adapters.text import clean
from console.commands import Command
from console.screens.bindings import CommandScreen
from console.screens.write_keys import WriteKeys
from console.screens.writes import outcome_of, told
from widgets.columns import Column, Moment, Role
from widgets.key_bar import KeyBar
from widgets.node_facts import COLOURS
from widgets.table import RecordTable

if TYPE_CHECKING:
    from console.app import ConsoleApp
    from console.gate import Operation


class ListingScreen(WriteKeys, CommandScreen, ModalScreen[None]):
    """Reads its rows in the background; what goes wrong is said in its own line, and the rows of before stay.

    A subclass says what to read. A row's name is a Ref, as in every table.
    """

    BINDINGS: ClassVar[list[BindingType]] = []
    CSS_PATH = None

    def __init__(self, host: ConsoleApp, title: str, columns: Sequence[Column], cluster: str) -> None:
        super().__init__()
        self._host = host
        self._title = title
        self._cluster = cluster
        self._rows: dict[Ref, Any] = {}
        self._operation: Operation | None = None
        self._seen = -1
        self.table = RecordTable(columns, self._rows.get, id="listing-table")
        self.said = Static(id="listing-said")
        self.keys = KeyBar()

    def compose(self) -> ComposeResult:
        dialog = Vertical(self.table, self.said, self.keys, id="listing-dialog", classes="dialog")
        dialog.border_title = Content(f" {clean(self._title, 60)} ")
        if self._cluster:
            dialog.border_subtitle = Content(f" cluster {clean(self._cluster, 40)} ")
        yield dialog

    def on_mount(self) -> None:
        self.table.explain_empty(["Reading …"])
        self.table.focus()
        self.call_after_refresh(self.show_keys)
        self.do_refresh()
        self.set_interval(0.25, self.tick)

    # -- what is shown ----------------------------------------------------------------------------------------------

    async def read(self) -> Iterable[tuple[Ref, Any]]:
        """The rows with their names, in their order. Raises AdapterError."""
        raise NotImplementedError

    @property
    def nothing(self) -> str:
        """Why there is no row."""
        raise NotImplementedError

    def do_refresh(self) -> None:
        self._reading: Worker[None] = self.run_worker(self._read, group="read", exclusive=True, exit_on_error=False)

    async def _read(self) -> None:
        try:
            rows = dict(await self.read())
        except AdapterError as error:
            self.table.explain_empty(["It could not be read."])
            self.say(told(error), "bad")
        else:
            self.show_rows(rows)

    def show_rows(self, rows: dict[Ref, Any]) -> None:
        self._rows.clear()
        self._rows.update(rows)
        self.table.explain_empty([self.nothing])
        now = Moment(self._host.engine.store.now(), self._host.engine.store.marked)
        self.table.show(list(rows), now, set(rows))

    def tick(self) -> None:
        """Say how a write of this dialog's own fares, and read again once it has its answer."""
        if self._operation is None or self._operation.revision == self._seen or not self.is_active:
            return
        self._seen = self._operation.revision
        self._say(*self.outcome(self._operation))
        if self._operation.done:
            self.do_refresh()

    def outcome(self, operation: Operation) -> tuple[str, Role]:
        return outcome_of(operation)

    def say(self, text: str, role: Role = "plain") -> None:
        self._operation = None
        self._say(text, role)

    def _say(self, text: str, role: Role) -> None:
        self.said.update(Content.styled(clean(text), COLOURS[role]))

    def show_keys(self) -> None:
        self.keys.show(self.hints())

    def look(self, command: Command) -> str:
        if command.verb and self._host.off(self._cluster, command.verb):
            return "off"
        return super().look(command)

    # -- what is done -----------------------------------------------------------------------------------------------

    @property
    def target(self) -> Ref | None:
        return self.table.cursor

    @property
    def movable(self) -> RecordTable:
        return self.table

    def sent(self, operation: Operation) -> None:
        self._operation, self._seen = operation, -1
        self.tick()

    def able(self, verb: str) -> bool:
        """Whether the cluster can do that; where not, the reason is said."""
        if why_not := self._host.why_not(self._cluster, verb):
            self.say(why_not, "warn")
        return why_not is None

    def do_help(self) -> None:
        from console.screens.help import HelpScreen

        self.app.push_screen(HelpScreen(self.contexts))

    def do_back(self) -> None:
        self.dismiss(None)

    def do_quit(self) -> None:
        self.dismiss(None)
