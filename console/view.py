"""Which rows a pane shows, and in which order: filter and sort, kept up to date change by change."""

from __future__ import annotations

import asyncio
from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from adapters.model import ROW_TYPES, Kind, Ref, Row
from console.filters import Matches, compile_filter
from console.sorting import KeyOf, Sort, key_of
from console.store import Changes, Cursor, Store

__all__ = ["Sort", "View"]

MANY = 2000  # changes from which sorting anew is cheaper than placing them one by one


class View:
    """An ordered list of Refs over the store. After `set_filter` or `set_sort`, `rebuild`.

    `update` costs little while few rows come, go or move; the result is the same as that of `rebuild`.
    """

    def __init__(
        self,
        kind: Kind,
        filter_text: str = "",
        sort: Sequence[Sort] = (Sort("id"),),
        clusters: Iterable[str] | None = None,
    ) -> None:
        self.kind = kind
        self.clusters = list(clusters) if clusters is not None else None
        self.refs: list[Ref] = []
        self.total = 0
        self.set_filter(filter_text)
        self.set_sort(sort)

    @property
    def shown(self) -> int:
        return len(self.refs)

    @property
    def filtered(self) -> bool:
        return self._matches is not None

    def set_filter(self, text: str) -> None:
        """Raises FilterError; the filter of before then stays."""
        self._matches = compile_filter(self.kind, text)
        self.filter_text = text

    def set_sort(self, sort: Sequence[Sort]) -> None:
        self.sort = tuple(sort)
        self._key = key_of(self.sort)
        row_fields = getattr(ROW_TYPES[self.kind], "_fields", ())
        self._fields = tuple(sort.field if sort.field in row_fields else "extensions" for sort in self.sort)

    def rebuild(self, store: Store) -> None:
        """Filter and sort everything: 0.3 s at 100,000 rows."""
        self.total = store.count(self.kind, self.clusters)
        self.refs = _ordered(list(store.items(self.kind, self.clusters)), self._key, self._matches)

    async def rebuild_aside(self, store: Store, cursor: Cursor) -> None:
        """As `rebuild`, without keeping the event loop from its work; `cursor` is that of the view's holder, and what
        happens in the meantime is taken over at the end. A filter or sort set meanwhile has the last word."""
        key, matches = self._key, self._matches
        cursor.take()
        rows = list(store.items(self.kind, self.clusters))
        refs = await asyncio.to_thread(_ordered, rows, key, matches)
        if key is not self._key or matches is not self._matches:
            return
        self.refs = refs
        self.total = store.count(self.kind, self.clusters)
        self.update(store, cursor.take())

    def update(self, store: Store, changes: Changes) -> bool:
        """Take over what a cursor saw; True if `refs` is different now (it is then a new list)."""
        if changes.membership:
            self.total = store.count(self.kind, self.clusters)
        moved = self._moved(store, changes)
        if not (moved or changes.added or changes.gone):
            return False
        if len(moved) + len(changes.added) + len(changes.gone) > MANY:
            before = self.refs
            self.rebuild(store)
            return self.refs != before
        return self._place(store, changes, moved)

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

    def _place(self, store: Store, changes: Changes, moved: Sequence[Ref]) -> bool:
        out = {ref for ref in (*changes.gone, *moved) if self._of_ours(ref)}
        refs = [ref for ref in self.refs if ref not in out] if out else list(self.refs)
        removed = len(self.refs) - len(refs)
        key_of_ref = self._key_in(store)
        added = 0
        for ref in (*changes.added, *moved):
            row = store.row(ref)
            if row is not None and self._of_ours(ref) and self._passes(row):
                insort(refs, ref, key=key_of_ref)
                added += 1
        if not removed and not added:
            return False
        different = removed != added or refs != self.refs
        self.refs = refs
        return different

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


def _ordered(rows: Sequence[tuple[Ref, Row]], key: KeyOf, matches: Matches | None) -> list[Ref]:
    keyed = [(key(ref, row), ref) for ref, row in rows if matches is None or matches(row)]
    keyed.sort()
    return [ref for _, ref in keyed]
