"""Jobs that a person keeps an eye on, and their own: what became of them since the last look."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from adapters.model import FINISHED, Job, Ref
from adapters.text import clean
from console.hooks import JobChange
from console.profiles import Notices
from console.store import Store
from console.store_types import Changes


class Notice(NamedTuple):
    """One job that is in another state now, in a line. `change` is None where no row tells of it any more."""

    ref: Ref
    text: str
    failed: bool
    watched: bool = True
    said: bool = True
    change: JobChange | None = None


class Watched:
    """The jobs that are watched, which are names and stay so whatever the list shows; and the person's own.

    Args:
        settings: which changes of their own jobs a person wants said.
        mine: whether a job is the person's own.
    """

    def __init__(
        self, store: Store, settings: Notices | None = None, mine: Callable[[Job], bool] = lambda job: False
    ) -> None:
        self._store = store
        self._settings = settings or Notices()
        self._mine = mine
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
        told = {notice.ref for notice in notices} | self._states.keys()
        return notices + [notice for notice in self._own(changes) if notice.ref not in told]

    def _own(self, changes: Changes) -> list[Notice]:
        """Changes of the person's own jobs from one known state to another: a job that is new is no news."""
        found = []
        for ref, old in changes.before.items():
            row = self._store.row(ref)
            if isinstance(row, Job) and isinstance(old, Job) and row.status != old.status and self._mine(row):
                found.append(self._notice(ref, old.status, row.status, watched=False))
        return found

    def _wanted(self, state: str) -> bool:
        match self._settings.own_jobs:
            case "all":
                return True
            case "ended":
                return state in FINISHED
            case "failed":
                return state == "failed"
        return False

    def _notice(self, ref: Ref, before: str, state: str, watched: bool = True) -> Notice:
        row = self._store.row(ref)
        job = row if isinstance(row, Job) else None
        name = f" {clean(job.name, 40)}" if job and job.name else ""
        code = f", exit {job.exit_code}" if job and job.exit_code else ""
        text = f"Job {clean(ref.id, 40)}{name} was {before} and is {state}{code}."
        change = JobChange(job, before, state, watched) if job else None
        return Notice(ref, text, state == "failed", watched, watched or self._wanted(state), change)
