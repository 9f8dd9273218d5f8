"""Lines of the audit log for people: a line of columns each, a filter, and everything that one holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from adapters.text import clean

Record = Mapping[str, Any]


def field(record: Record, name: str) -> str:
    """A field's text, cleaned; a dash where there is none."""
    value = record.get(name)
    return "-" if value is None or value == "" else clean(str(value), 200)


def targets(record: Record) -> str:
    named = [str(target.get("id")) for target in record.get("targets") or () if isinstance(target, Mapping)]
    return clean(" ".join(named), 200) or "-"


def outcome(record: Record) -> str:
    """What came of it; of a refusal its rule, of a read of an agent its tool."""
    return clean(str(record.get("outcome") or record.get("rule") or record.get("tool") or "-"), 200)


def matcher(text: str) -> Callable[[Record], bool]:
    """Whether a line holds every word of `text`, in any case: anywhere, or as ``field:value`` in that field.

    A leading ``!`` turns a word round.
    """
    tests = [_word(word.casefold()) for word in text.split()]
    return lambda record: all(test(record) for test in tests)


def _word(word: str) -> Callable[[Record], bool]:
    if len(word) > 1 and word[0] == "!":
        test = _word(word[1:])
        return lambda record: not test(record)
    name, colon, value = word.partition(":")

    def holds(record: Record) -> bool:
        if colon and name in record:
            return value in _text(record[name])
        return word in _text(record)

    return holds


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str).casefold()


def whole(record: Record) -> list[str]:
    """Everything that a line holds, as lines to read; what ties it to the others last."""
    last = ("v", "process", "prev", "mac")
    ordered = {name: record[name] for name in sorted(record, key=lambda name: (name in last, name))}
    text = json.dumps(ordered, indent=2, ensure_ascii=False, default=str)
    return [clean(line) for line in text.splitlines()]
