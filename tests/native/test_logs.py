"""Logs of a native cluster: whole, in pieces, followed over cuts, and of a server that cannot follow."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from adapters.base import LogChunk, NotFound, ProtocolError
from adapters.native import open_native
from adapters.native.logs import chunk_of
from adapters.native.token import fixed_token
from tests.doubles.serving import serve_app
from tests.native.watching import soon

PIECE = 4


class LogServer:
    """A double of the logs route: a text that grows, given out in pieces of four bytes."""

    def __init__(self, text: bytes, *, follows: bool = True, plain: bool = False) -> None:
        self.text, self.follows, self.plain = text, follows, plain
        self.over = True
        self.cut_after: int | None = None
        self.asked: list[str] = []

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/xce/v1/jobs/{id}/logs", self._logs), Route("/xce/v1/jobs/{id}", self._job)])

    async def _job(self, request: Request) -> Response:
        row = {"jobid": 1, "status": "DONE" if self.over else "RUN"}
        return JSONResponse({"code": 200, "msg": "", "data": row, "count": 1})

    def piece(self, since: int) -> dict[str, Any]:
        data = self.text[since : since + PIECE]
        at_end = self.over and since + len(data) >= len(self.text)
        return {"offset": since, "size": len(self.text), "data": data.decode(), "at_end": at_end}

    async def _logs(self, request: Request) -> Response:
        self.asked.append(str(request.url.query))
        if request.path_params["id"] != "1":
            return JSONResponse({"code": 404, "msg": "there is no job 9", "data": None, "count": 0}, 404)
        since = int(request.query_params.get("since", 0))
        if request.query_params.get("follow") and self.follows:
            return StreamingResponse(self._follow(since), media_type="text/event-stream")
        data: Any = self.text.decode() if self.plain else self.piece(since)
        return JSONResponse({"code": 200, "msg": "", "data": data, "count": 1})

    async def _follow(self, since: int) -> AsyncIterator[bytes]:
        sent = 0
        while True:
            piece = self.piece(since)
            if self.cut_after is not None and sent >= self.cut_after:
                return
            if piece["data"] or piece["at_end"]:
                yield f"id: {since}\nevent: log\ndata: {json.dumps(piece)}\n\n".encode()
            since, sent = since + len(piece["data"]), sent + 1
            if piece["at_end"]:
                return
            await asyncio.sleep(0.005)


@asynccontextmanager
async def reader_of(server: LogServer) -> AsyncIterator[Any]:
    async with serve_app(server.app()) as url:
        reader, writer = open_native("c", url, fixed_token("k"), sleep=soon, jitter=lambda: 0.0)
        try:
            yield reader
        finally:
            await writer.close()
            await reader.close()


async def collect(reader: Any, **more: Any) -> list[LogChunk]:
    async with asyncio.timeout(15):
        return [chunk async for chunk in reader.job_logs("1", **more)]


def text_of(chunks: list[LogChunk]) -> bytes:
    return b"".join(chunk.data for chunk in chunks)


async def test_a_log_longer_than_a_piece_is_read_to_its_end() -> None:
    async with reader_of(LogServer(b"hello, world")) as reader:
        chunks = await collect(reader)
        assert text_of(chunks) == b"hello, world" and len(chunks) == 3
        assert text_of(await collect(reader, since=7)) == b"world"


async def test_following_goes_on_where_the_connection_was_cut() -> None:
    server = LogServer(b"0123456789" * 5)
    server.cut_after = 2
    async with reader_of(server) as reader:
        chunks = await collect(reader, follow=True)
    assert text_of(chunks) == server.text and chunks[-1].at_end
    assert any(chunk.note for chunk in chunks), "a cut is said"
    assert len(server.asked) > 5 and "since=8" in server.asked[1]


async def test_following_ends_when_the_job_ends() -> None:
    server = LogServer(b"begun ")
    server.over = False
    async with reader_of(server) as reader:
        chunks: list[LogChunk] = []
        async with asyncio.timeout(15):
            async for chunk in reader.job_logs("1", follow=True):
                chunks.append(chunk)
                if text_of(chunks) == b"begun ":
                    server.text += b"and done"
                    server.over = True
    assert text_of(chunks) == b"begun and done"


@pytest.mark.parametrize("plain", [False, True])
async def test_a_server_that_does_not_follow_is_asked_again(plain: bool) -> None:
    server = LogServer(b"all of it", follows=False, plain=plain)
    async with reader_of(server) as reader:
        chunks = await collect(reader, follow=True)
    assert text_of(chunks) == b"all of it" and chunks[-1].at_end


async def test_a_server_that_always_sends_all_is_not_shown_twice() -> None:
    server = LogServer("begun n\u00e4".encode(), follows=False, plain=True)
    server.over = False
    async with reader_of(server) as reader:
        chunks: list[LogChunk] = []
        more = iter([b" do", b"ne"])
        async with asyncio.timeout(15):
            async for chunk in reader.job_logs("1", follow=True):
                chunks.append(chunk)
                server.text += next(more, b"")
                server.over = server.text.endswith(b"done")
    assert text_of(chunks) == "begun n\u00e4 done".encode()


@pytest.mark.parametrize("follow", [False, True])
async def test_a_job_that_is_not_there(follow: bool) -> None:
    async with reader_of(LogServer(b"")) as reader:
        with pytest.raises(NotFound):
            [chunk async for chunk in reader.job_logs("9", follow=follow)]


@pytest.mark.parametrize("data", [None, 7, [], {}, {"data": 5}, {"data": "%%", "encoding": "base64"}])
def test_what_is_no_piece_of_a_log_is_an_error(data: Any) -> None:
    with pytest.raises(ProtocolError):
        chunk_of(data, "stdout", 0)


async def test_a_row_of_another_job_is_not_taken_for_the_one_asked_for() -> None:
    async with reader_of(LogServer(b"")) as reader:
        assert (await reader.get_job("1")).id == "1"
        with pytest.raises(ProtocolError, match="answered with job 1"):
            await reader.get_job("2")
