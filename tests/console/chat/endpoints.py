"""An endpoint that is the scripted Messages API, for tests of what speaks to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

from adapters.native.token import fixed_token
from console.chat.endpoint import Endpoint
from console.chat.events import Piece
from console.chat.settings import ChatSettings
from console.chat.stream import Message, streamed
from tests.doubles.messages_api import MessagesApi, serving

KEY = "sk-scripted-0123456789abcdef"


@asynccontextmanager
async def endpoint(api: MessagesApi, **settings: Any) -> AsyncIterator[Endpoint]:
    async with serving(api) as url:
        yield endpoint_at(url, **settings)


def endpoint_at(url: str, **settings: Any) -> Endpoint:
    chat = ChatSettings.model_validate({"base_url": url, "model": "scripted", **settings})
    return Endpoint(url, "scripted", chat, fixed_token(KEY), "a test")


REQUEST = {"model": "scripted", "max_tokens": 100, "messages": [{"role": "user", "content": "hello"}]}


async def one_request(at: Endpoint, request: dict[str, Any] | None = None) -> tuple[str, Message]:
    """The text as it streamed, and the message. Raises Trouble."""
    shown, found = "", None
    async with at.client() as client, aclosing(streamed(client, request or REQUEST, at.host)) as events:
        async for event in events:
            if isinstance(event, Piece):
                shown += event.text
            else:
                found = event
    assert found is not None
    return shown, found
