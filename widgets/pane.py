"""The frame that the panes share: a title that says how honest the rows are, and the table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from textual.app import ComposeResult
from textual.containers import Vertical

from adapters.model import Kind, Ref
from widgets.columns import Column, Moment, chosen
from widgets.facts import PaneFacts, summary, why_empty
from widgets.pane_title import PaneTitle
from widgets.table import RecordTable, RowOf


class Pane(Vertical):
    """A titled table of one kind of rows.

    The focus colours the title and the cursor's row alone: a border that changes would repaint two whole panes.

    Args:
        number: the key that focuses it.
        noun: what the rows are, in the plural.
        columns: those that are shown at the start, out of `every` one there is.
    """

    DEFAULT_CSS = """
    Pane { height: 1fr; }
    Pane > RecordTable { height: 1fr; border: round $border-blurred; border-top: none; }
    """

    def __init__(
        self, kind: Kind, number: int, noun: str, columns: Sequence[Column], row_of: RowOf,
        every: Sequence[Column] = (),
    ) -> None:  # fmt: skip
        super().__init__(id=f"{kind}s")
        self.kind = kind
        self.noun = noun
        self.heading = PaneTitle(f"{number} {noun.capitalize()}")
        self.table = RecordTable(columns, row_of, id=f"{kind}-table")
        self._facts: PaneFacts | None = None
        self._columns = tuple(columns)
        self._every = tuple(every) or self._columns

    @property
    def column_titles(self) -> dict[str, str]:
        """Every column there is: id -> title."""
        return {column.id: column.title for column in self._every}

    def choose_columns(self, ids: Sequence[str]) -> None:
        """Show these columns in this order; without any known one, those of the start."""
        known = self.column_titles
        wanted = [id for id in ids if id in known]
        self.table.show_columns(chosen(self._every, wanted) if wanted else self._columns)

    def compose(self) -> ComposeResult:
        yield self.heading
        yield self.table

    def activate(self, active: bool) -> None:
        """Show that this pane is the one that keys act on, or no longer is."""
        if active != self.has_class("-active"):
            self.set_class(active, "-active")
            self.heading.refresh()

    @property
    def facts(self) -> PaneFacts | None:
        return self._facts

    def show(self, order: Sequence[Ref], facts: PaneFacts, moment: Moment, changed: Collection[Ref] = ()) -> None:
        """Show these rows, in this order, with what is known about where they come from."""
        self.table.show(order, moment, changed)
        self.show_facts(facts, moment.now)

    def update_rows(self, changed: Collection[Ref], facts: PaneFacts, moment: Moment) -> None:
        """The same rows in the same order; some have changed."""
        self.table.update_rows(changed, moment)
        self.show_facts(facts, moment.now)

    def show_facts(self, facts: PaneFacts, now: datetime) -> None:
        self._facts = facts
        shown = len(self.table.order)
        count = f"{shown}/{facts.total}" if facts.filter else str(facts.total)
        text, role = summary(facts.feeds, now)
        if facts.paused:
            text, role = f"paused, {text}", "warn"
        note = f"filter {facts.filter}" if facts.filter else _first_note(facts)
        count += self._marked()
        self.heading.show(count, (text, role), note)
        if not shown:
            self.table.explain_empty(why_empty(self.noun, facts, now))

    def _marked(self) -> str:
        """How many rows are marked, and how many of them a filter hides."""
        marks = self.table.marks
        if not marks:
            return ""
        hidden = len(marks.difference(self.table.order)) if self._facts and self._facts.filter else 0
        return f" ({len(marks)} marked{f', {hidden} hidden' if hidden else ''})"


def _first_note(facts: PaneFacts) -> str:
    """What a feed wants said although it works: an error behind stale rows, or a note."""
    for fact in facts.feeds:
        if fact.loaded and fact.label in ("failed", "stale") and fact.error:
            return fact.error
    return next((fact.note for fact in facts.feeds if fact.note), "")
