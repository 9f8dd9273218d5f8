"""A job's output: `bpeek` while it runs, its output file afterwards.

bpeek prints all output so far, both streams unless the job has an error file, and only to the job's owner. The file
of a finished job also holds LSF's report, which is not taken out: it says why the job ended.
"""

from __future__ import annotations

import asyncio
import pwd
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

from adapters.base import AdapterError, Forbidden, LogChunk, NotFound, Unavailable
from adapters.lsf.decode import text_of
from adapters.lsf.failures import first_line, read_failed
from adapters.lsf.session import Session
from adapters.model import Job
from adapters.text import clean

Stream = Literal["stdout", "stderr"]
PEEK_INTERVAL: Final = 30.0
"""bpeek asks mbatchd where the job runs and then its host: no cheaper than any other query."""
PIECE: Final = 256 * 1024
_SECTION: Final = re.compile(rb"^<< output from (stdout|stderr) >>\r?\n", re.MULTILINE)
_NOT_STARTED: Final = re.compile(r"Not yet started", re.IGNORECASE)
_OVER: Final = re.compile(r"is not found|already finished|No matching job", re.IGNORECASE)


def peeked(data: bytes, stream: Stream) -> bytes:
    """The part of bpeek's answer that belongs to a stream; without headings everything is stdout."""
    parts = _SECTION.split(data)
    found = b"".join(part for name, part in zip(parts[1::2], parts[2::2], strict=True) if name == stream.encode())
    return parts[0] + found if stream == "stdout" else found


async def job_logs(
    session: Session,
    get_job: Callable[[str], Awaitable[Job]],
    id: str,
    stream: Stream,
    tail: int | None,
    since: int | None,
    follow: bool,
) -> AsyncIterator[LogChunk]:
    """Pieces of the output. Raises NotFound, Forbidden, and what LSF's words stand for."""
    job, shown, begun = await get_job(id), since, False
    while not job.finished:
        data, note = await _peek(session, id, stream)
        if data is not None:
            start = _start(data, tail if not begun else None, shown)
            shown = len(data)
            yield LogChunk(stream, data[start:], start, len(data), reset=begun and start == 0)
            begun = True
        elif not begun or not follow:
            yield LogChunk(stream, note=note)
        if not follow:
            return
        await asyncio.sleep(PEEK_INTERVAL)
        job = await get_job(id)
    path, note = _path(job, stream)
    if path is None:
        yield LogChunk(stream, note=note, at_end=True)
        return
    first = begun  # what bpeek showed is not the beginning of the file: LSF's report may stand before it
    async for chunk in _file(path, job.id, stream, None if begun else tail, None if begun else since):
        yield replace(chunk, reset=True) if first else chunk
        first = False


def _start(data: bytes, tail: int | None, since: int | None) -> int:
    """Where to begin in data that has been read as a whole."""
    if since is not None:
        return since if since <= len(data) else 0
    if tail is not None:
        lines = data.splitlines(keepends=True)
        return len(data) - sum(len(line) for line in lines[max(0, len(lines) - tail) :]) if tail else len(data)
    return 0


async def _peek(session: Session, id: str, stream: Stream) -> tuple[bytes | None, str]:
    """What bpeek shows, or None and a sentence where there is nothing to show yet (or any more)."""
    done = await session.run(["bpeek", id])
    if done.rc == 0 or done.stdout.strip():
        return peeked(done.stdout, stream), ""
    said = first_line(text_of(done.stderr))
    if _NOT_STARTED.search(said) or _OVER.search(said):
        return None, said
    error = read_failed("bpeek", done.rc, done.stdout, done.stderr)
    if isinstance(error, Forbidden):
        raise Forbidden(error.message, "LSF shows the output of a running job to its owner only.")
    raise error


def _path(job: Job, stream: Stream) -> tuple[Path | None, str]:
    """The file of a finished job, or a sentence on why there is none."""
    told = job.extensions.get("output_file" if stream == "stdout" else "error_file")
    if not told:
        if stream == "stderr":
            return None, "Both streams are in the output of this job: it was given no error file."
        return None, "The job was given no output file: LSF sent its output by mail."
    base, _, index = job.id.rstrip("]").partition("[")
    name = str(told).replace("%J", base).replace("%I", index or "0")
    path = Path(_home(name, job))
    if not path.is_absolute():
        folder = Path(_home(str(job.extensions.get("submission_directory") or "$HOME"), job))
        path = folder / path
    if path.is_dir():
        path = path / f"{base}.{'out' if stream == 'stdout' else 'err'}"
    return path, ""


def _home(text: str, job: Job) -> str:
    """``$HOME/x`` with the owner's home."""
    if not text.startswith("$HOME"):
        return text
    try:
        home = pwd.getpwnam(job.owner or "").pw_dir
    except KeyError:
        home = "~"
    return home + text.removeprefix("$HOME")


async def _file(path: Path, id: str, stream: Stream, tail: int | None, since: int | None) -> AsyncIterator[LogChunk]:
    """A file in pieces; the last one says that nothing will follow."""
    try:
        pieces = await asyncio.to_thread(lambda: iter(_read(path, tail, since)))
        size = await asyncio.to_thread(lambda: path.stat().st_size)
        held: LogChunk | None = None
        while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
            if held is not None:
                yield held
            held = LogChunk(stream, piece[1], piece[0], size, path=str(path))
        yield replace(held or LogChunk(stream, b"", size, size, path=str(path)), at_end=True)
    except OSError as error:
        raise _unreadable(path, id, error) from error


def _unreadable(path: Path, id: str, error: OSError) -> AdapterError:
    message = f"The output of job {id} cannot be read here: {clean(str(path), 200)}: {error.strerror}."
    if isinstance(error, PermissionError):
        return Forbidden(message, "The file belongs to the job's owner.")
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return NotFound(message, "It may be on a file system that this host does not have, or it was removed.")
    return Unavailable(message, "The file system does not answer as it should.")


def _read(path: Path, tail: int | None, since: int | None) -> Iterator[tuple[int, bytes]]:
    """(offset, bytes) from where it was asked for to the end of the file."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        start = 0
        if since is not None:
            start = since if since <= size else 0
        elif tail is not None:
            start = _tail_start(path, size, tail)
        file.seek(start)
        while data := file.read(PIECE):
            yield start, data
            start += len(data)


def _tail_start(path: Path, size: int, lines: int) -> int:
    """Where the last `lines` lines begin, read from the end in blocks."""
    if lines <= 0:
        return size
    end, wanted = size, lines
    with path.open("rb") as file:
        # A newline at the very end closes the last line and begins none.
        if size and file.seek(size - 1) >= 0 and file.read(1) == b"\n":
            end -= 1
        while end > 0:
            start = max(0, end - PIECE)
            file.seek(start)
            block = file.read(end - start)
            found = len(block)
            while wanted and (found := block.rfind(b"\n", 0, found)) >= 0:
                wanted -= 1
                if not wanted:
                    return start + found + 1
            end = start
    return 0
