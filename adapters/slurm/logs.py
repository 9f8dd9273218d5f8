"""A job's output, read in place and followed by looking again: inotify does not see what another host writes."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Literal, NamedTuple

from adapters.base import AdapterError, Forbidden, LogChunk, NotFound, Unavailable
from adapters.text import clean

Stream = Literal["stdout", "stderr"]
CHUNK = 256 * 1024
LOOK_EVERY = 1.0
"""Seconds between two looks at a file that is followed."""
ASK_EVERY = 15
"""Looks without news after which the scheduler is asked whether the job is over."""
MOST_TAIL = 8 * 1024 * 1024
"""Bytes read from the end to find the last lines."""


class Place(NamedTuple):
    """Where output lies, and what to say about it: the nodes the job ran on, and whether it has started."""

    path: str
    nodes: tuple[str, ...]
    started: bool


class _Seen(NamedTuple):
    """One look at a file: what is behind the offset, how long the file is, and which file it is."""

    data: bytes
    size: int
    inode: int


def explain(place: Place, error: OSError) -> AdapterError:
    """The error of a file that cannot be read, said plainly."""
    shown = clean(place.path, 1000)
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        if not place.started:
            return NotFound(f"The job has not started; its output will be in {shown}.")
        where = f" The job ran on {', '.join(place.nodes[:3])}: look there." if place.nodes else ""
        return NotFound(
            f"There is no file {shown} on this host.",
            f"It may lie on the node itself or on a file system that is not mounted here.{where}",
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return Forbidden(f"You may not read {shown}.", "It belongs to somebody else; ask its owner.")
    return Unavailable(f"{shown} cannot be read: {error.strerror or error}.")


def _look(path: str, offset: int) -> _Seen:
    """Read what is behind `offset`. Opens without waiting: a named pipe must not hang the console."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        facts = os.fstat(descriptor)
        if facts.st_size < offset:
            return _Seen(b"", facts.st_size, facts.st_ino)
        try:
            data = os.pread(descriptor, CHUNK, offset)
        except OSError as error:
            if error.errno != errno.ESPIPE:
                raise
            data = b""
        return _Seen(data, facts.st_size, facts.st_ino)
    finally:
        os.close(descriptor)


def _tail_offset(path: str, lines: int) -> int:
    """Where the last `lines` lines begin, looking at most `MOST_TAIL` bytes back."""
    size = Path(path).stat().st_size
    if lines <= 0:
        return size
    with Path(path).open("rb") as file:
        start = size
        found = b""
        while start > 0 and size - start < MOST_TAIL:
            step = min(CHUNK, start)
            start -= step
            file.seek(start)
            found = file.read(step) + found
            if found.rstrip(b"\n").count(b"\n") >= lines:
                break
    body = found[:-1] if found.endswith(b"\n") else found
    at = len(body)
    for _ in range(lines):
        at = body.rfind(b"\n", 0, at)
        if at < 0:
            return start
    return start + at + 1


async def read_log(
    stream: Stream,
    place: Place,
    *,
    tail: int | None,
    since: int | None,
    follow: bool,
    over: bool,
    finished: Callable[[], Awaitable[bool]],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncIterator[LogChunk]:
    """Chunks of a file, the last of them without data and with `at_end` where the job is over.

    `over` says whether the job is over now; a follower asks `finished` for it at every `ASK_EVERY`-th look without
    news, and reads what came until then before it ends. Raises NotFound, Forbidden or Unavailable where the file cannot
    be read; a follower of a running job waits for one that is not there yet, and says so. Reading happens in a thread:
    a file system that hangs does not hang the console.
    """
    offset = max(0, since or 0) if since is not None or tail is None else await _start(place, tail, not over and follow)
    inode: int | None = None
    quiet = 0
    while True:
        seen = await _try(place, offset, patient=follow and not over)
        if seen is None:
            if quiet == 0:
                said = str(explain(place, FileNotFoundError(errno.ENOENT, "")))
                yield LogChunk(stream, note=said, path=place.path)
        elif seen.size < offset or inode not in (None, seen.inode):
            offset = 0 if tail is None else await _start(place, tail, patient=True)  # 5 GB may have taken its place
            inode = seen.inode
            yield LogChunk(stream, offset=offset, size=seen.size, reset=True, path=place.path)
            continue
        else:
            inode = seen.inode
            if seen.data:
                yield LogChunk(stream, seen.data, offset, seen.size, path=place.path)
                offset, quiet = offset + len(seen.data), 0
                continue
        if over or not follow:
            size = seen.size if seen else None
            yield LogChunk(stream, offset=offset, size=size, at_end=over, path=place.path)
            return
        await sleep(LOOK_EVERY)
        quiet += 1
        if quiet % ASK_EVERY == 0:
            over = await finished()


async def _start(place: Place, tail: int, patient: bool) -> int:
    try:
        return await asyncio.to_thread(_tail_offset, place.path, tail)
    except OSError as error:
        if patient and error.errno == errno.ENOENT:
            return 0
        raise explain(place, error) from error


async def _try(place: Place, offset: int, *, patient: bool) -> _Seen | None:
    """What is behind `offset`; None where a patient reader finds no file yet."""
    try:
        return await asyncio.to_thread(_look, place.path, offset)
    except OSError as error:
        if patient and error.errno == errno.ENOENT:
            return None
        raise explain(place, error) from error
