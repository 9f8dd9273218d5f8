"""A double of a bad network: a TCP proxy on loopback that cuts, mutes, garbles, and notes the writes that pass.

It stands between an adapter and a real HTTP server. It reads requests with h11 only to see where they begin and end;
what goes on to the server are the very bytes that came.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Literal
from urllib.parse import urlsplit

import h11

from adapters.plan import HttpRequest

READS = ("GET", "HEAD", "OPTIONS")
Mode = Literal["pass", "mute", "garble"]


class Proxy:
    """Where the network is broken, and what went through.

    Attributes:
        writes: `mute` swallows answers to writes, `garble` answers them with a 500 after the server has got them.
        reads: makes the answer to a read by itself (status and body) where it returns one; its argument is the path.
        received: every mutating request, oldest first, as its bytes were.
        cut_after: how many more bytes of answers each new connection lets through before it is cut; None for all.
    """

    def __init__(self, upstream: str) -> None:
        parts = urlsplit(upstream)
        assert parts.hostname is not None and parts.port is not None
        self._upstream = (parts.hostname, parts.port)
        self._server: asyncio.Server | None = None
        self._connections: dict[_Connection, asyncio.Task[None]] = {}
        self.writes: Mode = "pass"
        self.reads: Callable[[str], tuple[int, bytes] | None] = lambda path: None
        self.received: list[HttpRequest] = []
        self.cut_after: Callable[[], int | None] = lambda: None
        self.cuts = 0

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def cut(self) -> None:
        """Cut every connection now, wherever it is."""
        for connection in list(self._connections):
            connection.cut()

    def cut_randomly(self, random: Random, least: int, most: int) -> None:
        """From now on each connection ends after a random number of bytes of answer, in the middle of whatever."""
        self.cut_after = lambda: random.randint(least, most)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = _Connection(self, reader, writer)
        task = asyncio.current_task()
        assert task is not None
        self._connections[connection] = task
        try:
            await connection.run(*self._upstream)
        finally:
            del self._connections[connection]

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        tasks = list(self._connections.values())
        self.cut()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.wait_closed()


class _Connection:
    """One connection of a client, and ours to the server."""

    def __init__(self, proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._proxy = proxy
        self._reader = reader
        self._writer = writer
        self._parser = h11.Connection(h11.SERVER)
        self._left = proxy.cut_after()
        self._mode: Mode = "pass"
        self._body = b""
        self._request: h11.Request | None = None
        self._upstream: asyncio.StreamWriter | None = None

    async def run(self, host: str, port: int) -> None:
        try:
            reader, self._upstream = await asyncio.open_connection(host, port)
        except OSError:
            self.cut()
            return
        pumps = [asyncio.ensure_future(self._requests()), asyncio.ensure_future(self._answers(reader))]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            self.cut()

    def cut(self) -> None:
        """Reset, not closed: what is under way is lost."""
        for writer in (self._writer, self._upstream):
            if writer is not None:
                with contextlib.suppress(OSError, RuntimeError):
                    writer.transport.abort()

    async def _requests(self) -> None:
        assert self._upstream is not None
        with contextlib.suppress(OSError):
            while data := await self._reader.read(65536):
                self._parse(data)
                self._upstream.write(data)
                await self._upstream.drain()

    def _parse(self, data: bytes) -> None:
        self._parser.receive_data(data)
        while True:
            event = self._parser.next_event()
            if isinstance(event, h11.Request):
                self._request, self._body = event, b""
                if event.method.decode() not in READS:
                    self._mode = self._proxy.writes
            elif isinstance(event, h11.Data):
                self._body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                self._complete()
            else:
                return

    def _complete(self) -> None:
        assert self._request is not None
        request = self._request
        method, path = request.method.decode(), request.target.decode()
        if method not in READS:
            headers = tuple((name.decode(), value.decode()) for name, value in request.headers.raw_items())
            self._proxy.received.append(HttpRequest(method, path, headers, self._body or None))
        elif (answer := self._proxy.reads(path)) is not None:
            self._mode = "garble"
            self._say(*answer)
        # h11 wants to see an answer before the next request of the connection.
        self._parser.send(h11.Response(status_code=200, headers=[("content-length", "0")]))
        self._parser.send(h11.EndOfMessage())
        if self._parser.our_state is h11.DONE and self._parser.their_state is h11.DONE:
            self._parser.start_next_cycle()

    def _say(self, status: int, body: bytes) -> None:
        head = f"HTTP/1.1 {status} Answer\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        self._writer.write(head.encode() + b"Connection: close\r\n\r\n" + body)

    async def _answers(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                if self._mode == "mute":
                    continue
                if self._mode == "garble":
                    if not self._writer.transport.is_closing():
                        if self._request is not None and self._request.method.decode() not in READS:
                            self._say(500, b'{"code": 500, "msg": "internal error", "data": null, "count": 0}')
                        await self._writer.drain()
                    return
                if self._left is not None and len(data) >= self._left:
                    self._writer.write(data[: self._left])
                    await self._writer.drain()
                    self._proxy.cuts += 1
                    return
                if self._left is not None:
                    self._left -= len(data)
                self._writer.write(data)
                await self._writer.drain()
        if self._mode == "mute":
            await asyncio.Event().wait()


@asynccontextmanager
async def proxy_to(upstream: str) -> AsyncIterator[Proxy]:
    """A running proxy to `http://host:port`."""
    proxy = Proxy(upstream)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.stop()
