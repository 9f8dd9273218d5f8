"""The transcript in the shape of the Messages API, and what keeps it whole: text joined, no call without its result."""

from __future__ import annotations

import json
import re
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


def add_answer(messages: list[dict[str, Any]], block: dict[str, Any]) -> None:
    """Append what the planner says or calls; roles alternate."""
    if messages and messages[-1]["role"] == "assistant":
        messages[-1] = {"role": "assistant", "content": [*_blocks(messages[-1]), block]}
    else:
        messages.append({"role": "assistant", "content": [block]})


def last_said(messages: list[dict[str, Any]]) -> str:
    """The last sentence of the person; nothing where there is none."""
    for message in reversed(messages):
        for block in reversed(_blocks(message) if message["role"] == "user" else []):
            text = str(block.get("text", ""))
            if block.get("type") == "text" and not text.startswith(("[watch]", "[inbox]")):
                return text
    return ""


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


def first_text(message: dict[str, Any]) -> str | None:
    """What was said in a message, without what tools gave; None where nothing was."""
    return next((str(block.get("text", "")) for block in _blocks(message) if block.get("type") == "text"), None)


def markdown(messages: list[dict[str, Any]]) -> str:
    """The conversation for a person to read: who said what, each call with its arguments, each result as it was."""
    parts: list[str] = []
    for message in messages:
        who = "You" if message["role"] == "user" else "Pilothouse"
        for block in _blocks(message):
            match block.get("type"):
                case "text":
                    parts.append(f"**{who}:**\n\n{block.get('text', '')}")
                case "tool_use":
                    parts.append(f"**Call** `{block.get('name')}`\n\n{_fenced(block.get('input', {}))}")
                case "tool_result":
                    failed = " (failed)" if block.get("is_error") else ""
                    parts.append(f"**Result**{failed}\n\n{_fenced(block.get('content', ''))}")
    return "\n\n".join(parts) + "\n"


def _fenced(value: Any) -> str:
    """As a block of code that nothing in it can end."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}json\n{text}\n{fence}"
