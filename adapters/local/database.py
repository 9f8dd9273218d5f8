"""One thread writes, some read. Writes that arrive together share one commit; each is whole or has not happened.

The event loop is never blocked: it hands over a function and awaits its result.
"""

from __future__ import annotations

import asyncio
import json
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from adapters.local import schema
from adapters.local.problem import Problem

T = TypeVar("T")
BATCH = 64


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the event log: who may see it and the JSON that is sent."""

    id: int
    kind: str
    queue: str | None
    owner: str | None
    data: str


@dataclass(slots=True)
class Effects:
    """What a transaction leaves to do after its commit: events to publish, nodes to wake, counts to refresh, and
    whether who may do what has changed."""

    events: list[Event] = field(default_factory=list)
    wake: set[str] = field(default_factory=set)
    queues: set[str] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    access: bool = False


class Tx:
    """A write in progress. `now` is one wall-clock time for all of it."""

    __slots__ = ("db", "effects", "now")

    def __init__(self, db: sqlite3.Connection, now: float) -> None:
        self.db = db
        self.now = now
        self.effects = Effects()

    def one(self, sql: str, *values: Any) -> sqlite3.Row | None:
        row: sqlite3.Row | None = self.db.execute(sql, values).fetchone()
        return row

    def all(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        return self.db.execute(sql, values).fetchall()

    def run(self, sql: str, *values: Any) -> int:
        """Execute and return how many rows changed."""
        return self.db.execute(sql, values).rowcount

    def insert(self, table: str, **values: Any) -> int:
        names = ", ".join(values)
        marks = ", ".join("?" * len(values))
        cursor = self.db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(values.values()))
        return int(cursor.lastrowid or 0)

    def update(self, table: str, key: str, value: Any, **values: Any) -> None:
        names = ", ".join(f"{name} = ?" for name in values)
        self.db.execute(f"UPDATE {table} SET {names} WHERE {key} = ?", (*values.values(), value))

    def event(self, kind: str, change: str, row: dict[str, Any], queue: str | None, owner: str | None) -> None:
        """Append to the event log; published after the commit, gone if the write is rolled back."""
        data = json.dumps({"kind": change, "object": row}, separators=(",", ":"), ensure_ascii=False)
        number = self.insert("events", at=self.now, kind=kind, queue=queue, owner=owner, data=data)
        self.effects.events.append(Event(number, kind, queue, owner, data))


@dataclass(slots=True)
class _Write:
    run: Callable[[Tx], Any]
    future: asyncio.Future[Any]


def _settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)


class Database:
    """The database in a folder, for one event loop. Raises StartError on opening.

    `loop` is bound by `start`. `committed` is called in the event loop after each commit, with the effects of each
    write, in order.
    """

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.time, readers: int = 2) -> None:
        self._connection, self.path = schema.open_database(folder)
        self._clock = clock
        self._queue: queue.SimpleQueue[_Write | None] = queue.SimpleQueue()
        self._local = threading.local()
        self._read_connections: list[sqlite3.Connection] = []
        self._readers = ThreadPoolExecutor(readers, thread_name_prefix="read")
        self.loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._write_loop, name="write", daemon=True)
        self.committed: Callable[[Effects], None] = lambda effects: None

    def start(self) -> None:
        """Bind to the running event loop and start writing."""
        self.loop = asyncio.get_running_loop()
        self._thread.start()

    def now_sync(self, run: Callable[[Tx], T]) -> T:
        """One write before `start`, in the calling thread: for setting up."""
        tx = Tx(self._connection, self._clock())
        tx.db.execute("BEGIN IMMEDIATE")
        try:
            result = run(tx)
            tx.db.execute("COMMIT")
        except BaseException:
            tx.db.execute("ROLLBACK")
            raise
        return result

    async def write(self, run: Callable[[Tx], T]) -> T:
        """Run in the writer thread, within a transaction. What it raises is raised here, and nothing is changed."""
        assert self.loop is not None
        future: asyncio.Future[T] = self.loop.create_future()
        self._queue.put(_Write(run, future))
        return await future

    async def read(self, run: Callable[[sqlite3.Connection], T]) -> T:
        """Run in a reader thread on a consistent snapshot."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, run)

    async def close(self) -> None:
        """Finish what is queued, then close."""
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)
        self._readers.shutdown()
        for connection in self._read_connections:
            connection.close()
        self._connection.close()

    def _read(self, run: Callable[[sqlite3.Connection], T]) -> T:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = schema.connect(self.path, readonly=True)
            self._read_connections.append(connection)
        connection.execute("BEGIN")
        try:
            return run(connection)
        finally:
            connection.execute("COMMIT")

    def _write_loop(self) -> None:
        while (first := self._queue.get()) is not None:
            batch = [first]
            while len(batch) < BATCH:
                try:
                    following = self._queue.get_nowait()
                except queue.Empty:
                    break
                if following is None:
                    self._queue.put(None)
                    break
                batch.append(following)
            self._commit(batch)

    def _commit(self, batch: list[_Write]) -> None:
        done: list[tuple[_Write, Any, BaseException | None, Effects]] = []
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for write in batch:
                done.append((write, *self._run_one(write)))
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            problem = Problem(503, f"the cluster's database cannot be written: {error}")
            done = [(write, None, problem, Effects()) for write in batch]
        assert self.loop is not None
        self.loop.call_soon_threadsafe(self._deliver, done)

    def _run_one(self, write: _Write) -> tuple[Any, BaseException | None, Effects]:
        """One write in a savepoint. A database error (disk full) ends the whole batch."""
        tx = Tx(self._connection, self._clock())
        tx.db.execute("SAVEPOINT one")
        try:
            result = write.run(tx)
        except sqlite3.Error as error:
            if not isinstance(error, sqlite3.IntegrityError):
                raise
            tx.db.execute("ROLLBACK TO one")
            tx.db.execute("RELEASE one")
            return None, Problem(409, f"the change contradicts what is stored: {error}"), Effects()
        except BaseException as error:
            tx.db.execute("ROLLBACK TO one")
            tx.db.execute("RELEASE one")
            return None, error, Effects()
        tx.db.execute("RELEASE one")
        return result, None, tx.effects

    def _deliver(self, done: list[tuple[_Write, Any, BaseException | None, Effects]]) -> None:
        for write, result, error, effects in done:
            if error is None:
                self.committed(effects)
            _settle(write.future, result, error)
