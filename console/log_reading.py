"""Reading a job's output for a screen: one stream, or both as one. No Textual here.

Where both are wanted as one, schedulers keep no time for a line: what is there at the beginning is shown one stream
after the other, which is said, and only what comes then is in the order in which it arrives.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, Literal, Protocol, TypeAlias, cast

from adapters.base import AdapterError, LogChunk, Reader, Unsupported
from adapters.text import clean

Stream: TypeAlias = Literal["stdout", "stderr"]
STREAMS: tuple[Stream, Stream] = ("stdout", "stderr")
TAIL = 5000  # lines read from the end of a log
UNKNOWN_ORDER = "-- above: stdout, then stderr (e); no times are kept, so their order is not known --"
FROM_NOW_ON = "-- below: both in the order of arrival --"
ONE_FILE = "-- stdout and stderr go to one file, so the program itself has merged them --"
OVER = "-- the job is over, this is all --"


class Sink(Protocol):
    """Who shows it."""

    def fed(self, chunk: LogChunk) -> None:
        """A piece came; `chunk.reset` says that its stream begins anew."""

    def noted(self, stream: Stream, text: str) -> None:
        """Said below the last line, in place of what was said there before."""

    def said(self, text: str) -> None:
        """Said between the lines, where both streams are one."""


class _State:
    """How far a stream was read, from which file, and whether that was all."""

    def __init__(self, offset: int = 0) -> None:
        self.offset = offset
        self.over = False
        self.path = ""
        self.empty = True

    def took(self, chunk: LogChunk) -> None:
        """A piece was read."""
        self.path = chunk.path or self.path
        if chunk.data or chunk.reset or chunk.at_end:
            self.offset = chunk.offset + len(chunk.data)
        self.over = chunk.at_end
        self.empty = self.empty and not chunk.data


async def follow(reader: Reader, id: str, stream: Stream, sink: Sink) -> None:
    """Read one stream until the job is over. What goes wrong is noted, never raised."""
    state = _State()
    try:
        async for chunk in _pieces(reader, id, stream, follow=True):
            state.took(chunk)
            _show(sink, chunk, alone=True)
    except AdapterError as error:
        sink.noted(stream, _words(error))
    else:
        if state.empty:
            sink.noted(stream, f"-- the job wrote nothing to {stream} --")


async def follow_both(reader: Reader, id: str, sink: Sink) -> None:
    """Read both streams as one until the job is over. What goes wrong is said, never raised."""
    errors: list[LogChunk] = []
    states: dict[Stream, _State] = {"stdout": _State(), "stderr": _State()}
    try:
        errors = [chunk async for chunk in _pieces(reader, id, "stderr", follow=False)]
    except Unsupported as error:  # one log is all there is; it may not know how to go on from an offset either
        sink.said(_words(error))
        await follow(reader, id, "stdout", sink)
        return
    except AdapterError as error:
        sink.said(_words(error))
    for chunk in errors:
        states["stderr"].took(chunk)
    try:
        async for chunk in _pieces(reader, id, "stdout", follow=False):
            states["stdout"].took(chunk)
            _show(sink, chunk)
    except AdapterError as error:
        sink.said(_words(error))
    if _one_file(states):
        await _rest_of_one(reader, id, states["stdout"], sink)
        return
    for chunk in errors:
        _show(sink, chunk)
    if not any(state.empty for state in states.values()):
        sink.said(UNKNOWN_ORDER)
        if not all(state.over for state in states.values()):
            sink.said(FROM_NOW_ON)
    await _rest_of_both(reader, id, states, sink)


def _one_file(states: Mapping[Stream, _State]) -> bool:
    out, err = states["stdout"], states.get("stderr")
    return err is not None and bool(out.path) and out.path == err.path


async def _rest_of_one(reader: Reader, id: str, state: _State, sink: Sink) -> None:
    """Where both streams go to one file, it is followed once."""
    sink.said(ONE_FILE)
    await _rest_of_both(reader, id, {"stdout": state}, sink)


async def _rest_of_both(reader: Reader, id: str, states: Mapping[Stream, _State], sink: Sink) -> None:
    """What comes, in the order in which it arrives."""
    going = [stream for stream, state in states.items() if not state.over]
    await asyncio.gather(*(_go_on(reader, id, stream, states, sink) for stream in going))
    if all(state.over for state in states.values()):
        nothing = all(state.empty for state in states.values())
        sink.noted("stdout", "-- the job wrote nothing --" if nothing else OVER)


async def _go_on(reader: Reader, id: str, stream: Stream, states: Mapping[Stream, _State], sink: Sink) -> None:
    """Follow a stream from where it was read to. Standard error is left as soon as it is seen to be the same file."""
    state = states[stream]
    try:
        async for chunk in _pieces(reader, id, stream, since=state.offset, follow=True):
            state.took(chunk)
            if stream == "stderr" and _one_file(states):
                sink.said(ONE_FILE)
                state.over = True
                return
            _show(sink, chunk)
    except AdapterError as error:
        sink.said(_words(error))


async def _pieces(
    reader: Reader, id: str, stream: Stream, *, follow: bool, since: int | None = None
) -> AsyncIterator[LogChunk]:
    """The last lines, or what comes after `since`; of a file that is replaced then, its last lines again."""
    chunks = reader.job_logs(id, stream, tail=TAIL, since=since, follow=follow)
    async with aclosing(cast("Any", chunks)) as pieces:
        async for chunk in pieces:
            yield chunk


def _show(sink: Sink, chunk: LogChunk, *, alone: bool = False) -> None:
    """Hand a piece on; the end of a stream that is `alone` is the end of all."""
    sink.fed(chunk)
    if chunk.note:
        sink.noted(chunk.stream, f"-- {clean(chunk.note)} --")
    elif chunk.at_end and alone:
        sink.noted(chunk.stream, OVER)
    elif chunk.data:
        sink.noted(chunk.stream, "")


def _words(error: AdapterError) -> str:
    return f"-- {clean(error.message)} {clean(error.hint)} --".replace("  ", " ")
