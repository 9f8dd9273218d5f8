"""The audit log in the console: its last lines, one of them whole, a filter, an export, and whether it holds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget

from adapters.base import AdapterError
from adapters.model import Ref
from adapters.text import clean
from console import audit
from console.commands import Context
from console.export import ExportError, named_by_time, write_new
from console.record_lines import field, matcher, outcome, targets, whole
from console.screens.bindings import bindings_for
from console.screens.listing import ListingScreen
from console.screens.text import TextScreen
from console.screens.writes import told
from widgets.columns import Column, Role
from widgets.filter_bar import FilterBar

if TYPE_CHECKING:
    from console.app import ConsoleApp

MOST = 2000  # lines shown
ROLES: dict[str, Role] = {
    "accepted": "ok", "refused": "bad", "unknown": "warn", "declined": "dim", "broken": "bad", "recovered": "warn",
}  # fmt: skip


def role(record: Any) -> Role:
    """How its outcome looks; of what has none, its kind."""
    return ROLES.get(str(record.get("outcome") or record.get("kind")), "plain")


COLUMNS: tuple[Column, ...] = (
    Column("seq", "N", 5, 5, lambda r, _: field(r, "seq"), lambda r: "dim", right=True),
    Column("time", "TIME (UTC)", 19, 0, lambda r, _: field(r, "time")[:19].replace("T", " ")),
    Column("kind", "KIND", 8, 1, lambda r, _: field(r, "kind"), role),
    Column("action", "ACTION", 12, 2, lambda r, _: field(r, "action"), grow=1, limit=18),
    Column("targets", "TARGETS", 12, 3, lambda r, _: targets(r), grow=2),
    Column("outcome", "OUTCOME", 9, 4, lambda r, _: outcome(r), role),
    Column("decision", "DECISION", 12, 6, lambda r, _: field(r, "decision"), grow=1, limit=24),
    Column("origin", "ORIGIN", 9, 7, lambda r, _: field(r, "origin")),
    Column("cluster", "CLUSTER", 8, 8, lambda r, _: field(r, "cluster")),
    Column("person", "PERSON", 8, 9, lambda r, _: field(r, "person")),
)


class RecordScreen(ListingScreen):
    """Newest first. Nothing here writes to the log."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("record")
    contexts = frozenset[Context]({"record"})

    def __init__(self, host: ConsoleApp) -> None:
        super().__init__(host, "Audit log", COLUMNS, "")
        self._all: dict[Ref, Any] = {}
        self._filter = ""
        self.bar = FilterBar()

    def compose(self) -> ComposeResult:
        dialog: Widget
        for dialog in super().compose():
            host = clean(self._host.engine.audit.host, 40)
            dialog.border_subtitle = Content(f" the last {MOST} lines of {host}, newest first ")
            yield dialog

    def on_mount(self) -> None:
        self.query_one("#listing-dialog").mount(self.bar, before=self.said)

    async def read(self) -> Iterable[tuple[Ref, Any]]:
        records = await asyncio.to_thread(self._host.engine.audit.tail, MOST)
        host = self._host.engine.audit.host
        return [(Ref(host, "metrics", str(record["seq"])), record) for record in reversed(records)]

    @property
    def nothing(self) -> str:
        return f"The filter hides all {len(self._all)} lines." if self._all else "Nothing is on record yet."

    def show_rows(self, rows: dict[Ref, Any]) -> None:
        self._all = rows
        holds = matcher(self._filter)
        super().show_rows({ref: record for ref, record in rows.items() if holds(record)})
        self._say_count()

    def _say_count(self) -> None:
        shown = len(self.table.order)
        self.say(
            f"{shown} of {len(self._all)} lines: filter {self._filter}" if self._filter else f"{shown} lines", "dim"
        )

    # -- keys -------------------------------------------------------------------------------------------------------

    def do_record_open(self) -> None:
        if (ref := self.target) is not None and (record := self._rows.get(ref)) is not None:
            self.app.push_screen(TextScreen(f"Line {ref.id} of the audit log", whole(record)))

    def do_record_filter(self) -> None:
        self.bar.open(self._filter, self._host.remembered.history("filter"))

    def on_filter_bar_typed(self, message: FilterBar.Typed) -> None:
        message.stop()
        self._filter = message.text
        self.show_rows(self._all)

    def on_filter_bar_closed(self, message: FilterBar.Closed) -> None:
        self.on_filter_bar_typed(FilterBar.Typed(message.text))
        self._host.remembered.typed("filter", message.text)
        self.table.focus()

    def do_record_verify(self) -> None:
        self.say("Checking every line …", "info")
        self.run_worker(self._verify(), group="verify", exclusive=True, exit_on_error=False)

    async def _verify(self) -> None:
        try:
            found = await asyncio.to_thread(audit.verify, self._host.engine.audit.paths.log)
        except AdapterError as error:
            self.say(told(error), "bad")
            return
        if found.ok:
            notes = f"; {found.notes[0]}" if found.notes else ""
            self.say(f"The log holds: {found.lines} lines, head {found.head.hash[:16]}{notes}", "ok")
        else:
            more = f" (and {len(found.problems) - 1} more)" if len(found.problems) > 1 else ""
            self.say(f"THE LOG IS BROKEN: {found.problems[0]}{more}", "bad")

    def do_record_export(self) -> None:
        """The lines shown, oldest first, each as it is in the log but for its form."""
        records = [self._rows[ref] for ref in reversed(self.table.order)]
        if not records:
            self.say("There is no line to write.", "dim")
            return
        try:
            name = named_by_time("audit", "jsonl", self._host.engine.store.now())
            file = write_new(name, "".join(audit.export(records, "jsonl")))
        except ExportError as error:
            self.say(str(error), "warn")
        else:
            self.say(f"{len(records)} lines written to {file}", "ok")

    def do_back(self) -> None:
        """First the filter, then the screen."""
        if self._filter:
            self._filter = ""
            self.show_rows(self._all)
        else:
            super().do_back()
