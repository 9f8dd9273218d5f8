"""A client of Server-Sent Events that stays connected: it resumes, notices silence, and backs off with jitter.

Lines and fields are decoded by httpx-sse; this module adds what a long life needs: `Last-Event-ID` on reconnecting,
a limit on silence, on the length of a line and of an event, a byte order mark, and a clean end of half an event.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from random import random
from typing import Any, TypeAlias

import httpx
from httpx_sse import EventSource, ServerSentEvent, SSEError

from adapters.base import AdapterError, ProtocolError, Unavailable, Unreachable
from adapters.text import clean

SILENCE = 45.0
"""Seconds without a byte (the server sends a comment every 15 s) after which the line is taken for dead."""
MAX_LINE = 1 << 20
MAX_EVENT = 4 << 20
FIRST_BACKOFF = 0.5
LONGEST_BACKOFF = 30.0
STEADY = 10.0
"""A connection that has lived so long, seconds, was a good one: the back-off begins anew after it."""
LONGEST_POSITION = 256
GREETING = 2.0
"""Seconds that a server is given to say a first word before its stream counts as open all the same."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The stream is open: what happens from now on is heard. `position` is where it stands, if the server has said.

    A server subscribes us when it begins to write, which is after its headers: so the first byte is what counts.
    """

    position: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One complete event. `kind` is the event's name ("reset" among them), `data` its lines joined by newlines."""

    id: str | None
    kind: str
    data: str


@dataclass(frozen=True, slots=True)
class Lost:
    """The stream is gone; the next attempt follows after `retry_in` seconds. `failures` counts those in a row."""

    error: AdapterError
    retry_in: float
    failures: int


StreamItem: TypeAlias = Opened | Event | Lost
Refusal: TypeAlias = Callable[[int, bytes], AdapterError]
"""Makes the error of an answer that is no stream, from its status and body."""


class OverlongError(Exception):
    """A line or an event beyond the limit."""


class _Guard(httpx.AsyncByteStream):
    """Passes bytes through, and refuses a line or an event of absurd size before it is held in memory."""

    def __init__(self, stream: httpx.AsyncByteStream, max_line: int, max_event: int) -> None:
        self._stream = stream
        self._max_line = max_line
        self._max_event = max_event
        self._line = 0
        self._event = 0
        self._after_cr = False
        self.heard = asyncio.Event()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._measure(chunk)
            self.heard.set()
            yield chunk

    def _measure(self, chunk: bytes) -> None:
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        if chunk:
            self._after_cr = chunk.endswith(b"\r")
        first, *rest = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._grow(len(first))
        for part in rest:
            if self._line == 0:
                self._event = 0
            self._line = 0
            self._grow(len(part))

    def _grow(self, size: int) -> None:
        self._line += size
        self._event += size
        if self._line > self._max_line or self._event > self._max_event:
            raise OverlongError(f"more than {min(self._line, self._event)} bytes")

    async def aclose(self) -> None:
        await self._stream.aclose()


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds and bytes that bound one connection."""

    silence: float = SILENCE
    connect: float = 5.0
    max_line: int = MAX_LINE
    max_event: int = MAX_EVENT


class EventStream:
    """Follows one stream for ever.

    Args:
        client: whose connections are used.
        url: gives the stream's address for each attempt, without the position.
        headers: called for each attempt, so that a renewed credential is used; may raise AdapterError.
        refusal: makes the error of an answer that is no stream.
        position: to resume after; None begins with what happens from now on.
        limits, clock, sleep, jitter: bounds, time and chance, injected by tests; `jitter` returns 0.0 to 1.0.
    """

    def __init__(
        self,
        client: httpx.AsyncClient,
        url: Callable[[], httpx.URL],
        headers: Callable[[], Mapping[str, str]],
        refusal: Refusal,
        *,
        position: str | None = None,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random,
    ) -> None:
        self._client = client
        self._url = url
        self._headers = headers
        self._refusal = refusal
        self.position = position
        self._limits = limits or Limits()
        self._clock = clock
        self._sleep = sleep
        self._jitter = jitter
        self._base = FIRST_BACKOFF
        self._failures = 0

    async def items(self) -> AsyncGenerator[StreamItem, None]:
        """Openings, events and losses, for ever. Ends only when cancelled or closed; raises nothing expected."""
        while True:
            started = self._clock()
            heard = False
            try:
                async with aclosing(self._connection()) as connection:
                    async for item in connection:
                        if isinstance(item, Event):
                            heard = True
                            self._failures = 0
                        yield item
                error: AdapterError = Unavailable("The event stream ended.", "It is opened again by itself.")
            except AdapterError as caught:
                error = caught
            if heard or self._clock() - started >= STEADY:
                self._failures = 0
            self._failures += 1
            pause = self._pause()
            yield Lost(error, pause, self._failures)
            await self._sleep(pause)

    def _pause(self) -> float:
        """Exponential, half of it by chance, so that a restarted server is not met by all its clients at once."""
        longest = min(self._base * 2.0 ** min(self._failures - 1, 16), LONGEST_BACKOFF)
        return longest * (0.5 + 0.5 * self._jitter())

    async def _connection(self) -> AsyncGenerator[Opened | Event, None]:
        """One connection: its opening, then its events until it ends. Raises AdapterError."""
        limits = self._limits
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store", "Accept-Encoding": "identity"}
        headers |= dict(self._headers())
        if self.position is not None:
            headers["Last-Event-ID"] = self.position
        timeout = httpx.Timeout(limits.connect, read=limits.silence)
        try:
            async with self._client.stream("GET", self._url(), headers=headers, timeout=timeout) as response:
                await self._check(response)
                async with aclosing(self._decode(response)) as events:
                    async for item in events:
                        yield item
        except OverlongError as error:
            raise ProtocolError(f"The event stream holds a line or an event of absurd size ({error}).") from error
        except httpx.ReadTimeout as error:
            raise Unavailable(f"Nothing was heard on the event stream for {limits.silence:.0f} s.") from error
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError) as error:
            raise Unreachable(f"No connection for the event stream: {_said(error)}.") from error
        except SSEError as error:
            raise ProtocolError(f"The events are no event stream: {_said(error)}") from error
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise Unavailable(f"The event stream was cut: {_said(error)}.") from error

    async def _check(self, response: httpx.Response) -> None:
        """Raise for an answer that is no stream of events."""
        if response.status_code != 200:
            body = b""
            async for chunk in response.aiter_raw(4096):
                body += chunk
                if len(body) > 65536:
                    break
            raise self._refusal(response.status_code, body)
        if response.headers.get("content-encoding", "identity") != "identity":
            raise ProtocolError("The event stream comes compressed although that was declined.")

    async def _decode(self, response: httpx.Response) -> AsyncGenerator[Opened | Event, None]:
        stream = response.stream
        assert isinstance(stream, httpx.AsyncByteStream)
        response.stream = guard = _Guard(stream, self._limits.max_line, self._limits.max_event)
        response.encoding = "utf-8-sig"  # drops a byte order mark at the beginning
        announced = response.headers.get("last-event-id")
        if self.position is None and announced:
            self.position = _usable(announced)
        async with aclosing(EventSource(response).aiter_sse()) as events:
            first = asyncio.ensure_future(anext(events, None))
            try:
                await _greeting(guard, first)
                yield Opened(self.position)
                event = await first
            finally:
                first.cancel()
                await asyncio.gather(first, return_exceptions=True)
            while event is not None:
                for item in self._note(event):
                    yield item
                event = await anext(events, None)

    def _note(self, event: ServerSentEvent) -> Iterator[Event]:
        """Remember the position, and pass on what is an event."""
        if event.retry is not None:
            self._base = min(max(event.retry / 1000.0, 0.1), LONGEST_BACKOFF)
        if event.id:
            self.position = _usable(event.id)
        # httpx-sse hands on blocks without data (a comment, a bare id); the standard drops them, but a server that
        # resets need not have anything else to say.
        if event.data or event.event == "reset":
            yield Event(event.id or None, event.event, event.data)


def _usable(position: str) -> str:
    """A position that can be sent back in a header. Raises ProtocolError."""
    if len(position) > LONGEST_POSITION or not position.isascii() or not position.isprintable():
        raise ProtocolError(f"The event stream names a position that cannot be sent back: {clean(position, 60)!r}.")
    return position


def _said(error: Exception) -> str:
    """What a library says of a failure, without a full stop, so that it can stand within a sentence."""
    return clean(str(error) or type(error).__name__, 200).rstrip(".")


async def _greeting(guard: _Guard, first: asyncio.Future[Any]) -> None:
    """Wait for the first byte, the first event or its failure, or until it is clear that the server is silent."""
    heard: asyncio.Future[Any] = asyncio.ensure_future(guard.heard.wait())
    try:
        await asyncio.wait({heard, first}, timeout=GREETING, return_when=asyncio.FIRST_COMPLETED)
    finally:
        heard.cancel()
        await asyncio.gather(heard, return_exceptions=True)
