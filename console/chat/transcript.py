"""The transcript in the shape of the Messages API, and what keeps it whole: text joined, no call without its result."""

from __future__ import annotations

from typing import Any

STOPPED = "The turn was stopped before this call had a result."


def add_text(messages: list[dict[str, Any]], text: str) -> None:
    """Append what the person (or Pilothouse in the person's place) says; roles alternate, so that it joins results of
    tools that stand last."""
    block = {"type": "text", "text": text}
    if messages and messages[-1]["role"] == "user":
        content = messages[-1]["content"]
        before = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        messages[-1] = {"role": "user", "content": [*before, block]}
    else:
        messages.append({"role": "user", "content": [block]})


def mend(messages: list[dict[str, Any]]) -> None:
    """Give each call of the last assistant message that has no result one that says so."""
    if not messages:
        return
    last = len(messages) - (1 if messages[-1]["role"] == "assistant" else 2)
    if last < 0 or messages[last]["role"] != "assistant":
        return
    made = [b["id"] for b in _blocks(messages[last]) if b.get("type") == "tool_use"]
    after = _blocks(messages[last + 1]) if last + 1 < len(messages) else []
    have = {b.get("tool_use_id") for b in after if b.get("type") == "tool_result"}
    missing: list[dict[str, Any]] = [
        {"type": "tool_result", "tool_use_id": id, "content": STOPPED, "is_error": True}
        for id in made
        if id not in have
    ]
    if not missing:
        return
    if last + 1 < len(messages):
        messages[last + 1] = {"role": "user", "content": missing + after}
    else:
        messages.append({"role": "user", "content": missing})


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
