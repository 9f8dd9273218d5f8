"""`/xce/v1/jobs/{id}/logs`: what a job has written, from the logs folder and from nowhere else."""

from __future__ import annotations

import asyncio
import base64
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, BinaryIO

from sse_starlette import ServerSentEvent
from starlette.responses import Response, StreamingResponse

from adapters.local import queries
from adapters.local.calls import Call, Handler, dump, envelope, json_response
from adapters.local.problem import Problem

PIECE = 1_000_000
POLL = 0.25


def log_path(folder: Path, job_id: int, stream: str) -> Path:
    """Where the output of a job lies; also told to workers by the folder alone."""
    return folder / str(job_id // 1000) / f"{job_id}.{'out' if stream == 'stdout' else 'err'}"


def open_log(path: Path) -> BinaryIO | None:
    """The log file, None where there is none yet. A link or anything but a plain file is refused: Problem 403."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError:
        raise Problem(403, "the log is not a plain file in the logs folder") from None
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise Problem(403, "the log is not a plain file in the logs folder")
    return os.fdopen(number, "rb")


def read_piece(path: Path, since: int | None, tail: int | None) -> dict[str, Any]:
    """A piece of a log: {offset, size, data (base64), reset?}. `tail` counts lines from the end."""
    file = open_log(path)
    if file is None:
        return {"offset": 0, "size": 0, "data": ""}
    with file:
        size = os.fstat(file.fileno()).st_size
        start = since if since is not None else 0
        reset = start > size
        if tail is not None and since is None:
            start = _tail_start(file, size, tail)
        file.seek(0 if reset else start)
        data = file.read(PIECE)
    piece = {"offset": 0 if reset else start, "size": size, "data": base64.b64encode(data).decode()}
    return piece | ({"reset": True} if reset else {})


def _tail_start(file: BinaryIO, size: int, lines: int) -> int:
    """Where the last `lines` lines begin, looking back no further than one piece."""
    if lines == 0:
        return size
    begin = max(0, size - PIECE)
    file.seek(begin)
    data = file.read(size - begin)
    place = len(data) - 1 if data.endswith(b"\n") else len(data)
    for _ in range(lines):
        place = data.rfind(b"\n", 0, place)
        if place < 0:
            return begin
    return begin + place + 1


async def logs(call: Call) -> Response:
    params = call.request.query_params
    stream = params.get("stream") or "stdout"
    if stream not in ("stdout", "stderr"):
        raise Problem(422, f"stream is stdout or stderr, not {stream!r}")
    since, tail = queries.count(params, "since", None), queries.count(params, "tail", None)
    number = call.number("job")
    await call.cluster.db.read(lambda db: queries.find_job(db, number, call.who.only_own))
    path = log_path(call.cluster.logs, number, stream)
    if params.get("follow") in ("1", "true"):
        return StreamingResponse(_follow(call, number, path, stream, since, tail), media_type="text/event-stream")
    piece = await _piece(call, number, path, stream, since, tail)
    return json_response(envelope(piece, count=1))


async def _piece(call: Call, number: int, path: Path, stream: str, since: int | None, tail: int | None) -> Any:
    """Whether the job is over is asked before the file is read: what it wrote at its end is then in the file."""
    row = await call.cluster.db.read(lambda db: queries.find_job(db, number, call.who.only_own))
    piece = await asyncio.to_thread(read_piece, path, since, tail)
    at_end = row["ended"] is not None and piece["offset"] + len(base64.b64decode(piece["data"])) >= piece["size"]
    return {"jobid": number, "stream": stream, **piece, "encoding": "base64", "at_end": at_end}


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file that is: another one may have taken its place under the same name."""
    try:
        facts = path.lstat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


async def _follow(
    call: Call, number: int, path: Path, stream: str, since: int | None, tail: int | None
) -> AsyncIterator[bytes]:
    """Pieces as events `log`, each with the offset after it as id, until the job is over and all is sent."""
    loop = asyncio.get_running_loop()
    spoke = loop.time()
    lines, file = tail, _identity(path)
    while not call.cluster.broker.closed:
        before, file = file, await asyncio.to_thread(_identity, path)
        replaced = before is not None and file is not None and before != file
        if replaced:
            since, tail = None if lines is not None else 0, lines
        piece = await _piece(call, number, path, stream, since, tail) | ({"reset": True} if replaced else {})
        sent = len(base64.b64decode(piece["data"]))
        since, tail = piece["offset"] + sent, None
        if sent or piece["at_end"] or piece.get("reset"):
            yield ServerSentEvent(dump(piece).decode(), event="log", id=str(since), sep="\n").encode()
            spoke = loop.time()
        if piece["at_end"]:
            return
        if not sent:
            if loop.time() - spoke > call.cluster.settings.keepalive:
                yield b": alive\n\n"
                spoke = loop.time()
            await asyncio.sleep(POLL)


ROUTES: list[tuple[str, str, str, Handler]] = [("GET", "/xce/v1/jobs/{job}/logs", "log:view", logs)]
