"""The engine: adapters, feeds, store, audit log and gate of every configured cluster. Knows no Textual.

The console, the command line, MCP and replay all run on one of these.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Self

from adapters.base import AdapterError, Reader, SourceState, Writer
from adapters.text import clean
from console.adapters import open_cluster
from console.audit import AuditError, AuditLog
from console.audit.anchor import to_syslog
from console.cluster import Cluster
from console.config import Config, ConfigError, Problem, user_file
from console.config_problems import suggestion
from console.feed import Feed
from console.gate.gate import Gate
from console.profiles import Profile
from console.store import Store

_log = logging.getLogger(__name__)
Open = Callable[[str, Profile], tuple[Reader, Writer]]
STOP_AFTER = 30.0  # seconds that writes in flight are given to come to an end


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Engine:
    """Everything of a running console but its screens.

    Args:
        feeds: start a watch for each cluster; the command line does without.
        open_with: opens a profile; tests put a double here.
        read_through: is given each cluster's name and Reader and returns the Reader to use: a recorder's, for one.
        settle: at the start, see whether the audit log can be written (`audit_error` says why not: every write will
            be refused) and look up what earlier runs sent without learning the outcome.
    """

    def __init__(
        self,
        config: Config,
        *,
        feeds: bool = True,
        settle: bool = True,
        clock: Callable[[], datetime] = _utc_now,
        audit: AuditLog | None = None,
        open_with: Open = open_cluster,
        read_through: Callable[[str, Reader], Reader] | None = None,
    ) -> None:
        self.config = config
        self.store = Store(clock)
        anchor = to_syslog if config.audit_anchor == "syslog" else None
        self.audit = audit or AuditLog(anchor=anchor, clock=clock)
        self.gate = Gate(config, self.store, self.audit, self.spawn)
        self.clusters = {name: Cluster(name, profile) for name, profile in config.clusters.items()}
        self.audit_error: AuditError | None = None
        self._feeds = feeds
        self._settle = settle
        self._open_with = open_with
        self._read_through = read_through
        self._tasks: set[asyncio.Task[Any]] = set()
        self._feed_tasks: list[asyncio.Task[Any]] = []
        self._running = False

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Open every cluster and begin to watch. A cluster that cannot be opened becomes a state of itself."""
        self._running = True
        for cluster in self.clusters.values():
            self._open(cluster)
        if self._settle:
            self._feed_tasks.append(asyncio.create_task(self._settle_record(), name="settle"))

    async def stop(self) -> None:
        """Let writes in flight end, then end the watches and close what is open. Stops operations between steps."""
        self._running = False
        self.gate.stop_all("the console was closed")
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=STOP_AFTER)
            for task in late:
                task.cancel()
        for task in self._feed_tasks:
            task.cancel()
        await asyncio.gather(*self._feed_tasks, *self._tasks, return_exceptions=True)
        self._feed_tasks.clear()
        for reader in [cluster.reader for cluster in self.clusters.values() if cluster.reader]:
            with suppress(AdapterError):
                await reader.close()
        await self.gate.close()

    def cluster(self, name: str | None = None) -> Cluster:
        """The cluster of that name, or the default one. Raises ConfigError."""
        wanted = name or self.config.default
        if wanted is None:
            told = "no cluster is configured"
            hint = f"Describe one in {user_file()}, or try: pilothouse demo"
            raise ConfigError([Problem(self._file(), None, "clusters", told)], hint)
        if wanted not in self.clusters:
            told = f"there is no cluster {clean(wanted, 64)!r}; {suggestion(wanted, self.clusters)}"
            raise ConfigError([Problem(self._file(), None, "clusters", told)])
        return self.clusters[wanted]

    def reader(self, name: str | None = None) -> Reader:
        """Raises ConfigError, or the AdapterError that opening the cluster met."""
        cluster = self.cluster(name)
        if cluster.reader is None:
            raise cluster.error or ConfigError([Problem(self._file(), None, cluster.name, "the engine is not started")])
        return cluster.reader

    def refresh(self, name: str | None = None) -> None:
        """A person wants fresh data now, of one cluster or of all."""
        for cluster in self.clusters.values() if name is None else [self.cluster(name)]:
            cluster.interest.refresh()

    def spawn(self, coroutine: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Run something that nobody's leaving may interrupt; `stop` waits for it."""
        task = asyncio.create_task(coroutine, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def _settle_record(self) -> None:
        """See early whether writes can be put on record, so that nobody learns it in a hurry; then close old ones."""
        try:
            await asyncio.to_thread(self.audit.check_writable)
        except AuditError as error:
            self.audit_error = error
            return
        await self.gate.settle()

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("task %s failed", task.get_name(), exc_info=error)

    def _open(self, cluster: Cluster) -> None:
        try:
            reader, writer = self._open_with(cluster.name, cluster.profile)
            if self._read_through is not None:
                reader = self._read_through(cluster.name, reader)
        except AdapterError as error:
            self._cannot_open(cluster, error)
            return
        except Exception as error:  # a fault of an adapter takes its own cluster away, not the others
            _log.exception("%s cannot be opened", cluster.name)
            told = f"{cluster.name} cannot be opened: {clean(f'{type(error).__name__}: {error}', 200)}"
            self._cannot_open(cluster, AdapterError(told, "See the log."))
            return
        cluster.reader = reader
        self.gate.attach(cluster, writer)
        if self._feeds:
            self._feed(cluster, reader)

    def start_feeds(self) -> None:
        """Begin to watch, where the engine was started without; once."""
        if not self._feeds and self._running:
            self._feeds = True
            for cluster in self.clusters.values():
                if cluster.reader is not None:
                    self._feed(cluster, cluster.reader)

    def _feed(self, cluster: Cluster, reader: Reader) -> None:
        feed = Feed(reader, cluster.interest, self.store)
        self._feed_tasks.append(asyncio.create_task(feed.run(), name=f"feed {cluster.name}"))

    def _cannot_open(self, cluster: Cluster, error: AdapterError) -> None:
        cluster.error = error
        self.gate.cannot_open(cluster, error)
        self.store.note(cluster.name, SourceState("failed", error=error))

    def _file(self) -> Any:
        return self.config.sources[-1] if self.config.sources else user_file()
