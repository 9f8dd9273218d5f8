"""Rows of the last minutes that are gone, so that a detail view can say what it was looking at."""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime, timedelta

from adapters.model import Ref, Row
from console.store_types import Tombstone


class Tombstones:
    """Keeps rows for `keep` after they went, and at most `limit` of them: the oldest go first."""

    def __init__(self, keep: timedelta, limit: int = 5000) -> None:
        self._keep = keep
        self._limit = limit
        self._gone: OrderedDict[Ref, Tombstone] = OrderedDict()

    def __len__(self) -> int:
        return len(self._gone)

    def add(self, ref: Ref, row: Row, at: datetime) -> None:
        self._gone.pop(ref, None)
        self._gone[ref] = Tombstone(row, at)
        if len(self._gone) > self._limit:
            self._gone.popitem(last=False)

    def get(self, ref: Ref, now: datetime) -> Tombstone | None:
        found = self._gone.get(ref)
        return found if found is not None and now - found.at < self._keep else None

    def revive(self, ref: Ref) -> None:
        """It is back."""
        if self._gone:
            self._gone.pop(ref, None)

    def evict(self, now: datetime) -> None:
        while self._gone:
            ref, oldest = next(iter(self._gone.items()))
            if now - oldest.at < self._keep:
                return
            del self._gone[ref]
