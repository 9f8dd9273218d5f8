"""Which rows a pane shows, and in which order: filter and sort, kept up to date change by change."""

from __future__ import annotations

import asyncio
from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from adapters.model import ROW_TYPES, Kind, Ref, Row
from console.filters import Matches, compile_filter
from console.sorting import KeyOf, Sort, in_order, key_of
from console.store import Changes, Cursor, Store

__all__ = ["MANY", "Sort", "View"]

MANY = 2000  # changes from which sorting anew is cheaper than placing them one by one


class View:
    """An ordered list of Refs over the store. After `set_filter`, `set_sort` or `set_clusters`, `rebuild`.

    `update` costs little while few rows come, go or move; the result is the same as that of `rebuild`. The order of
    all rows is kept beside the rows that pass the filter, so that another filter sorts nothing.
    """

    def __init__(
        self,
        kind: Kind,
        filter_text: str = "",
        sort: Sequence[Sort] = (Sort("id"),),
        clusters: Iterable[str] | None = None,
    ) -> None:
        self.kind = kind
        self.refs: list[Ref] = []
        self.total = 0
        self._order: list[Ref] | None = None  # all rows, whether they pass or not; None: not sorted yet
        self.set_clusters(clusters)
        self.set_filter(filter_text)
        self.set_sort(sort)

    @property
    def shown(self) -> int:
        return len(self.refs)

    @property
    def filtered(self) -> bool:
        return self._matches is not None

    def set_clusters(self, clusters: Iterable[str] | None) -> None:
        """The clusters whose rows count; None: all."""
        self.clusters = list(clusters) if clusters is not None else None
        self._order = None

    def set_filter(self, text: str) -> None:
        """Raises FilterError; the filter of before then stays."""
        self._matches = compile_filter(self.kind, text)
        self.filter_text = text
        if self._order is self.refs:  # from here on, what is shown need not be everything
            self._order = list(self.refs)

    def set_sort(self, sort: Sequence[Sort]) -> None:
        self.sort = tuple(sort)
        self._key = key_of(self.sort)
        self._order = None
        row_fields = getattr(ROW_TYPES[self.kind], "_fields", ())
        self._fields = tuple(sort.field if sort.field in row_fields else "extensions" for sort in self.sort)

    def rebuild(self, store: Store) -> None:
        """Filter and sort everything: 0.3 s at 100,000 rows."""
        self.total = store.count(self.kind, self.clusters)
        self._order, self.refs = _sorted(list(store.items(self.kind, self.clusters)), self._key, self._matches)

    async def rebuild_aside(self, store: Store, cursor: Cursor) -> None:
        """As `rebuild`, without keeping the event loop from its work; `cursor` is that of the view's holder, and what
        happens in the meantime is taken over at the end (where that is much, it stays in the cursor, and the holder
        comes again). A filter, sort or choice of clusters made meanwhile has the last word."""
        if self._order is not None and len(cursor) <= MANY:
            self.update(store, cursor.take())
        else:
            self._order = None
            cursor.take()
        wanted = key, matches, clusters = self._key, self._matches, self.clusters
        order = self._order
        if order is None:
            rows = list(store.items(self.kind, clusters))
            order, refs = await asyncio.to_thread(_sorted, rows, key, matches)
        else:
            refs = await asyncio.to_thread(_passing, order, list(map(store.row, order)), matches)
        if any(now is not then for now, then in zip((self._key, self._matches, self.clusters), wanted, strict=True)):
            return
        self._order, self.refs = order, refs
        self.total = store.count(self.kind, self.clusters)
        if len(cursor) <= MANY:
            self.update(store, cursor.take())
        else:
            self.refs = [ref for ref in self.refs if store.row(ref) is not None]

    def update(self, store: Store, changes: Changes) -> bool:
        """Take over what a cursor saw; True if `refs` is different now (it is then a new list)."""
        if changes.membership:
            self.total = store.count(self.kind, self.clusters)
        moved = self._moved(store, changes)
        if not (moved or changes.added or changes.gone):
            return False
        before = self.refs
        if len(moved) + len(changes.added) + len(changes.gone) > MANY:
            self.rebuild(store)
            return self.refs != before
        out = {ref for ref in (*changes.gone, *moved) if self._of_ours(ref)}
        new = [(ref, row) for ref in (*changes.added, *moved) if self._of_ours(ref) and (row := store.row(ref))]
        key = self._key_in(store)
        refs = _placed(before, out, [ref for ref, row in new if self._passes(row)], key)
        refs = before if refs == before else refs
        if self._order is before:  # what is shown is everything
            self._order = refs
        elif self._order is not None:
            self._order = _placed(self._order, out, [ref for ref, _ in new], key)
        self.refs = refs
        return refs is not before

    def _moved(self, store: Store, changes: Changes) -> list[Ref]:
        """Rows that are shown and will not be, or the other way round, or whose place is another."""
        moved: list[Ref] = []
        for ref in changes.changed:
            old = changes.before.get(ref)
            row = store.row(ref)
            if old is None or row is None or ref in changes.added or not self._of_ours(ref):
                continue
            if self._sorts_elsewhere(ref, old, row) or self._passes(old) != self._passes(row):
                moved.append(ref)
        return moved

    def _sorts_elsewhere(self, ref: Ref, old: Row, row: Row) -> bool:
        """Whether the keys differ. Most changes touch nothing that is sorted by, and then no key is made."""
        if all(getattr(old, field, None) == getattr(row, field, None) for field in self._fields):
            return False
        return self._key(ref, old) != self._key(ref, row)

    def _key_in(self, store: Store) -> Callable[[Ref], tuple[Any, ...]]:
        def key(ref: Ref) -> tuple[Any, ...]:
            row = store.row(ref)
            assert row is not None, ref
            return self._key(ref, row)

        return key

    def _passes(self, row: Row) -> bool:
        return self._matches is None or self._matches(row)

    def _of_ours(self, ref: Ref) -> bool:
        return self.clusters is None or ref.cluster in self.clusters


def _placed(refs: list[Ref], out: set[Ref], new: Sequence[Ref], key: Callable[[Ref], tuple[Any, ...]]) -> list[Ref]:
    """A new list: without those that are out, and with the new ones in their places."""
    placed = [ref for ref in refs if ref not in out] if out else list(refs)
    for ref in new:
        insort(placed, ref, key=key)
    return placed


def _sorted(rows: Sequence[tuple[Ref, Row]], key: KeyOf, matches: Matches | None) -> tuple[list[Ref], list[Ref]]:
    """All of them in their order, and those that pass."""
    keyed = in_order([(key(ref, row), ref, row) for ref, row in rows])
    order = [ref for _, ref, _ in keyed]
    return order, order if matches is None else [ref for _, ref, row in keyed if matches(row)]


def _passing(order: list[Ref], rows: Sequence[Row | None], matches: Matches | None) -> list[Ref]:
    if matches is None:
        return order
    return [ref for ref, row in zip(order, rows, strict=True) if row is not None and matches(row)]
