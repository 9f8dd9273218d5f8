"""Streams of a Messages API as they come and as they break, through the real SDK over loopback."""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import Any

import pytest

from console.chat.events import Piece
from console.chat.stream import streamed
from console.chat.trouble import (
    BrokenOff,
    Busy,
    NoConnection,
    NoMessagesApi,
    NotSignedIn,
    TooLong,
    Trouble,
)
from tests.console.chat.endpoints import KEY, REQUEST, endpoint, endpoint_at, one_request
from tests.console.waiting import until
from tests.doubles.messages_api import (
    CUT,
    HANG,
    MessagesApi,
    Step,
    message,
    raw,
    sse,
    status,
    text,
    use,
)
from tests.doubles.serving import closed_port

LIST = use("scheduler_list_jobs", {"limit": 5, "filter": {"name": '作业 \U0001f600 "x"'}}, "toolu_a", size=1)
CALL = message(text("Looking."), LIST, use("scheduler_list_queues", id="toolu_b"), text("Done."))


def without(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] != kind]


def before(events: list[dict[str, Any]], kind: str, *instead: dict[str, Any]) -> list[dict[str, Any]]:
    at = [event["type"] for event in events].index(kind)
    return [*events[:at], *instead]


# -- what ends properly


async def test_text_and_calls_of_one_message() -> None:
    api = MessagesApi(CALL)
    async with endpoint(api) as at:
        shown, found = await one_request(at)
    assert shown == "Looking.Done." and found.text == "Looking.\n\nDone." and found.stop == "tool_use"
    first, second = found.uses
    assert (first.id, first.name, first.problem) == ("toolu_a", "scheduler_list_jobs", "")
    assert first.arguments == {"limit": 5, "filter": {"name": '作业 \U0001f600 "x"'}}
    assert (second.arguments, second.problem) == ({}, "")
    assert api.headers[0]["authorization"] == f"Bearer {KEY}" and "x-api-key" not in api.headers[0]
    assert (found.input_tokens, found.output_tokens) == (100, 20)


async def test_an_old_gateway_gets_its_header_instead() -> None:
    api = MessagesApi(message(text("hello")))
    async with endpoint(api, x_api_key=True) as at:
        await one_request(at)
    assert api.headers[0]["x-api-key"] == KEY and "authorization" not in api.headers[0]


async def test_arguments_given_at_the_start_of_the_block() -> None:
    start = {"type": "tool_use", "id": "t", "name": "scheduler_get_job", "input": {"id": "12"}}
    api = MessagesApi(message({**start, "type": "other"}, stop="tool_use"))
    events = api.steps[0]
    assert isinstance(events, list)
    events[2]["content_block"] = start
    async with endpoint(api) as at:
        _, found = await one_request(at)
    assert found.uses[0].arguments == {"id": "12"}


@pytest.mark.parametrize("stop", ["end_turn", "max_tokens", "stop_sequence", "pause_turn", "refusal",
                                  "model_context_window_exceeded", "something_new"])  # fmt: skip
@pytest.mark.parametrize("blocks", [(), (text("so far"),)])
async def test_every_stop_reason_is_told(stop: str, blocks: tuple[dict[str, Any], ...]) -> None:
    async with endpoint(MessagesApi(message(*blocks, stop=stop))) as at:
        _, found = await one_request(at)
    assert found.stop == stop and found.uses == [] and bool(found.text) == bool(blocks)


async def test_the_reason_of_a_refusal_is_told() -> None:
    events = message(stop="refusal")
    events[-2]["delta"]["stop_details"] = {"category": "cyber", "explanation": "No\x1b[2J such help."}
    async with endpoint(MessagesApi(events)) as at:
        _, found = await one_request(at)
    assert found.said == "No␛[2J such help."


async def test_what_is_unknown_is_passed_over() -> None:
    events = message(text("one"), {"type": "server_tool_use", "id": "s", "name": "web", "input": {}}, text("two"))
    odd: list[dict[str, Any]] = [
        {"type": "message_of_tomorrow", "x": 1},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "delta_of_tomorrow", "y": 2}},
        {"type": "content_block_delta", "index": 77, "delta": {"type": "text_delta", "text": "lost"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": {}}},
        {"type": "content_block_stop", "index": 78},
        {"type": "content_block_delta"},
        {"type": "message_delta"},
    ]
    async with endpoint(MessagesApi([*events[:3], *odd, *events[3:]])) as at:
        shown, found = await one_request(at)
    assert shown == "onetwo" and found.stop == "end_turn"


async def test_thinking_is_kept_only_where_it_is_signed() -> None:
    blocks = (
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "thinking", "thinking": "unsigned"},
        {"type": "redacted_thinking", "data": "b3Bh"},
    )
    async with endpoint(MessagesApi(message(*blocks, text("ok")))) as at:
        shown, found = await one_request(at)
    assert shown == "ok"
    assert found.signed == [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3Bh"},
    ]


async def test_text_is_cleaned_and_whole_however_it_is_cut() -> None:
    words = "a\x1b]52;c;eA==\x07\r\n| b\u202ec |\n作业 \U0001f600"
    events = message(text("x"))
    parts = ["a\x1b]52;c;eA==\x07\r", "\n| b\u202e", "c |\n作业 \ud83d", "\ude00"]
    at_delta = [event["type"] for event in events].index("content_block_delta")
    deltas = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": part}} for part in parts
    ]
    body = b"".join(
        sse(event) if event["type"] != "content_block_delta" else b"".join(escaped(delta) for delta in deltas)
        for event in [*events[:at_delta], events[at_delta], *events[at_delta + 1 :]]
    )
    async with endpoint(MessagesApi(raw(body.replace(b"\n", b"\r\n")))) as at:  # lines of the stream end in CRLF too
        shown, found = await one_request(at)
    assert found.text == words
    assert shown == "a␛]52;c;eA==<U+2407>\n| b<U+202E>c |\n作业 \U0001f600".replace("<U+2407>", "␇")


def escaped(event: dict[str, Any]) -> bytes:
    """With half surrogates as JSON escapes."""
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


async def test_a_half_character_that_stays_alone_is_no_character() -> None:
    body = b"".join(escaped(event) for event in message(text("a\ud83d", size=9)))
    async with endpoint(MessagesApi(raw(body))) as at:
        shown, found = await one_request(at)
    assert found.text == "a\ufffd" and shown == "a\ufffd"
    found.text.encode()


# -- calls that are none


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ('{"ids": ["1"', "Expecting"), ('{"ids": ["1"]} x', "Extra data"), ("[1]", "an object was expected"),
        ('{"id": "1", "id": "2"}', "stands twice"), ('{"seconds": NaN}', "no number"), ("null", "an object"),
        ('{"seconds": 1e999}', "too large"), ('{"id": "\\ud800"}', "surrogate"), ("{" * 100_000, ""),
        ('{"a":' * 100_000, ""), ('{"id": "' + "x" * 300_000 + '"}', "longer than"), ('{"n": ' + "9" * 6000 + "}", "")
    ],
)  # fmt: skip
async def test_arguments_that_are_no_object_are_none(written: str, problem: str) -> None:
    events = message(use("scheduler_cancel", raw=written, size=100_000))
    async with endpoint(MessagesApi(events)) as at:
        _, found = await one_request(at)
    (call,) = found.uses
    assert call.arguments == {} and call.problem and problem in call.problem


# -- what breaks


BROKEN: dict[str, tuple[Step, type[Trouble], bool]] = {
    "the end without message_stop": (without(CALL, "message_stop"), BrokenOff, True),
    "a cut within a call": (before(CALL, "content_block_stop", CUT), BrokenOff, True),
    "a cut at once": ([CUT], BrokenOff, True),
    "overloaded within the stream": (
        before(CALL, "message_delta", {"type": "error", "error": {"type": "overloaded_error", "message": "later"}}),
        Busy, True,
    ),
    "an error within the stream": (
        before(CALL, "message_delta", {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}),
        Trouble, False,
    ),
    "an error without a type": (before(CALL, "message_delta", {"type": "error"}), Trouble, False),
    "a page of a proxy": (raw("<html><body>Sign in</body></html>", "text/html"), NoMessagesApi, False),
    "a page as a stream": (raw("<html>\n\n<body>\n\n"), NoMessagesApi, False),
    "nothing at all": (raw(""), NoMessagesApi, False),
    "a whole message, no stream": (raw('{"type": "message", "content": []}', "application/json"), NoMessagesApi, False),
    "another API's stream": (
        raw('data: {"choices": [{"delta": {"content": "x"}}]}\n\ndata: [DONE]\n\n'), NoMessagesApi, False,
    ),
    "half of an event": (raw(b"".join(map(sse, CALL[:4])) + b'event: x\ndata: {"a\n\n'), BrokenOff, True),
    "bytes that are no text": (raw(sse(CALL[0]) + b"event: x\ndata: \xff\xfe\n\n"), BrokenOff, True),
    "arguments of a text": (
        [*CALL[:3],
         {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{"}},
         *CALL[3:]], BrokenOff, True,
    ),
    "a block that begins twice": ([*CALL[:3], *CALL[2:]], BrokenOff, True),
    "busy": (status(529, "overloaded_error"), Busy, True),
    "too many requests": (status(429, "rate_limit_error", retry_after="7"), Busy, True),
    "a server error": (status(500), Busy, True),
    "a server error that stays": (status(500, x_should_retry="false"), Trouble, False),
    "a gateway's page": (raw("<html><h1>502 Bad Gateway</h1></html>", "text/html", 502), Busy, True),
    "no key": (status(401, "authentication_error"), NotSignedIn, False),
    "not allowed": (status(403, "permission_error"), NotSignedIn, False),
    "no such model": (status(404, "not_found_error"), Trouble, False),
    "a bad request": (status(400, "invalid_request_error"), Trouble, False),
    "too long": (status(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000"), TooLong, False),
    "too long for llama.cpp": (
        status(400, "invalid_request_error", "request (9000 tokens) exceeds the available context size (8192 tokens)"),
        TooLong, False,
    ),
    "too large": (status(413, "request_too_large"), TooLong, False),
    "elsewhere": (raw("", "text/plain", 307, location="http://elsewhere.example/v1/messages"), Trouble, False),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
async def test_what_breaks_is_no_message(name: str) -> None:
    step, expected, retry = BROKEN[name]
    api = MessagesApi(step)
    async with endpoint(api) as at:
        with pytest.raises(Trouble) as failure:
            await one_request(at)
    assert type(failure.value) is expected and failure.value.retry is retry
    assert len(api.requests) == 1, "asked again by somebody else than us"
    assert failure.value.message and "Traceback" not in failure.value.message
    assert KEY not in failure.value.message + failure.value.hint


async def test_what_the_endpoint_asks_for_is_told() -> None:
    async with endpoint(MessagesApi(status(429, "rate_limit_error", "slow\x1b[2J down", retry_after="3600"))) as at:
        with pytest.raises(Busy) as failure:
            await one_request(at)
    assert failure.value.after == 3600.0 and "slow␛[2J down" in failure.value.message


async def test_a_redirect_does_not_take_the_key_along() -> None:
    other = MessagesApi(message(text("hello")))
    async with endpoint(other) as there:
        moved = raw("", "text/plain", 308, location=f"{there.base_url}/v1/messages")
        async with endpoint(MessagesApi(moved)) as at:
            with pytest.raises(Trouble, match="sends us on"):
                await one_request(at)
    assert other.requests == []


async def test_nobody_listens() -> None:
    with pytest.raises(NoConnection) as failure:
        await one_request(endpoint_at(closed_port()))
    assert failure.value.retry and failure.value.code == "unreachable"


async def test_silence_is_noticed() -> None:
    api = MessagesApi([*CALL[:4], HANG])
    async with endpoint(api, timeout=4) as at:
        with pytest.raises(BrokenOff, match="silent"):
            await one_request(at)


async def test_pings_are_no_silence() -> None:
    """The whole answer takes longer than the endpoint may be silent."""
    api = MessagesApi([CALL[0], *[{"type": "ping"}] * 16, *CALL[1:]], pause=0.25)
    async with endpoint(api, timeout=4) as at:
        _, found = await one_request(at)
    assert found.stop == "tool_use" and 0.25 * len(CALL) + 0.25 * 16 > 4


async def test_leaving_in_the_middle_ends_the_stream_there_too() -> None:
    api = MessagesApi([*CALL[:5], HANG])
    async with endpoint(api) as at:
        async with at.client() as client, aclosing(streamed(client, REQUEST, at.host)) as events:
            async for event in events:
                assert isinstance(event, Piece)
                break
        await until(lambda: api.left, 30)


@pytest.mark.parametrize("kind", ["text", "thinking"])
async def test_an_endless_answer_is_cut(kind: str) -> None:
    block = text("x" * 1_100_000, size=100_000) if kind == "text" else {"type": "thinking", "thinking": "x" * 1_100_000}
    async with endpoint(MessagesApi(message(block))) as at:
        with pytest.raises(Trouble, match="more than"):
            await one_request(at)


def test_the_sdk_still_fails_as_the_table_says() -> None:
    """AssertionError is what the SDK's own reader gives for an answer without a message."""
    from console.chat.trouble import trouble_of

    assert isinstance(trouble_of(AssertionError(), "host"), NoMessagesApi)
    assert trouble_of(RuntimeError("ours"), "host") is None
