"""Jobs that somebody wants to hear of: their start or end comes from the store's events, never from asking in a turn.

Only what the store does not show (a job of others while only one's own are watched, one that has left the list, the
elements of an array) is looked up, in one call a minute and cluster.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from adapters.base import AdapterError, JobFilter, NotFound
from adapters.model import Job, Ref
from console.chat.follow import Fired, Watch, Work, restored
from console.engine import Engine

_log = logging.getLogger(__name__)
MOST = 50  # watches of one session
LOOK_AGAIN = 60.0  # seconds


class Watches:
    """The watches of one session.

    Args:
        fire: called once for each that has come to its end; whoever takes it keeps the change.
        changed: called when there is one more, or one was taken back.
    """

    def __init__(self, engine: Engine, fire: Callable[[Fired], None], changed: Callable[[], None]) -> None:
        self._engine = engine
        self._fire = fire
        self._changed = changed
        self._watches: list[Watch] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._again: asyncio.Task[None] | None = None
        self._gone_from_list: set[int] = set()
        self._end = engine.store.listen(self._look_at_store)

    def __len__(self) -> int:
        return len(self._watches)

    @property
    def all(self) -> tuple[Watch, ...]:
        return tuple(self._watches)

    def add(self, watch: Watch) -> bool:
        """Begin to watch, and look at once how the job is; whether it is watched now (False: there are 50 already)."""
        if any((w.cluster, w.id, w.until) == (watch.cluster, watch.id, watch.until) for w in self._watches):
            return True
        if len(self._watches) >= MOST:
            return False
        self._watches.append(watch)
        self._changed()
        self._spawn(self._look([watch]))
        if self._again is None:
            self._again = asyncio.create_task(self._look_again(), name="watches")
        return True

    def remove(self, cluster: str, id: str) -> bool:
        """Watch it no more; whether it was watched."""
        kept = [watch for watch in self._watches if (watch.cluster, watch.id) != (cluster, id)]
        found = len(kept) < len(self._watches)
        self._watches = kept
        if found:
            self._changed()
        return found

    def restore(self, records: Sequence[Mapping[str, Any]]) -> None:
        """The watches of a session that goes on; what happened meanwhile fires now, once."""
        works: dict[str, Work] = {}
        for record in records:
            if (watch := restored(record)) is not None and watch.cluster in self._engine.clusters:
                watch.work = works.setdefault(watch.work.id, watch.work)
                self.add(watch)

    def records(self) -> list[dict[str, Any]]:
        return [watch.record() for watch in self._watches]

    async def close(self) -> None:
        """End looking. The watches stay as they are."""
        self._end()
        tasks = [*self._tasks, *([self._again] if self._again else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- looking

    def _look_at_store(self) -> None:
        """The store has changed: called often, so that it only looks its rows up."""
        for watch in self.all:
            row = self._engine.store.row(Ref(watch.cluster, "job", watch.id, watch.born))
            if isinstance(row, Job):
                self._saw(watch, [row])
                self._gone_from_list.discard(id(watch))
            elif id(watch) not in self._gone_from_list and self._engine.store.tombstone(self._ref(watch)) is not None:
                self._gone_from_list.add(id(watch))
                self._spawn(self._look([watch]))

    async def _look(self, watches: Sequence[Watch]) -> None:
        """Ask the scheduler about jobs that the store does not show."""
        for cluster in dict.fromkeys(watch.cluster for watch in watches):
            asked = [watch for watch in watches if watch.cluster == cluster]
            try:
                reader = self._engine.reader(cluster)
                rows = await reader.list_jobs(JobFilter(ids=tuple(dict.fromkeys(watch.id for watch in asked))))
                for watch in asked:
                    found = [row for row in rows if row.id == watch.id or (row.array and row.array.id == watch.id)]
                    self._saw(watch, found or [await reader.get_job(watch.id)])
            except NotFound:
                self._gone(asked)
            except AdapterError as error:  # a scheduler that does not answer: it is looked again
                _log.info("watches of %s: %s", cluster, error)
            except Exception:
                _log.exception("looking for watched jobs of %s failed", cluster)

    async def _look_again(self) -> None:
        while True:
            await asyncio.sleep(LOOK_AGAIN)
            store = self._engine.store
            hidden = [watch for watch in self._watches if store.row(self._ref(watch)) is None]
            if hidden:
                await self._look(hidden)

    def _gone(self, watches: Sequence[Watch]) -> None:
        if len(watches) == 1:
            self._end_watch(watches[0], "gone", None)
        else:  # one of them: each by itself then
            for watch in watches:
                self._spawn(self._look([watch]))

    def _saw(self, watch: Watch, rows: Sequence[Job]) -> None:
        """`rows`: the job, or the elements of an array, which has ended when all of them have."""
        if watch not in self._watches:
            return
        if len(rows) == 1 and rows[0].id == watch.id and not _knows(watch, rows[0]):
            self._end_watch(watch, "gone", None)  # another job has that id now
            return
        if all(row.finished for row in rows):
            worst = min(rows, key=lambda row: _ORDER.index(row.status))
            self._end_watch(watch, worst.status, worst.exit_code)
        elif watch.until == "started" and any(row.status in ("running", "suspended") for row in rows):
            self._end_watch(watch, "running", None)

    def _end_watch(self, watch: Watch, status: str, exit_code: int | None) -> None:
        if watch in self._watches:
            self._watches.remove(watch)
            self._fire(Fired(watch, status, exit_code))

    def _ref(self, watch: Watch) -> Ref:
        return Ref(watch.cluster, "job", watch.id, watch.born)

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(coroutine, name="watch")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _knows(watch: Watch, row: Job) -> bool:
    """Whether the row is the job that is watched; what it is known by is taken from it."""
    if watch.born not in (None, row.born) and (watch.name, watch.owner) != (row.name, row.owner):
        return False
    watch.born, watch.name, watch.owner = row.born, row.name, row.owner
    return True


_ORDER = ("failed", "cancelled", "succeeded", "unknown", "suspended", "running", "pending")
