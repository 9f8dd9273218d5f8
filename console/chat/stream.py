"""One request to a Messages API and its stream of events: pieces of text while it comes, the message at its end.

The SDK makes the request and reads the event stream; the events are put together here, because the SDK gives an empty
object for arguments that were cut off (measured: a clean end of the connection, and max_tokens within a call).
A message counts only when ``message_stop`` was seen; a call only when the stop reason is ``tool_use`` and its arguments
are one whole JSON object.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from adapters.base import AdapterError
from adapters.text import clean, clean_lines
from console.chat.events import Piece
from console.chat.strict import strict_object
from console.chat.trouble import BrokenOff, Busy, Trouble, no_messages_api, trouble_of

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

MOST_TEXT = 1_000_000  # characters of one message
MOST_BLOCKS = 200
_TEMPORARY = frozenset({"overloaded_error", "rate_limit_error", "api_error", "timeout_error"})


@dataclass(slots=True)
class Block:
    """One block of content as it grows. `text` holds text, thinking, or the raw JSON of a call's arguments; `held` is
    half a character or line end of a text that waits for its other half before it is shown."""

    kind: str
    id: str = ""
    name: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)
    signature: str = ""
    held: str = ""

    @property
    def text(self) -> str:
        return mended("".join(self.parts))


@dataclass(frozen=True, slots=True)
class Use:
    """One call that a message holds. `problem` says why its arguments are none; then they are empty."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    raw: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """A message that ended properly.

    Args:
        stop: the stop reason, in the endpoint's word. `said`: what the endpoint tells about it (a refusal's reason).
        input_tokens, output_tokens: as the endpoint counted; 0 where it did not.
    """

    blocks: tuple[Block, ...]
    stop: str
    said: str = ""
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def text(self) -> str:
        return "\n\n".join(block.text for block in self.blocks if block.kind == "text" and block.text)

    @property
    def uses(self) -> list[Use]:
        return [_use(block) for block in self.blocks if block.kind == "tool_use"]

    @property
    def signed(self) -> list[dict[str, Any]]:
        """Thinking that the endpoint has signed: it may be sent back to the same endpoint, and nowhere else."""
        return [
            {"type": "thinking", "thinking": block.text, "signature": block.signature}
            if block.kind == "thinking"
            else {"type": "redacted_thinking", "data": block.signature}
            for block in self.blocks
            if block.kind in ("thinking", "redacted_thinking") and block.signature
        ]


async def streamed(
    client: AsyncAnthropic, request: Mapping[str, Any], host: str
) -> AsyncGenerator[Piece | Message, None]:
    """Send one request; the last thing given is the `Message`. Raises Trouble; then nothing of it counts.

    Closing the iterator closes the connection, at which an endpoint stops working.
    """
    try:
        async with client.messages.with_streaming_response.create(**request, stream=True) as answer:
            from anthropic import AsyncStream

            reader = _Reader(host)
            async with aclosing(AsyncStream.raw_events(answer.http_response)) as events:  # type: ignore[type-var]
                async for event in events:
                    if (piece := reader.take(event.event or "", event.data)) is not None:
                        yield piece
                    if reader.stopped:
                        break
            yield reader.message()
    except AdapterError:
        raise
    except Exception as error:
        if isinstance(error, UnicodeDecodeError):
            raise BrokenOff(f"What {host} sent is no UTF-8 text.", retry=True) from error
        known = trouble_of(error, host)
        if known is None:
            raise
        raise known from error


class _Reader:
    """Puts the events of one stream together. Whatever is unknown is passed over."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._blocks: dict[int, Block] = {}
        self._begun = False
        self._size = 0
        self._stop, self._said = "", ""
        self._tokens = [0, 0]
        self._first = ""
        self.stopped = False

    def take(self, name: str, data: str) -> Piece | None:
        """One event. Raises Trouble for an error that the endpoint reports within the stream."""
        if name == "ping" or not data:
            return None
        self._first = self._first or data
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            if not self._begun:
                raise no_messages_api(self._host, data) from None
            raise BrokenOff(f"What {self._host} sent is no JSON.", retry=True) from None
        kind = event.get("type", name) if isinstance(event, dict) else None
        if kind == "error":
            raise self._reported(event)
        handler = _HANDLERS.get(str(kind))
        if handler is not None:
            return handler(self, event)
        return None

    def message(self) -> Message:
        if not self._begun:
            raise no_messages_api(self._host, self._first)
        if not self.stopped:
            raise BrokenOff(f"{self._host} ended its answer in the middle.", "It is asked again.", retry=True)
        blocks = tuple(block for _, block in sorted(self._blocks.items()))
        return Message(blocks, self._stop, self._said, *self._tokens)

    def _reported(self, event: Mapping[str, Any]) -> Trouble:
        error = _dict(event.get("error"))
        told = f"{self._host} says: {clean(str(error.get('message') or error.get('type') or 'error'), 400)}"
        if error.get("type") in _TEMPORARY:
            return Busy(told, "It is asked again by itself.", retry=True)
        return Trouble(told, "`pilothouse doctor llm` tries what the endpoint can do.")

    # -- one method for each kind of event

    def _message_start(self, event: Mapping[str, Any]) -> None:
        self._begun = True
        usage = _dict(_dict(event.get("message")).get("usage"))
        cached = ("cache_creation_input_tokens", "cache_read_input_tokens")
        self._tokens[0] = sum(_count(usage.get(name)) for name in ("input_tokens", *cached))

    def _block_start(self, event: Mapping[str, Any]) -> Piece | None:
        index, given = event.get("index"), _dict(event.get("content_block"))
        if not isinstance(index, int) or index in self._blocks or len(self._blocks) >= MOST_BLOCKS:
            raise BrokenOff(f"{self._host} mixed up the blocks of its answer.", retry=True)
        block = Block(_text(given.get("type")), _text(given.get("id")), _text(given.get("name")))
        block.given = _dict(given.get("input"))
        block.signature = _text(given.get("data") or given.get("signature"))
        self._blocks[index] = block
        if block.kind == "text":
            return self._grown(block, _text(given.get("text")))
        if block.kind == "thinking":
            self._grown(block, _text(given.get("thinking")))
        return None

    def _block_delta(self, event: Mapping[str, Any]) -> Piece | None:
        delta, block = _dict(event.get("delta")), self._blocks.get(_count(event.get("index"), -1))
        kind = delta.get("type")
        if kind == "input_json_delta" and (block is None or block.kind != "tool_use"):
            raise BrokenOff(f"{self._host} mixed up the blocks of its answer.", retry=True)
        if block is None:
            return None
        if kind == "signature_delta":
            block.signature += _text(delta.get("signature"))
        name = {"text_delta": "text", "input_json_delta": "partial_json", "thinking_delta": "thinking"}.get(str(kind))
        return self._grown(block, _text(delta.get(name))) if name is not None else None

    def _block_stop(self, event: Mapping[str, Any]) -> Piece | None:
        block = self._blocks.get(_count(event.get("index"), -1))
        if block is None or not block.held:
            return None
        held, block.held = block.held, ""
        return Piece(shown(held))

    def _message_delta(self, event: Mapping[str, Any]) -> None:
        delta, usage = _dict(event.get("delta")), _dict(event.get("usage"))
        self._stop = _text(delta.get("stop_reason")) or self._stop
        details = _dict(delta.get("stop_details"))
        self._said = clean(_text(details.get("explanation") or details.get("category")), 300)
        self._tokens[0] = max(self._tokens[0], _count(usage.get("input_tokens")))
        self._tokens[1] = _count(usage.get("output_tokens"), self._tokens[1])

    def _message_stop(self, _: Mapping[str, Any]) -> None:
        self.stopped = self._begun

    def _grown(self, block: Block, part: str) -> Piece | None:
        """Add to a block; of text, what can be shown by now: half a character or half a line end waits."""
        self._size += len(part)
        if self._size > MOST_TEXT:
            raise Trouble(f"{self._host} sent more than {MOST_TEXT:,} characters in one message.")
        block.parts.append(part)
        if block.kind != "text":
            return None
        part = block.held + part
        keep = len(part) - 1 if part and (part[-1] == "\r" or "\ud800" <= part[-1] <= "\udbff") else len(part)
        block.held = part[keep:]
        return Piece(shown(part[:keep])) if keep > 0 else None


_HANDLERS = {
    "message_start": _Reader._message_start,
    "content_block_start": _Reader._block_start,
    "content_block_delta": _Reader._block_delta,
    "content_block_stop": _Reader._block_stop,
    "message_delta": _Reader._message_delta,
    "message_stop": _Reader._message_stop,
}


def shown(text: str) -> str:
    """A model's text for a screen: cleaned, with its lines kept."""
    return "\n".join(clean_lines(mended(text)))


def mended(text: str) -> str:
    """Surrogate pairs that came in two pieces made whole; halves that stay alone replaced."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _use(block: Block) -> Use:
    raw = "".join(block.parts)
    if not raw.strip():  # no arguments, or given whole at the start of the block
        raw = json.dumps(block.given, ensure_ascii=False)
    try:
        return Use(block.id, block.name, strict_object(raw), raw)
    except ValueError as error:
        return Use(block.id, block.name, {}, raw, clean(str(error), 200))


def _dict(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object, otherwise: int = 0) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else otherwise
