"""`/xce/v1/events`: the event log as Server-Sent Events."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

from starlette.responses import Response, StreamingResponse

from adapters.local.broker import Wish
from adapters.local.calls import Call, Handler
from adapters.local.problem import Problem

KINDS = frozenset({"job", "queue", "host"})


async def events(call: Call) -> Response:
    """From `Last-Event-ID` (or `?after=`) on, or from now; filtered by `?queue=&owner=&kinds=`."""
    params = call.request.query_params
    after = _place(call.request.headers.get("last-event-id")) if "last-event-id" in call.request.headers else None
    if after is None and params.get("after"):
        after = _place(params["after"])
    kinds = frozenset(filter(None, params.get("kinds", "").split(","))) or None
    if kinds is not None and not kinds <= KINDS:
        raise Problem(422, f"kinds are {', '.join(sorted(KINDS))}, not {params['kinds']!r}")
    wish = Wish(params.get("queue") or None, params.get("owner") or None, kinds, call.who.only_own)
    return StreamingResponse(
        _while_valid(call, call.cluster.broker.subscribe(after, wish)),
        media_type="text/event-stream",
        headers={"cache-control": "no-store", "x-accel-buffering": "no"},
    )


async def _while_valid(call: Call, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The stream, until the key that asked for it is revoked."""
    access, token = call.cluster.access, call.request.headers.get("authorization")
    generation = access.generation
    async for data in stream:
        if access.generation != generation:
            generation = access.generation
            try:
                await access.principal(token, time.time())
            except Problem:
                return
        yield data


def _place(text: str | None) -> int | None:
    """The number of an event. What is no number of ours cannot be resumed from: the client is told to list again."""
    if not text:
        return None
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else 2**62


ROUTES: list[tuple[str, str, str, Handler]] = [("GET", "/xce/v1/events", "event:subscribe", events)]
