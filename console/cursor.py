"""What happened to the rows of one kind since somebody last looked."""

from __future__ import annotations

from adapters.model import Kind, Ref, Row
from console.store_types import Changes


class Cursor:
    """Collects changes of one kind until they are taken. Comes from `Store.cursor`; many may exist at once."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self._start()

    def _start(self) -> None:
        self._dirty: set[Ref] = set()
        self._added: set[Ref] = set()
        self._gone: set[Ref] = set()
        self._before: dict[Ref, Row] = {}
        self._membership = False

    def take(self) -> Changes:
        """Everything since the last take."""
        changes = Changes(self._dirty, self._membership, self._before, self._added, self._gone)
        self._start()
        return changes

    def __len__(self) -> int:
        """How many rows a take would tell of."""
        return len(self._dirty) + len(self._gone)

    @property
    def pending(self) -> bool:
        return bool(self._dirty) or self._membership

    # What follows is for the store alone.

    def came(self, ref: Ref) -> None:
        if ref.kind != self.kind:
            return
        self._membership = True
        self._dirty.add(ref)
        if ref in self._gone:  # it went and came back within one look: to the holder it only changed
            self._gone.discard(ref)
        else:
            self._added.add(ref)

    def went(self, ref: Ref, row: Row) -> None:
        if ref.kind != self.kind:
            return
        self._membership = True
        self._dirty.discard(ref)
        if ref in self._added:
            self._added.discard(ref)
        else:
            self._gone.add(ref)
            self._before.setdefault(ref, row)

    def changed(self, ref: Ref, old: Row) -> None:
        if ref.kind != self.kind:
            return
        self._dirty.add(ref)
        if ref not in self._added:
            self._before.setdefault(ref, old)

    def touched(self, ref: Ref) -> None:
        if ref.kind == self.kind:
            self._dirty.add(ref)
