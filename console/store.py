"""Everything the console knows: rows by Ref, the state of their sources, and what changed since somebody looked.

Plain Python: no Textual, no asyncio, no threads. Rows keep their identity when a batch brings an equal one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeAlias
from weakref import WeakSet

from adapters.base import SourceState
from adapters.model import ROW_TYPES, Delta, Kind, Ref, Row
from console.cursor import Cursor
from console.marks import Marks
from console.store_types import Changes, KindState, Tombstone
from console.tombstones import Tombstones

__all__ = ["KINDS", "Changes", "Cursor", "KindState", "Store", "Tombstone"]

KINDS: tuple[Kind, ...] = tuple(ROW_TYPES)
_KIND_OF: dict[type, Kind] = {row_type: kind for kind, row_type in ROW_TYPES.items()}
Key: TypeAlias = tuple[str, Kind]


def _utc_now() -> datetime:
    return datetime.now(UTC)


class _Table:
    """The rows of one kind of one cluster."""

    __slots__ = ("refs", "rows", "seen", "state")

    def __init__(self) -> None:
        self.rows: dict[Ref, Row] = {}
        self.refs: dict[str, Ref] = {}
        self.seen: set[str] | None = None  # ids the snapshot in progress has brought; None: there is none
        self.state = KindState()


class Store:
    """Tables of any number of clusters. `clock` is the one clock of every age on screen."""

    def __init__(
        self, clock: Callable[[], datetime] = _utc_now, *, keep_gone: timedelta = timedelta(minutes=10)
    ) -> None:
        self._clock = clock
        self._tables: dict[Key, _Table] = {}
        self._cursors: WeakSet[Cursor] = WeakSet()
        self._awake: tuple[Cursor, ...] = ()  # all of them, while a batch is applied: a WeakSet is slow to walk
        self._revisions: dict[Ref, int] = {}
        self._gone = Tombstones(keep_gone)
        self._marks = Marks()
        self._listeners: list[Callable[[], None]] = []
        self.revision = 0

    def now(self) -> datetime:
        return self._clock()

    # Reading

    def row(self, ref: Ref) -> Row | None:
        """The row of that name. A Ref without `born` finds whatever has that id now."""
        table = self._tables.get((ref.cluster, ref.kind))
        if table is None:
            return None
        found = table.rows.get(ref)
        if found is None and ref.born is None and (known := table.refs.get(ref.id)) is not None:
            return table.rows[known]
        return found

    def find(self, cluster: str, kind: Kind, id: str) -> Ref | None:
        """The full Ref of what has that id now."""
        table = self._tables.get((cluster, kind))
        return table.refs.get(id) if table else None

    def items(self, kind: Kind, clusters: Iterable[str] | None = None) -> Iterator[tuple[Ref, Row]]:
        for table in self._of(kind, clusters):
            yield from table.rows.items()

    def rows(self, kind: Kind, clusters: Iterable[str] | None = None) -> Iterator[Row]:
        for table in self._of(kind, clusters):
            yield from table.rows.values()

    def count(self, kind: Kind, clusters: Iterable[str] | None = None) -> int:
        return sum(len(table.rows) for table in self._of(kind, clusters))

    def clusters(self) -> list[str]:
        """Every cluster that was ever heard of, in the order of their first word."""
        return list(dict.fromkeys(cluster for cluster, _ in self._tables))

    def state(self, cluster: str, kind: Kind) -> KindState:
        table = self._tables.get((cluster, kind))
        return table.state if table else KindState()

    def tombstone(self, ref: Ref) -> Tombstone | None:
        """The row of that name if it went during the last minutes."""
        return self._gone.get(ref, self.now())

    def revision_of(self, ref: Ref) -> int:
        """Grows whenever the row or its mark changes; 0 for a row that never has."""
        return self._revisions.get(ref, 0)

    def cursor(self, kind: Kind) -> Cursor:
        """Sees everything that happens to rows of `kind` from now on; forgotten when its holder is."""
        cursor = Cursor(kind)
        self._cursors.add(cursor)
        return cursor

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Have `listener` called after each change, often many times a second; returns what ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    # Marks

    def mark(self, ref: Ref, text: str, until: Callable[[Row | None], bool] | None = None) -> None:
        """Note a write in flight on a row (``cancel sent``). Goes with `unmark`, with the row, or once `until(row)`."""
        row = self.row(ref)
        if row is not None and until is not None and until(row):
            return
        self._marks.set(ref, text, until)
        self._touched(ref, row)

    def unmark(self, ref: Ref) -> None:
        if self._marks.drop(ref):
            self._touched(ref, self.row(ref))

    def marked(self, ref: Ref) -> str | None:
        return self._marks.get(ref)

    def marks(self) -> dict[Ref, str]:
        return self._marks.all()

    # Writing: for feeds

    def apply(self, cluster: str, delta: Delta) -> None:
        """Take over one batch of a watch: begin or end a snapshot, upsert, remove, sweep what a snapshot left out."""
        now = self.now()
        self._awake = tuple(self._cursors)
        kinds: set[Kind] = set(delta.reset)
        for kind in delta.reset:
            self._table(cluster, kind).seen = set()
        for row in delta.upserts:
            kinds.add(self._upsert(cluster, row, now))
        for ref in delta.removals:
            kinds.add(ref.kind)
            self._remove(ref, now)
        if (delta.snapshot or delta.reset) and not delta.more:
            kinds.update(self._sweep(cluster, now))
        for kind in kinds:
            table = self._table(cluster, kind)
            table.state = replace(table.state, at=now)
        self._gone.evict(now)
        self._awake = ()
        self._moved()

    def note(self, cluster: str, state: SourceState) -> None:
        """Take over how a source fares. Data stays: a stale or failed source keeps its last rows."""
        now = self.now()
        for kind in state.kinds or KINDS:
            table = self._table(cluster, kind)
            fresh = state.label in ("live", "polling") and table.state.loaded
            at = (state.at or now) if fresh else table.state.at
            table.state = KindState(
                label=state.label, loaded=table.state.loaded, at=at, interval=state.interval, error=state.error,
                note=state.note, retry_at=state.retry_at, calls_per_minute=state.calls_per_minute,
            )  # fmt: skip
        self._moved()

    def forget(self, cluster: str) -> None:
        """Drop everything about a cluster that is no longer looked at."""
        for key in [key for key in self._tables if key[0] == cluster]:
            for ref, row in self._tables.pop(key).rows.items():
                self._left(ref, row)
        self._moved()

    def _of(self, kind: Kind, clusters: Iterable[str] | None) -> Iterator[_Table]:
        names = self.clusters() if clusters is None else clusters
        for name in names:
            table = self._tables.get((name, kind))
            if table is not None:
                yield table

    def _table(self, cluster: str, kind: Kind) -> _Table:
        table = self._tables.get((cluster, kind))
        if table is None:
            table = self._tables[cluster, kind] = _Table()
        return table

    def _upsert(self, cluster: str, row: Row, now: datetime) -> Kind:
        kind = _KIND_OF[type(row)]
        table = self._table(cluster, kind)
        id = row.id
        if table.seen is not None:
            table.seen.add(id)
        known = table.refs.get(id)
        if known is not None:
            old = table.rows[known]
            if old == row:
                return kind
            if row.ref == known:
                table.rows[known] = row
                self._changed(known, old, row)
                return kind
            self._drop(table, known, now)  # the id was given to something new
        ref = row.ref
        table.refs[id] = ref
        table.rows[ref] = row
        self._gone.revive(ref)
        for cursor in self._awake or self._cursors:
            cursor.came(ref)
        self._marks.settle(ref, row)
        return kind

    def _remove(self, ref: Ref, now: datetime) -> None:
        table = self._tables.get((ref.cluster, ref.kind))
        known = table.refs.get(ref.id) if table else None
        if table is None or known is None or (ref.born is not None and known.born not in (None, ref.born)):
            return  # never known, or the id belongs to something newer
        self._drop(table, known, now)

    def _sweep(self, cluster: str, now: datetime) -> list[Kind]:
        """End the snapshots in progress: rows they did not bring are gone."""
        ended: list[Kind] = []
        for kind in KINDS:
            table = self._tables.get((cluster, kind))
            if table is None or table.seen is None:
                continue
            for id in [id for id in table.refs if id not in table.seen]:
                self._drop(table, table.refs[id], now)
            table.seen = None
            table.state = replace(table.state, loaded=True)
            ended.append(kind)
        return ended

    def _drop(self, table: _Table, ref: Ref, now: datetime) -> None:
        row = table.rows.pop(ref)
        del table.refs[ref.id]
        self._gone.add(ref, row, now)
        self._left(ref, row)

    def _left(self, ref: Ref, row: Row) -> None:
        self._revisions.pop(ref, None)
        self._marks.drop(ref)
        for cursor in self._awake or self._cursors:
            cursor.went(ref, row)

    def _changed(self, ref: Ref, old: Row, new: Row) -> None:
        self._revisions[ref] = self._revisions.get(ref, 0) + 1
        self._marks.settle(ref, new)
        for cursor in self._awake or self._cursors:
            cursor.changed(ref, old)

    def _touched(self, ref: Ref, row: Row | None) -> None:
        """The mark of a row changed, not the row."""
        if row is not None:
            known = row.ref
            self._revisions[known] = self._revisions.get(known, 0) + 1
            for cursor in self._cursors:
                cursor.touched(known)
        self._moved()

    def _moved(self) -> None:
        self.revision += 1
        for listener in tuple(self._listeners):
            listener()
