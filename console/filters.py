"""What the filter line means: words that a row must hold, or `field:value`.

alice gpu            both words, each anywhere in the row's texts, in any case
owner:alice          in that field only
!failed, !queue:gpu  rows without it
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from adapters.model import ROW_TYPES, Kind, Row

Matches: TypeAlias = Callable[[Row], bool]

# The texts that a plain word is looked for in.
SEARCHED: Mapping[Kind, tuple[str, ...]] = MappingProxyType(
    {
        "job": ("id", "name", "owner", "queue", "status", "raw_status", "reason", "node_names"),
        "queue": ("name", "status"),
        "node": ("name", "status", "reason", "features"),
        "metrics": (),
        "reservation": ("name", "status", "node_names", "users"),
    }
)
# Short names for what is typed often.
ALIASES: Mapping[str, str] = MappingProxyType(
    {"user": "owner", "state": "status", "node": "node_names", "nodes_on": "node_names", "host": "name"}
)


def compile_filter(kind: Kind, text: str) -> Matches | None:
    """The test for `text`, or None where it is empty and every row passes."""
    tests = [_compile_word(kind, word) for word in text.split()]
    if not tests:
        return None
    if len(tests) == 1:
        return tests[0]
    return lambda row: all(test(row) for test in tests)


def _compile_word(kind: Kind, word: str) -> Matches:
    if len(word) > 1 and word[0] in "!-":
        test = _compile_word(kind, word[1:])
        return lambda row: not test(row)
    name, colon, value = word.partition(":")
    field = _field(kind, name) if colon else None
    if field is not None:
        return _in_fields((field,), value)
    return _in_fields(("cluster", *SEARCHED[kind]), word)


def _field(kind: Kind, name: str) -> str | None:
    """The field a person means, or None: `job:12` is then a plain word."""
    fields = getattr(ROW_TYPES[kind], "_fields", ())
    lowered = name.lower()
    for candidate in (lowered, ALIASES.get(lowered, "")):
        if candidate in fields:
            return candidate
    return None


def _in_fields(fields: tuple[str, ...], value: str) -> Matches:
    wanted = value.casefold()

    def test(row: Row) -> bool:
        for field in fields:
            found = getattr(row, field)
            if found is None:
                continue
            if isinstance(found, tuple):
                if any(wanted in str(part).casefold() for part in found):
                    return True
            elif wanted in (found if isinstance(found, str) else str(found)).casefold():
                return True
        return False

    return test
