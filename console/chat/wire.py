"""From the transcript to the body of a request: whole, cleaned of what an endpoint may not get, stable from request to
request.

Text that people or programs of the cluster wrote goes out within a ``tool_result`` alone, marked as what it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from console.audit.redact import redact, redact_text
from console.chat.endpoint import Endpoint
from console.chat.prompt import JSON_TOOLS, PROMPT, tools
from console.chat.transcript import STOPPED
from console.tools import TOOLS

_CHARACTERS_A_TOKEN = 3.2
_WIDE = re.compile(r"[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")
Signed = Mapping[str, Sequence[dict[str, Any]]]
"""Id of the first call of a message -> thinking blocks that the same endpoint has signed in this turn."""
CACHED = {"type": "ephemeral"}


def request(
    endpoint: Endpoint, messages: Sequence[Mapping[str, Any]], state: str = "", signed: Signed | None = None
) -> dict[str, Any]:
    """The parameters of one request. `state` is what the session knows beside the transcript."""
    settings = endpoint.settings
    first = PROMPT + (JSON_TOOLS if settings.json_tools else "")
    sent = whole(messages, signed or {})
    found: dict[str, Any] = {
        "model": endpoint.model,
        "max_tokens": settings.max_tokens,
        "system": first + (f"\n\n{redact_text(state)}" if state else ""),
        "messages": sent,
        "tools": list(tools()),
    }
    if endpoint.caches:
        blocks = [{"type": "text", "text": first, "cache_control": CACHED}]
        found["system"] = blocks + ([{"type": "text", "text": redact_text(state)}] if state else [])
        if sent:
            sent[-1]["content"][-1] = {**sent[-1]["content"][-1], "cache_control": CACHED}
    if settings.temperature is not None:
        found["extra_body"] = {"temperature": settings.temperature}
    return found


def whole(messages: Iterable[Mapping[str, Any]], signed: Signed) -> list[dict[str, Any]]:
    """The messages as the API wants them: roles alternate, nothing is empty, each call has exactly one result in the
    message after it, thinking is that of `signed` alone."""
    found: list[dict[str, Any]] = []
    called: dict[str, str] = {}  # id -> tool, of the assistant message before
    for message in messages:
        blocks = _blocks(message)
        if message["role"] == "assistant":
            if called:
                _say(found, "user", _results(called, []))
            kept = [block for block in map(_of_model, blocks) if block is not None]
            called = {block["id"]: block["name"] for block in kept if block["type"] == "tool_use"}
            _say(found, "assistant", [*signed.get(next(iter(called), ""), ()), *kept])
        else:
            texts = [_text(redact_text(b["text"])) for b in blocks if b.get("type") == "text" and b["text"].strip()]
            _say(found, "user", [*_results(called, blocks), *texts])
            called = {}
    if called:
        _say(found, "user", _results(called, []))
    if found and found[0]["role"] == "assistant":
        found.insert(0, {"role": "user", "content": [_text("(the conversation goes on)")]})
    return found


def _say(found: list[dict[str, Any]], role: str, blocks: list[dict[str, Any]]) -> None:
    """Append to the message of that role, or begin one."""
    if not blocks:
        return
    if found and found[-1]["role"] == role:
        found[-1]["content"] += blocks
    else:
        found.append({"role": role, "content": blocks})


def _blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [_text(content)] if isinstance(content, str) else list(content)


def _text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def _of_model(block: Mapping[str, Any]) -> dict[str, Any] | None:
    """A block that may go back: text and calls; never thinking of another turn or another endpoint."""
    if block.get("type") == "text" and block["text"].strip():
        return _text(redact_text(block["text"]))
    if block.get("type") == "tool_use":
        return {**{name: block[name] for name in ("type", "id", "name")}, "input": redact(block["input"])}
    return None


def _results(called: Mapping[str, str], blocks: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One result for each call, in the order of the calls; what belongs to no call is left out."""
    have: dict[str, Mapping[str, Any]] = {}
    for block in blocks:
        if block.get("type") == "tool_result":
            have.setdefault(str(block.get("tool_use_id")), block)
    missing = {"content": STOPPED, "is_error": True}
    return [_result(id, tool, have.get(id, missing)) for id, tool in called.items()]


def _result(id: str, tool: str, block: Mapping[str, Any]) -> dict[str, Any]:
    content = str(block.get("content") or "")
    if content.startswith("{") and (tool not in TOOLS or TOOLS[tool].foreign):
        content = f'{{"from": {json.dumps(tool)}, "untrusted_data": {content}}}'
    found = {"type": "tool_result", "tool_use_id": id, "content": content or "{}"}
    return {**found, "is_error": True} if block.get("is_error") else found


def tokens(value: Any) -> int:
    """About how many tokens a JSON-ready value is: characters, of which those of East Asian scripts count whole."""
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    wide = 0 if written.isascii() else len(_WIDE.findall(written))
    return int((len(written) - wide) / _CHARACTERS_A_TOKEN) + wide
