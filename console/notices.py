"""Jobs that a person keeps an eye on: what became of them since the last look."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from adapters.model import Job, Ref
from adapters.text import clean
from console.store import Store


class Notice(NamedTuple):
    """One job that is in another state now, in a line."""

    ref: Ref
    text: str
    failed: bool


class Watched:
    """The jobs that are watched. They are names: they stay watched whatever the list shows."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._cursor = store.cursor("job")
        self._states: dict[Ref, str] = {}

    @property
    def refs(self) -> frozenset[Ref]:
        return frozenset(self._states)

    def toggle(self, refs: Iterable[Ref]) -> bool:
        """Watch these jobs, or where all of them are watched no longer; returns whether they are now."""
        jobs = [ref for ref in refs if isinstance(self._store.row(ref), Job)]
        if jobs and all(ref in self._states for ref in jobs):
            for ref in jobs:
                del self._states[ref]
            return False
        for ref in jobs:
            self._states[ref] = self._state(ref)
        return bool(jobs)

    def _state(self, ref: Ref) -> str:
        row = self._store.row(ref)
        return row.status if isinstance(row, Job) else "gone"

    def news(self) -> list[Notice]:
        """What changed since the last call. A job that is over, or gone, is watched no longer."""
        if not self._cursor.pending:
            return []
        changes = self._cursor.take()
        notices: list[Notice] = []
        for ref in [ref for ref in self._states if ref in changes.changed or ref in changes.gone]:
            state = self._state(ref)
            if state == self._states[ref]:
                continue
            notices.append(self._notice(ref, self._states[ref], state))
            self._states[ref] = state
            row = self._store.row(ref)
            if row is None or (isinstance(row, Job) and row.finished):
                del self._states[ref]
        return notices

    def _notice(self, ref: Ref, before: str, state: str) -> Notice:
        row = self._store.row(ref)
        name = f" {clean(row.name, 40)}" if isinstance(row, Job) and row.name else ""
        code = f", exit {row.exit_code}" if isinstance(row, Job) and row.exit_code else ""
        return Notice(ref, f"Job {clean(ref.id, 40)}{name} was {before} and is {state}{code}.", state == "failed")
