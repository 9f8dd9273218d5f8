"""Fans the event log out to subscribers.

The newest events are held once, encoded, in a ring that all subscribers share; each has a place in it. One that reads
so slowly that the ring has gone over its place loses its backlog and is told to list again (`reset`). It never slows
the others, nor the writer.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass

from sse_starlette import ServerSentEvent

from adapters.local.database import Database, Event

CHUNK = 256 * 1024
# Events that follow each other go out in one write: seconds they wait for each other, for each subscriber there is, and
# at least and at most. Many subscribers cost a write each, so that they are served less often, and none waits long.
SETTLE_EACH, SETTLE_LEAST, SETTLE_MOST = 0.0005, 0.01, 0.05


@dataclass(frozen=True, slots=True)
class Wish:
    """Which events a subscriber is sent; None does not restrict. `own` is the one user whose jobs may be seen."""

    queue: str | None = None
    owner: str | None = None
    kinds: frozenset[str] | None = None
    own: str | None = None

    def wants(self, event: Event) -> bool:
        if self.kinds is not None and event.kind not in self.kinds:
            return False
        if event.kind == "job" and (self.own not in (None, event.owner) or self.owner not in (None, event.owner)):
            return False
        return self.queue is None or event.queue in (None, self.queue)


@dataclass(frozen=True, slots=True)
class _Line:
    event: Event
    encoded: bytes


def encode(event: Event) -> bytes:
    return ServerSentEvent(event.data, event=event.kind, id=str(event.id), sep="\n").encode()


def _reset(at: int) -> bytes:
    return ServerSentEvent('{"kind":"reset","object":{}}', event="reset", id=str(at), sep="\n").encode()


class Broker:
    """Subscriptions to the event log of one database. `last` is the number of the newest event."""

    def __init__(self, db: Database, last: int, *, ring: int = 20_000, keepalive: float = 15.0) -> None:
        self._db = db
        self._ring: deque[_Line] = deque(maxlen=ring)
        self._keepalive = keepalive
        self._news = asyncio.Event()
        self._told = last  # up to here the subscribers have been woken
        self._settling: asyncio.TimerHandle | None = None
        self._beat: asyncio.TimerHandle | None = None
        self._subscribers = 0
        self._closed = False
        self.last = last

    @property
    def closed(self) -> bool:
        return self._closed

    def publish(self, events: list[Event]) -> None:
        """Hand on events that are committed, in order. In the event loop; never waits."""
        if not events:
            return
        self._ring.extend(_Line(event, encode(event)) for event in events)
        self.last = events[-1].id
        if self._settling is None and not self._closed:
            pause = min(SETTLE_MOST, max(SETTLE_LEAST, SETTLE_EACH * self._subscribers))
            self._settling = asyncio.get_running_loop().call_later(pause, self._wake)

    def close(self) -> None:
        """End all subscriptions."""
        self._closed = True
        for timer in (self._settling, self._beat):
            if timer is not None:
                timer.cancel()
        self._wake()

    def _wake(self) -> None:
        self._settling = None
        self._told = self.last
        news, self._news = self._news, asyncio.Event()
        news.set()

    def _keep_alive(self) -> None:
        """Wake everybody at least this often, so that a line on which nothing is said is kept alive."""
        self._wake()
        self._beat = None
        if self._subscribers and not self._closed:
            self._beat = asyncio.get_running_loop().call_later(self._keepalive / 2, self._keep_alive)

    async def subscribe(self, after: int | None, wish: Wish) -> AsyncIterator[bytes]:
        """Bytes of the stream from the event after `after` on (None: from now on), until closed."""
        self._subscribers += 1
        if self._beat is None:
            self._beat = asyncio.get_running_loop().call_later(self._keepalive / 2, self._keep_alive)
        try:
            async for data in self._stream(after, wish):
                yield data
        finally:
            self._subscribers -= 1

    async def _stream(self, after: int | None, wish: Wish) -> AsyncIterator[bytes]:
        clock = asyncio.get_running_loop().time
        place = self.last if after is None else after
        # The place at once, without an event: a client that is cut off before the first one can resume all the same.
        yield f": connected\nid: {min(place, self.last)}\n\n".encode()
        if place > self.last:  # of another life of this log: what the client knows is not what is here
            yield _reset(self.last)
            place = self.last
        resuming, spoke = True, clock()
        while not self._closed:
            data = b""
            if place < self._told:
                data, place, resuming = await self._next(place, wish, resuming)
            else:
                resuming = False
                await self._news.wait()
            if not data and place >= self._told and clock() - spoke >= self._keepalive * 0.9:
                data = b": alive\n\n"
            if data:
                yield data
                spoke = clock()

    async def _next(self, place: int, wish: Wish, resuming: bool) -> tuple[bytes, int, bool]:
        """What follows `place`, in one piece of bounded size, the new place, and whether it still catches up.

        Only one that resumes is served from the database; one that has fallen behind the ring is reset.
        """
        if self._ring and self._ring[0].event.id <= place + 1:
            start = place + 1 - self._ring[0].event.id
            return *_take((self._ring[i] for i in range(start, len(self._ring))), place, wish), False
        stored = await self._db.read(lambda db: _stored(db, place)) if resuming else []
        if not stored or stored[0].id != place + 1:
            return _reset(self.last), self.last, False
        return *_take((_Line(event, encode(event)) for event in stored), place, wish), True


def _stored(db: sqlite3.Connection, place: int) -> list[Event]:
    rows = db.execute("SELECT id, kind, queue, owner, data FROM events WHERE id > ? ORDER BY id LIMIT 1000", (place,))
    return [Event(*row) for row in rows]


def _take(lines: Iterable[_Line], place: int, wish: Wish) -> tuple[bytes, int]:
    pieces: list[bytes] = []
    size = 0
    for line in lines:
        place = line.event.id
        if wish.wants(line.event):
            pieces.append(line.encoded)
            size += len(line.encoded)
            if size > CHUNK:
                break
    return b"".join(pieces), place
