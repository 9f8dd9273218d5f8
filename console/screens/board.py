"""One pane with the view behind it: takes what changed in the store and shows it, at most once a tick."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any

from adapters.model import Ref
from console.filters import timed
from console.screens.facts import feed_facts
from console.store import Store
from console.view import MANY, Sort, View
from widgets.columns import Moment
from widgets.facts import PaneFacts
from widgets.pane import Pane

Run = Callable[[Coroutine[Any, Any, None], str], Any]
ASIDE = 3000  # rows above which filter and sort are worked out aside
BIG = 20_000  # rows above which the order is renewed at most once a second


class Board:
    """Keeps a pane, its view and its place in the store's changes together.

    Args:
        sorts: the columns by which a person can sort, in the order in which `s` goes through them.
        run: runs a coroutine, ending the one that was started for this pane before.
    """

    def __init__(self, pane: Pane, store: Store, clusters: Sequence[str], sorts: Sequence[Sort], run: Run) -> None:
        self.pane = pane
        self.view = View(pane.kind, sort=tuple(sorts[:1]), clusters=list(clusters) or None)
        self._store = store
        self._clusters = tuple(clusters)
        self._sorts = tuple(sorts)
        self._cursor = store.cursor(pane.kind)
        self._at = 0
        self._stale_order = False
        self._ordered_at = 0.0
        self._revision = -1
        self._moment: Moment | None = None
        self._run = run
        self._aside = 0  # rebuilds that have begun
        self._settled = 0  # of these, the one whose result is shown
        self._timed = False
        self._gone: set[Ref] | None = set()  # rows that went since marks were looked at; None: any of them may have
        pane.table.stay_on_top = True

    @property
    def filter(self) -> str:
        return self.view.filter_text

    def set_marks(self, marks: Iterable[Ref]) -> None:
        """Mark these rows and no others."""
        self.pane.table.set_marks(set(marks))
        if self.pane.facts is not None and self._moment is not None:
            self.pane.show_facts(self.pane.facts, self._moment.now)

    def lost_marks(self) -> int:
        """Take the marks off rows that no longer exist; returns how many there were."""
        marks = self.pane.table.marks
        suspects = marks if self._gone is None else self._gone & marks
        self._gone = set()
        gone = {ref for ref in suspects if self._store.row(ref) is None}
        if gone:
            self.set_marks(marks - gone)
        return len(gone)

    def facts(self, paused: bool) -> PaneFacts:
        feeds = feed_facts(self._store, self._clusters, self.pane.kind)
        return PaneFacts(self.view.total, feeds, self.view.filter_text, paused)

    def rebuild(self, moment: Moment, paused: bool = False) -> None:
        """Everything anew: another filter or sort. Many rows are sorted aside, so that no key waits for them."""
        self._moment = moment
        self._aside += 1
        self._gone = None
        if self._store.count(self.pane.kind) > ASIDE:
            self._run(self._rebuild_aside(self._aside, paused), f"board {self.pane.id}")
            return
        self._settled = self._aside
        changed = self._cursor.take().changed
        self.view.rebuild(self._store)
        self._show(moment, paused, changed)

    async def _rebuild_aside(self, number: int, paused: bool) -> None:
        await self.view.rebuild_aside(self._store, self._cursor)
        if number == self._aside:
            self._settled, self._gone = number, None
            moment = self._moment or Moment(self._store.now(), self._store.marked)
            self._show(moment, paused, set(self.view.refs))

    def _show(self, moment: Moment, paused: bool, changed: set[Ref]) -> None:
        self._stale_order = False
        if self.view.sort:
            self.pane.table.show_sort(self.view.sort[0].field, self.view.sort[0].descending)
        self._show_order(self.facts(paused), moment, changed)

    def _show_order(self, facts: PaneFacts, moment: Moment, changed: set[Ref]) -> None:
        """Show the order as it is now. Until everything is loaded for the first time, the cursor waits on top."""
        self.pane.show(list(self.view.refs), facts, moment, changed)
        states = [self._store.state(cluster, self.pane.kind) for cluster in self._clusters]
        self.pane.table.stay_on_top &= not all(state.loaded for state in states)

    def tick(self, moment: Moment, clock: float, paused: bool) -> None:
        """Take over what changed. `clock` is monotonic, in seconds. While paused only the facts are renewed."""
        fresh = self._store.revision != self._revision or moment is not self._moment
        due = self._timed and moment is not self._moment and moment.now.second % 5 == 0
        self._revision, self._moment = self._store.revision, moment
        if self._settled != self._aside:  # the rows are being sorted; what changes meanwhile is taken over then
            return
        if due and not paused:  # what time alone brings in or out
            self.rebuild(moment)
            return
        if paused:
            if fresh:
                self.pane.show_facts(self.facts(True), moment.now)
            return
        if not self._cursor.pending and not self._stale_order:
            if fresh:
                self.pane.update_rows((), self.facts(False), moment)
            return
        if len(self._cursor) > MANY and self._store.count(self.pane.kind) > ASIDE:  # while a big list is being loaded
            if clock - self._ordered_at >= 1.0:
                self._ordered_at = clock
                self.rebuild(moment)
            return
        changes = self._cursor.take()
        if self._gone is not None:
            self._gone |= changes.gone
        self._stale_order |= self.view.update(self._store, changes)
        wait = 1.0 if self.view.total > BIG else 0.0
        if self._stale_order and clock - self._ordered_at >= wait:
            self._stale_order, self._ordered_at = False, clock
            self._show_order(self.facts(False), moment, changes.changed)
        else:
            self.pane.update_rows(changes.changed, self.facts(False), moment)

    @property
    def clusters(self) -> tuple[str, ...]:
        """The clusters whose rows are shown."""
        return self._clusters

    def show_clusters(self, clusters: Sequence[str], moment: Moment) -> None:
        """Show the rows of these clusters and no others."""
        self._clusters = tuple(clusters)
        self.view.set_clusters(clusters)
        self.rebuild(moment)

    def set_filter(self, text: str, moment: Moment) -> None:
        """Raises FilterError; the filter of before then stays."""
        if text != self.view.filter_text:
            self.view.set_filter(text)
            self._timed = timed(text)
            self.rebuild(moment)

    def next_sort(self, moment: Moment) -> None:
        """The next column, first one way and then the other."""
        now = self.view.sort[0] if self.view.sort else self._sorts[0]
        base = self._sorts[self._at]
        if now.descending == base.descending:
            self._sort_by(Sort(base.field, descending=not base.descending), moment)
        else:
            self._at = (self._at + 1) % len(self._sorts)
            self._sort_by(self._sorts[self._at], moment)

    def sort_by(self, column: str, moment: Moment) -> None:
        """A column's title was clicked: sort by it, or turn the order round."""
        for index, sort in enumerate(self._sorts):
            if sort.field == column:
                now = self.view.sort[0] if self.view.sort else None
                turned = now is not None and now.field == column and now.descending == sort.descending
                self._at = index
                self._sort_by(Sort(column, descending=sort.descending ^ turned), moment)

    def sort(self, sorts: Sequence[Sort], moment: Moment) -> None:
        """Sort by these keys, the first first; without any, as at the start."""
        self.view.set_sort(tuple(sorts) or self._sorts[:1])
        self.rebuild(moment)

    def _sort_by(self, sort: Sort, moment: Moment) -> None:
        self.view.set_sort((sort,))
        self.rebuild(moment)
