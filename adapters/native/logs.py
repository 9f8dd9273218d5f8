"""A job's output from a native server: read in pieces, and followed as it grows."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, Literal

from adapters.base import AdapterError, Forbidden, LogChunk, NotFound, ProtocolError, Unauthenticated
from adapters.events import Event, EventStream, Lost
from adapters.native import wire
from adapters.native.transport import Transport
from adapters.text import clean

Stream = Literal["stdout", "stderr"]
POLL = 2.0
OpenStream = Callable[[Callable[[], str]], EventStream]
"""Makes a stream from a function that gives the path for each attempt."""


def chunk_of(data: Any, stream: Stream, offset: int) -> LogChunk:
    """One piece. `data` is {data (base64 or text), offset, size, at_end, reset}, or the text alone, which is then all
    there is: an older server does not know where to begin.

    Raises ProtocolError.
    """
    if isinstance(data, str):
        whole = data.encode("utf-8", "surrogateescape")
        shrunk = offset > len(whole)
        return LogChunk(stream, whole if shrunk else whole[offset:], 0 if shrunk else offset, len(whole), shrunk)
    if not isinstance(data, Mapping):
        raise ProtocolError(f"A piece of a log was expected and {type(data).__name__} came.")
    body = next((data[key] for key in ("data", "log", "content", "text") if isinstance(data.get(key), str)), None)
    if body is None:
        raise ProtocolError("A piece of a log came without its text.")
    at = wire.whole(data.get("offset"))
    return LogChunk(
        stream,
        _bytes(body, data.get("encoding")),
        offset if at is None else at,
        wire.whole(data.get("size")),
        data.get("reset") is True,
        data.get("at_end") is True,
    )


def _bytes(text: str, encoding: Any) -> bytes:
    if encoding != "base64":
        return text.encode("utf-8", "surrogateescape")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ProtocolError("A piece of a log is not the base64 it claims to be.") from error


class LogReader:
    """Reads the logs of one server."""

    def __init__(
        self,
        transport: Transport,
        open_stream: OpenStream,
        sleep: Callable[[float], Awaitable[None]],
        is_over: Callable[[str], Awaitable[bool]],
    ) -> None:
        self._transport = transport
        self._open_stream = open_stream
        self._sleep = sleep
        self._is_over = is_over

    async def read(
        self, id: str, stream: Stream, tail: int | None, since: int | None
    ) -> AsyncGenerator[LogChunk, None]:
        """What is there now, in as many pieces as the server makes of it. Raises AdapterError."""
        what = f"Reading the {stream} of job {clean(id, 64)}"
        offset = since
        while True:
            query = [("stream", stream), ("tail", tail if offset is None else None), ("since", offset)]
            answer = await self._transport.get(wire.job_logs_path(id), query, what=what)
            chunk = chunk_of(answer.data, stream, offset or 0)
            yield chunk
            following = chunk.offset + len(chunk.data)
            if not chunk.data or chunk.size is None or following >= chunk.size:
                return
            offset, tail = following, None

    async def follow(
        self, id: str, stream: Stream, tail: int | None, since: int | None
    ) -> AsyncGenerator[LogChunk, None]:
        """What is there and what comes, until the job is over. A lost connection goes on where it was."""
        place = _Place(id, stream, tail, since)
        source = self._open_stream(lambda: self._transport.path(*place.request()))
        async with aclosing(source.items()) as items:
            async for item in items:
                if isinstance(item, Event) and item.kind == "log":
                    chunk = chunk_of(_parsed(item.data), stream, place.offset or 0)
                    place.offset = chunk.offset + len(chunk.data)
                    yield chunk
                    if chunk.at_end:
                        return
                elif isinstance(item, Lost):
                    if isinstance(item.error, NotFound | Forbidden | Unauthenticated):
                        raise item.error
                    if isinstance(item.error, ProtocolError):
                        break
                    yield LogChunk(stream, offset=place.offset or 0, note=_note(item.error))
        async with aclosing(self._poll(id, stream, place)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _poll(self, id: str, stream: Stream, place: _Place) -> AsyncGenerator[LogChunk, None]:
        """A server that does not follow is asked again and again."""
        tail = place.tail
        while True:
            over = await self._is_over(id)  # asked first: what a job wrote at its end is then in what is read
            async with aclosing(self.read(id, stream, tail, place.offset)) as chunks:
                async for chunk in chunks:
                    place.offset, tail = chunk.offset + len(chunk.data), None
                    if chunk.data or chunk.at_end or chunk.reset:
                        yield chunk
                    if chunk.at_end:
                        return
            if over:
                yield LogChunk(stream, offset=place.offset or 0, at_end=True)
                return
            await self._sleep(POLL)


class _Place:
    """How far the following of a log has come."""

    def __init__(self, id: str, stream: Stream, tail: int | None, since: int | None) -> None:
        self._id = id
        self._stream = stream
        self.tail = tail
        self.offset = since

    def request(self) -> tuple[str, list[tuple[str, Any]]]:
        """Path and query to go on from here."""
        tail = self.tail if self.offset is None else None
        query = [("stream", self._stream), ("tail", tail), ("since", self.offset), ("follow", 1)]
        return wire.job_logs_path(self._id), query


def _parsed(data: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ProtocolError("A piece of a followed log is not JSON.") from error


def _note(error: AdapterError) -> str:
    return f"{error.message} Trying again."
