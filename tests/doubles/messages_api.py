"""A double of a Messages API: one scripted step for each request, and a check of each request.

It is no model. A step is a list of events (`message`), or anything that makes a Starlette response. What every request
must keep is looked at as it comes in; `problems` holds what did not, and `check()` fails with them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.doubles.serving import serve_app

Event: TypeAlias = dict[str, Any]
Step: TypeAlias = "list[Event] | Callable[[dict[str, Any]], Any]"
CUT: Event = {"type": "-cut-"}
"""The connection breaks here."""
HANG: Event = {"type": "-hang-"}
"""Nothing more comes, until the client goes away."""


def text(words: str, size: int = 7) -> Event:
    return {"type": "text", "text": words, "size": size}


def use(tool: str, arguments: object = None, id: str = "", *, raw: str | None = None, size: int = 9) -> Event:
    """A call of a tool; `raw` is sent as its JSON, whatever it is."""
    written = json.dumps(arguments or {}, ensure_ascii=False) if raw is None else raw
    return {"type": "tool_use", "name": tool, "id": id, "raw": written, "size": size}


def message(*blocks: Event, stop: str | None = None, tokens: int = 100, usage: Event | None = None) -> list[Event]:
    """The events of one message, ended properly. Without `stop` it is tool_use or end_turn, by its blocks."""
    calls = any(block["type"] == "tool_use" for block in blocks)
    stop = stop or ("tool_use" if calls else "end_turn")
    used = {"input_tokens": tokens, "output_tokens": 1, **(usage or {})}
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": [],
             "stop_reason": None, "stop_sequence": None, "usage": used}  # fmt: skip
    events: list[Event] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(blocks):
        events += _block(index, block)
    events.append({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None},
                   "usage": {"output_tokens": 20}})  # fmt: skip
    return [*events, {"type": "message_stop"}]


def _block(index: int, block: Event) -> list[Event]:
    def delta(kind: str, name: str, part: str) -> Event:
        return {"type": "content_block_delta", "index": index, "delta": {"type": kind, name: part}}

    size = block.get("size", 9)
    if block["type"] == "text":
        start = {"type": "text", "text": ""}
        deltas = [delta("text_delta", "text", part) for part in pieces(block["text"], size)]
    elif block["type"] == "tool_use":
        start = {"type": "tool_use", "id": block["id"] or f"toolu_{index}", "name": block["name"], "input": {}}
        deltas = [delta("input_json_delta", "partial_json", part) for part in ("", *pieces(block["raw"], size))]
    elif block["type"] == "thinking":
        start = {"type": "thinking", "thinking": "", "signature": ""}
        deltas = [delta("thinking_delta", "thinking", block["thinking"])]
        if block.get("signature"):
            deltas.append(delta("signature_delta", "signature", block["signature"]))
    else:
        start, deltas = block, []
    return [{"type": "content_block_start", "index": index, "content_block": start}, *deltas,
            {"type": "content_block_stop", "index": index}]  # fmt: skip


def pieces(words: str, size: int) -> list[str]:
    return [words[at : at + size] for at in range(0, len(words), size)]


def status(code: int, kind: str = "api_error", words: str = "scripted", **headers: str) -> Step:
    """An error as the API words it."""
    body = {"type": "error", "error": {"type": kind, "message": words}, "request_id": "req_1"}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: JSONResponse(body, code, {"request-id": "req_1", **named})


def raw(body: str | bytes, kind: str = "text/event-stream", code: int = 200, **headers: str) -> Step:
    return lambda _: Response(body, code, headers, media_type=kind)


class MessagesApi:
    """The script, and what came in.

    Args:
        secrets: texts that no request may hold anywhere in its body.
        foreign: texts of the cluster, which may stand in results of tools alone.
        temperature: whether requests may set one.
        pause: seconds between two events of a stream.
        tokens: what count_tokens says; None where there is no such route.
        same_tools: all requests are of one conversation, in which the tools never change.

    Attributes:
        requests: bodies, in order; headers: those of each. left: streams that the client left before their end.
    """

    def __init__(
        self,
        *steps: Step,
        secrets: Iterable[str] = (),
        foreign: Iterable[str] = (),
        temperature: bool = False,
        pause: float = 0.0,
        tokens: int | None = 42,
        same_tools: bool = True,
    ) -> None:
        self.steps: list[Step] = list(steps)
        self.secrets, self.foreign = tuple(secrets), tuple(foreign)
        self.temperature, self.pause, self.tokens, self.same_tools = temperature, pause, tokens, same_tools
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.counted: list[dict[str, Any]] = []
        self.problems: list[str] = []
        self.left = 0
        self._tools: bytes | None = None
        routes = [
            Route("/v1/messages", self._message, methods=["POST"]),
            Route("/v1/messages/count_tokens", self._count, methods=["POST"]),
        ]
        self.app = Starlette(routes=routes)

    def check(self) -> None:
        """Every request kept the rules, and every step was used."""
        assert not self.problems, "\n".join(self.problems)
        assert not self.steps, f"{len(self.steps)} steps were never asked for"

    async def _message(self, request: Request) -> Response:
        body = json.loads(await request.body())
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        self._look(body)
        if not self.steps:
            self.problems.append(f"request {len(self.requests)} is one too many")
            return status(500, words="the script has ended", x_should_retry="false")(body)  # type: ignore[operator, no-any-return]
        step = self.steps.pop(0)
        if callable(step):
            found = step(body)
            if not isinstance(found, list):
                assert isinstance(found, Response)
                return found
            step = found
        return StreamingResponse(self._stream(step), media_type="text/event-stream")

    async def _count(self, request: Request) -> Response:
        self.counted.append(json.loads(await request.body()))
        if self.tokens is None:
            return status(404, "not_found_error", "no such route")({})  # type: ignore[operator, no-any-return]
        return JSONResponse({"input_tokens": self.tokens})

    async def _stream(self, events: Sequence[Event]) -> AsyncIterator[bytes]:
        ended = False
        try:
            for event in events:
                if event is CUT:
                    ended = True
                    raise ConnectionResetError("scripted")
                if event is HANG:
                    await asyncio.Event().wait()
                if self.pause:
                    await asyncio.sleep(self.pause)
                yield sse(event)
            ended = True
        finally:
            self.left += not ended

    # -- what every request must keep

    def _look(self, body: Mapping[str, Any]) -> None:
        whole = json.dumps(body, ensure_ascii=False)
        self._expect(not any(secret in whole for secret in self.secrets), "a secret is in a request")
        self._expect("temperature" not in body or self.temperature, "a temperature that nobody has set")
        self._expect(body.get("stream") is True, "not a stream")
        if "tools" in body:
            names = [tool["name"] for tool in body["tools"]]
            written = json.dumps(body["tools"], ensure_ascii=False).encode()
            self._expect(names == sorted(names), "tools are not sorted")
            self._expect(not self.same_tools or self._tools in (None, written), "tools have changed within the session")
            self._tools = written
        said = json.dumps(body.get("system", ""), ensure_ascii=False) + json.dumps(body.get("tools", []))
        ids: set[str] = set()
        open_calls: list[str] = []
        for number, each in enumerate(body["messages"]):
            role, blocks = each["role"], each["content"]
            blocks = [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks
            self._expect(role == ("assistant" if number % 2 else "user"), "roles do not alternate")
            self._expect(bool(blocks) and all(b.get("text", "x") for b in blocks), "an empty message")
            results = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
            self._expect(results == open_calls, f"calls {open_calls} have the results {results}")
            self._expect([b["type"] for b in blocks][: len(results)] == ["tool_result"] * len(results), "results last")
            open_calls = [b["id"] for b in blocks if b["type"] == "tool_use"]
            self._expect(not ids.intersection(open_calls), "an id of a call is used twice")
            ids.update(open_calls)
            self._expect(all(b.get("signature") for b in blocks if b["type"] == "thinking"), "unsigned thinking")
            said += "".join(b["text"] for b in blocks if role == "user" and b["type"] == "text")
        self._expect(not open_calls, "a call without a result")
        self._expect(not any(word in said for word in self.foreign), "text of the cluster outside of a result")

    def _expect(self, kept: bool, otherwise: str) -> None:
        if not kept:
            self.problems.append(f"request {len(self.requests)}: {otherwise}")


def sse(event: Event) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode("utf-8", "surrogatepass")


@asynccontextmanager
async def serving(api: MessagesApi) -> AsyncIterator[str]:
    """The base url of the double, on a free port of loopback."""
    async with serve_app(api.app) as url:
        yield url
