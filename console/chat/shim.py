"""Tool calls that a weak model wrote as JSON text, for those who turn that on (``json_tools``).

Only a whole answer counts: one or more objects ``{"name": …, "arguments": {…}}``, bare, fenced or in ``<tool_call>``,
with words before them at most. What has stood in a result of a tool or in what was said is a quotation, never a call.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from console.chat.strict import strict_object
from console.tools import TOOLS

MOST = 8  # calls in one answer
_FENCE = re.compile(r"```(?:json|tool_call|tool)?[ \t]*\n(.*?)\n?```", re.DOTALL)
_TAG = re.compile(r"<(tool_call|function_call|tool_use)>(.*?)</\1>", re.DOTALL)
_NAMES = ("name", "tool", "function")
_ARGUMENTS = ("arguments", "args", "parameters", "input")


class Written(NamedTuple):
    """The words before the calls, and the calls: names of tools and arguments."""

    said: str
    calls: list[tuple[str, dict[str, Any]]]


def written_calls(text: str, messages: Iterable[Mapping[str, Any]]) -> Written | None:
    """The calls that `text` consists of; None where it is an answer in words, or quotes what somebody else wrote."""
    said, objects = _objects(text.strip())
    if not objects or len(objects) > MOST:
        return None
    calls = [call for call in map(_call, objects) if call is not None]
    if len(calls) != len(objects):
        return None
    others = _bare(" ".join(_others(messages)))
    if any(_bare(form) in others for one, call in zip(objects, calls, strict=True) for form in _forms(one, *call)):
        return None
    return Written(said, calls)


def _objects(text: str) -> tuple[str, list[str]]:
    """Words before, and the text of each object. Anything after or between them makes it an answer in words."""
    for pattern, group in ((_TAG, 2), (_FENCE, 1)):
        found = list(pattern.finditer(text))
        if found:
            between = pattern.sub("", text[found[0].start() :]).strip()
            return (text[: found[0].start()].strip(), [m[group].strip() for m in found]) if not between else ("", [])
    if text.startswith("[") and text.endswith("]"):
        return "", _listed(text)
    return ("", [text]) if text.startswith("{") and text.endswith("}") else ("", [])


def _listed(text: str) -> list[str]:
    try:
        found = strict_object(f'{{"calls": {text}}}')["calls"]
    except ValueError:
        return []
    return [json.dumps(each, ensure_ascii=False) for each in found] if all(isinstance(e, dict) for e in found) else []


def _call(text: str) -> tuple[str, dict[str, Any]] | None:
    """The call that an object is: a known tool, arguments, and nothing else."""
    try:
        found = strict_object(text)
        if found.get("type") == "function" and isinstance(found.get("function"), dict):
            found = found["function"]
        names = [name for name in _NAMES if name in found]
        given = [name for name in _ARGUMENTS if name in found]
        if len(names) != 1 or len(given) > 1 or set(found) - {names[0], *given, "id", "type"}:
            return None
        arguments = found[given[0]] if given else {}
        if isinstance(arguments, str):  # some write them as JSON within the JSON
            arguments = strict_object(arguments)
    except ValueError:
        return None
    tool = found[names[0]]
    return (tool, arguments) if isinstance(tool, str) and tool in TOOLS and isinstance(arguments, dict) else None


def _forms(text: str, tool: str, arguments: dict[str, Any]) -> tuple[str, ...]:
    """As it was written, and as it is written most often."""
    named, given = f'"name": {json.dumps(tool)}', f'"arguments": {json.dumps(arguments, ensure_ascii=False)}'
    return text, f"{{{named}, {given}}}", f"{{{given}, {named}}}"


def _others(messages: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    """What tools gave and what was said to the model."""
    for message in messages:
        content = message["content"]
        if message["role"] == "user" and isinstance(content, str):
            yield content
        elif message["role"] == "user":
            yield from (str(block.get("content") or block.get("text") or "") for block in content)


def _bare(text: str) -> str:
    """Without quotes, spaces and escapes, so that a quotation is found however often it was quoted."""
    return re.sub(r"\\+[nrt]|[\s\"'`\\]+", "", unicodedata.normalize("NFKC", text)).casefold()
