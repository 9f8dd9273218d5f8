"""The running server's heart: database, broker, access, and the clocks that watch over nodes.

Liveness is measured with the monotonic clock, in memory: a step of the wall clock loses no node, and after a restart
every node has its whole lease to be heard of again.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from adapters.local import housekeeping, nodes, reasons, tasks
from adapters.local.access import Access
from adapters.local.broker import Broker
from adapters.local.database import Database, Effects, Tx
from adapters.local.limits import PendingLimit
from adapters.local.problem import Problem
from adapters.local.seed import meta
from adapters.local.settings import Settings


class Cluster:
    """One embedded cluster, open on a data folder. Raises StartError on opening."""

    def __init__(self, folder: Path, settings: Settings, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.folder = folder
        self.settings = settings
        self.monotonic = monotonic
        self.db = Database(folder)
        self.access = Access(self.db, self.db.now_sync(lambda tx: meta(tx, "session_secret")))
        self.logs = folder / "logs"
        self.pending = PendingLimit(settings.max_pending)
        self.started = monotonic()
        self._seen: dict[str, float] = {}
        self._dirty = Effects()
        self._waiting: dict[str, asyncio.Event] = {}
        self._jobs: list[asyncio.Task[None]] = []
        self.broker = self._open_broker()
        self.db.committed = self._committed

    def _open_broker(self) -> Broker:
        last = self.db.now_sync(lambda tx: tx.one("SELECT coalesce(max(id), 0) FROM events"))
        counter = self.db.now_sync(lambda tx: tx.one("SELECT seq FROM sqlite_sequence WHERE name = 'events'"))
        newest = max(last[0] if last else 0, counter[0] if counter else 0)
        return Broker(self.db, newest, keepalive=self.settings.keepalive)

    async def start(self) -> None:
        self.db.start()
        await self.db.write(self._after_restart)
        settings = self.settings
        for run, period in (
            (self._refresh, settings.refresh),
            (self._watch_nodes, min(1.0, settings.down_after / 4)),
            (self._review, settings.review),
            (self._keep_house, 30.0),
        ):
            self._jobs.append(asyncio.create_task(_every(run, period)))

    async def stop(self) -> None:
        for job in self._jobs:
            job.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)
        self.broker.close()
        with contextlib.suppress(Problem):
            await self._refresh()
        self.release_waiters()
        await self.db.close()

    def release_waiters(self) -> None:
        """Answer workers that wait for news: the server is about to stop."""
        for event in self._waiting.values():
            event.set()

    # -- after commits

    def _committed(self, effects: Effects) -> None:
        self.broker.publish(effects.events)
        self._dirty.queues |= effects.queues
        self._dirty.hosts |= effects.hosts
        if effects.access:
            self.access.forget()
        for name in effects.wake:
            self._waiting.pop(name, asyncio.Event()).set()

    def waiter(self, node: str) -> asyncio.Event:
        """Set as soon as there is something new for the node."""
        return self._waiting.setdefault(node, asyncio.Event())

    async def _refresh(self) -> None:
        """Tell of the counts of queues and hosts that have changed since the last time."""
        queues, hosts = self._dirty.queues, self._dirty.hosts
        if queues or hosts:
            self._dirty = Effects()
            await self.db.write(lambda tx: housekeeping.tell_counts(tx, queues, hosts))

    def _after_restart(self, tx: Tx) -> None:
        """Every queue and host is told anew: what was due when the last server died is not known."""
        tx.effects.queues |= {row["name"] for row in tx.all("SELECT name FROM queues")}
        for row in tx.all("SELECT name FROM nodes"):
            tx.effects.hosts.add(row["name"])
            self._seen[row["name"]] = self.monotonic()

    # -- nodes

    def heard(self, node: str) -> None:
        """The node has just spoken."""
        self._seen[node] = self.monotonic()

    async def _watch_nodes(self) -> None:
        now = self.monotonic()
        for name, seen in list(self._seen.items()):
            silent = now - seen
            if silent > self.settings.down_after:
                await self.db.write(lambda tx, name=name: nodes.mark_down(tx, name))  # type: ignore[misc]
            if silent > self.settings.lease:
                await self.db.write(lambda tx, name=name: self._lease_over(tx, name))  # type: ignore[misc]
                self._seen.pop(name, None)

    def _lease_over(self, tx: Tx, name: str) -> int:
        why = f"node {name} was not heard of for {self.settings.lease:.0f} seconds"
        return tasks.lose_unheld(tx, name, set(), why, self.settings.attempts)

    # -- housekeeping

    async def _review(self) -> None:
        await self.db.write(reasons.review)

    async def _keep_house(self) -> None:
        used, self.access.used = self.access.used, {}
        await self.db.write(lambda tx: housekeeping.note_used(tx, used))
        settings = self.settings
        more = True
        while more:
            more = await self.db.write(lambda tx: housekeeping.retire(tx, settings))


async def _every(run: Callable[[], Awaitable[Any]], period: float) -> None:
    """Run again and again. A database that cannot be written now is tried again the next time."""
    while True:
        await asyncio.sleep(period)
        with contextlib.suppress(Problem):
            await run()
