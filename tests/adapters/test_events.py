"""The client of Server-Sent Events, on a server that sends exactly the bytes a test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from itertools import pairwise

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.base import AdapterError, Forbidden, ProtocolError, Unauthenticated, Unavailable, Unreachable
from adapters.events import Event, EventStream, Limits, Lost, Opened, StreamItem
from tests.doubles.serving import closed_port, serve_bytes

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


class Script:
    """What each connection is sent, in pieces; the last script serves all further ones. Notes the requests."""

    def __init__(self, *connections: list[bytes], hold: bool = False, head: bytes = HEAD) -> None:
        self.connections = list(connections)
        self.requests: list[str] = []
        self.hold = hold
        self.head = head
        self.release = asyncio.Event()

    async def __call__(self, request: bytes, writer: asyncio.StreamWriter) -> None:
        self.requests.append(request.decode())
        pieces = self.connections.pop(0) if len(self.connections) > 1 else self.connections[0]
        writer.write(self.head)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.0005)
        if self.hold:
            await self.release.wait()


def refusal(status: int, body: bytes) -> AdapterError:
    return {401: Unauthenticated, 403: Forbidden}.get(status, Unavailable)(f"status {status} {body.decode()}")


@asynccontextmanager
async def stream_of(script: Script, **more: object) -> AsyncIterator[EventStream]:
    async with serve_bytes(script) as url, httpx.AsyncClient(trust_env=False) as client:
        try:
            yield make(client, url, **more)
        finally:
            script.release.set()


def make(client: httpx.AsyncClient, url: str, **more: object) -> EventStream:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        await asyncio.sleep(0)

    options = {"sleep": sleep, "jitter": lambda: 1.0, **more}
    stream = EventStream(client, lambda: httpx.URL(url), lambda: {"Authorization": "key"}, refusal, **options)  # type: ignore[arg-type]
    stream.pauses = pauses  # type: ignore[attr-defined]
    return stream


async def take(stream: EventStream, enough: Callable[[list[StreamItem]], bool]) -> list[StreamItem]:
    items: list[StreamItem] = []
    async with asyncio.timeout(20), aclosing(stream.items()) as source:
        async for item in source:
            items.append(item)
            if enough(items):
                return items
    raise AssertionError("the stream ended")


def lost(count: int = 1) -> Callable[[list[StreamItem]], bool]:
    return lambda items: sum(isinstance(item, Lost) for item in items) >= count


async def events_of(*pieces: bytes) -> list[Event]:
    async with stream_of(Script(list(pieces))) as stream:
        return [item for item in await take(stream, lost()) if isinstance(item, Event)]


async def test_events_have_id_kind_and_data() -> None:
    assert await events_of(b'id: 7\nevent: job\ndata: {"a": 1}\n\n') == [Event("7", "job", '{"a": 1}')]


async def test_data_of_several_lines_is_joined() -> None:
    assert await events_of(b"data: one\ndata:two\ndata\n\n") == [Event(None, "message", "one\ntwo\n")]


async def test_a_byte_order_mark_at_the_beginning_is_dropped() -> None:
    assert await events_of(b"\xef\xbb", b"\xbfdata: x\n\n") == [Event(None, "message", "x")]


async def test_comments_and_bare_ids_are_no_events() -> None:
    assert await events_of(b": alive\n\nid: 3\n\n: alive\n\ndata: x\n\n: alive\n\n") == [Event("3", "message", "x")]


async def test_half_an_event_at_the_end_is_discarded() -> None:
    assert await events_of(b"id: 1\ndata: whole\n\nid: 2\ndata: ha") == [Event("1", "message", "whole")]
    assert await events_of(b"id: 1\ndata: whole\n\nid: 2\ndata: line ended\n") == [Event("1", "message", "whole")]


async def test_the_position_does_not_move_with_half_an_event() -> None:
    script = Script([b"id: 1\ndata: x\n\nid: 2\ndata: half\n"], [b"id: 2\ndata: whole\n\n"])
    async with stream_of(script) as stream:
        items = await take(stream, lost(2))
    assert "last-event-id: 1\r\n" in script.requests[1].lower()
    assert [item.data for item in items if isinstance(item, Event)] == ["x", "whole"]


@settings(max_examples=15, deadline=None)
@given(
    ending=st.sampled_from([b"\n", b"\r\n", b"\r"]),
    cuts=st.lists(st.integers(1, 60), max_size=6, unique=True),
    texts=st.lists(st.sampled_from(["a", "née", "x\ty", "{}", "🙂"]), min_size=1, max_size=3),
)
def test_line_ends_and_characters_may_be_split_over_pieces(ending: bytes, cuts: list[int], texts: list[str]) -> None:
    body = b"".join(f"id: {i}\ndata: {text}\n\n".encode().replace(b"\n", ending) for i, text in enumerate(texts, 1))
    body += b":" + ending  # a lone CR may be half of a CRLF: what follows shows that it is not
    bounds = [0, *sorted(cut for cut in cuts if cut < len(body)), len(body)]
    pieces = [body[a:b] for a, b in pairwise(bounds)]
    assert [event.data for event in asyncio.run(events_of(*pieces))] == texts


async def test_reset_is_an_event_even_without_data() -> None:
    assert await events_of(b"event: reset\nid: 9\n\n") == [Event("9", "reset", "")]


async def test_the_position_is_known_from_a_greeting_or_a_header() -> None:
    async with stream_of(Script([b": hello\nid: 41\n\n"])) as stream:
        await take(stream, lost())
        assert stream.position == "41"
    head = HEAD.replace(b"\r\n\r\n", b"\r\nLast-Event-ID: 40\r\n\r\n")
    async with stream_of(Script([b":\n\n"], head=head)) as stream:
        assert (await take(stream, lost()))[0] == Opened("40")


@pytest.mark.parametrize("position", ["\u00e9", "a\x0bb", "9" * 300])
async def test_a_position_that_cannot_be_sent_back_is_refused(position: str) -> None:
    async with stream_of(Script([f"id: {position}\ndata: x\n\n".encode()])) as stream:
        items = await take(stream, lost())
        assert isinstance(items[-1], Lost) and isinstance(items[-1].error, ProtocolError) and stream.position is None


async def test_the_stream_is_open_at_the_first_byte_not_at_the_headers() -> None:
    script = Script([], hold=True)
    async with stream_of(script) as stream, aclosing(stream.items()) as items:
        step = asyncio.ensure_future(anext(items))
        while not script.requests:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.05)
        assert not step.done()
        step.cancel()
        await asyncio.gather(step, return_exceptions=True)


async def test_silence_is_taken_for_a_dead_line() -> None:
    async with stream_of(Script([b"data: x\n\n"], hold=True), limits=Limits(silence=0.1)) as stream:
        items = await take(stream, lost())
    assert isinstance(items[-1], Lost) and "Nothing was heard" in items[-1].error.message


async def test_a_line_or_an_event_of_absurd_size_is_refused() -> None:
    small = Limits(max_line=1000, max_event=5000)
    for flood in ([b"data: " + b"x" * 2000], [b"data: " + b"x" * 900 + b"\n"] * 8, [b"data: x\r", b"\n"] * 900):
        async with stream_of(Script(flood), limits=small) as stream:
            items = await take(stream, lost())
            assert isinstance(items[-1], Lost) and isinstance(items[-1].error, ProtocolError)
    async with stream_of(Script([b"data: " + b"x" * 900 + b"\n\n"] * 8), limits=small) as stream:
        assert len([item for item in await take(stream, lost()) if isinstance(item, Event)]) == 8


async def test_pauses_grow_to_the_longest_and_begin_anew_after_an_event() -> None:
    script = Script([], [], [], [], [], [], [], [], [b"data: x\n\n"])
    async with stream_of(script) as stream:
        await take(stream, lost(9))
        pauses = stream.pauses  # type: ignore[attr-defined]
    assert pauses[:8] == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


async def test_half_of_a_pause_is_by_chance() -> None:
    async with stream_of(Script([]), jitter=lambda: 0.0) as stream:
        items = await take(stream, lost())
    assert isinstance(items[-1], Lost) and items[-1].retry_in == 0.25


async def test_the_server_may_set_the_pause_within_bounds() -> None:
    async with stream_of(Script([b"retry: 3000\ndata: x\n\n"])) as stream:
        assert isinstance(last := (await take(stream, lost()))[-1], Lost) and last.retry_in == 3.0
    async with stream_of(Script([b"retry: 0\ndata: x\n\n"])) as stream:
        assert isinstance(last := (await take(stream, lost()))[-1], Lost) and last.retry_in == 0.1


@pytest.mark.parametrize(("status", "expected"), [(401, Unauthenticated), (403, Forbidden), (500, Unavailable)])
async def test_an_answer_that_is_no_stream_is_its_error(status: int, expected: type[AdapterError]) -> None:
    head = f"HTTP/1.1 {status} No\r\nConnection: close\r\n\r\n".encode()
    async with stream_of(Script([b"words"], head=head)) as stream:
        (item,) = await take(stream, lost())
    assert isinstance(item, Lost) and type(item.error) is expected and "words" in item.error.message


async def test_a_web_page_is_no_stream() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n"
    async with stream_of(Script([b"<html>"], head=head)) as stream:
        items = await take(stream, lost())
    assert isinstance(items[-1], Lost) and isinstance(items[-1].error, ProtocolError)


async def test_nobody_there_is_unreachable() -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        (item,) = await take(make(client, closed_port()), lost())
    assert isinstance(item, Lost) and isinstance(item.error, Unreachable)


async def test_a_credential_that_cannot_be_read_is_a_loss_not_a_crash() -> None:
    def no_key() -> dict[str, str]:
        raise Unauthenticated("the token file is open to others")

    async with httpx.AsyncClient(trust_env=False) as client:
        stream = EventStream(client, lambda: httpx.URL("http://127.0.0.1:9"), no_key, refusal)
        (item,) = await take(stream, lost())
    assert isinstance(item, Lost) and isinstance(item.error, Unauthenticated)


async def test_the_credential_is_asked_for_at_each_attempt() -> None:
    script = Script([b"data: x\n\n"])
    keys = iter(["first", "second", "third"])
    async with serve_bytes(script) as url, httpx.AsyncClient(trust_env=False) as client:

        async def sleep(seconds: float) -> None:
            await asyncio.sleep(0)

        stream = EventStream(
            client, lambda: httpx.URL(url), lambda: {"Authorization": next(keys)}, refusal, sleep=sleep
        )
        await take(stream, lost(2))
    assert "first" in script.requests[0] and "second" in script.requests[1]
