"""What the filter line means. Terms are joined by "and"; each may be inverted with a leading ``!``.

alice gpu                    both words, each anywhere in the row's texts, in any case
"out of memory"              the words as they stand
owner:alice                  in that field only; with commas any of them: state:failed,cancelled
name=train                   exactly that, in any case; name!=train the opposite
cores>=8  mem<16GB  age>2d   comparisons: numbers, sizes, durations; also time>1h, waited>30m, limit<=4h, slots<4
/qc-[0-9]+/                  a regular expression; name:/^qc/ in one field
~trn                         the letters in this order, others between them
ext.comment:urgent           a field that one backend alone has
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import Any, TypeAlias

from adapters.model import ROW_TYPES, Kind, Row
from console.filter_values import FilterError, comparison, is_timed

__all__ = ["FilterError", "Matches", "compile_filter", "timed"]

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
    {
        "user": "owner", "state": "status", "node": "node_names", "nodes_on": "node_names", "host": "name",
        "exit": "exit_code", "partition": "queue",
    }
)  # fmt: skip
# Texts of which few different ones are in a list, and how many answers are remembered at most.
_REPEATED = frozenset(
    {"cluster", "name", "owner", "queue", "status", "raw_status", "reason", "node_names", "features", "users"}
)
_REMEMBERED = 20_000
_TERM = re.compile(r'[!-]?(?:[\w.]+(?::|=|!=))?(?:"[^"]*"?|/(?:\\.|[^/\\])+/i?(?=\s|$))|\S+')
_FIELD = re.compile(r"^([A-Za-z_][\w.]*)(>=|<=|!=|:|=|>|<)(.*)$", re.DOTALL)


def compile_filter(kind: Kind, text: str) -> Matches | None:
    """The test for `text`, or None where it is empty and every row passes. Raises FilterError."""
    tests = [_term(kind, match.group()) for match in _TERM.finditer(text)]
    if not tests:
        return None
    if len(tests) == 1:
        return tests[0]
    if len(tests) == 2:
        first, second = tests
        return lambda row: first(row) and second(row)
    return lambda row: all(test(row) for test in tests)


def timed(text: str) -> bool:
    """Whether rows may begin or cease to match as time passes."""
    found = (_FIELD.match(match.group().lstrip("!-")) for match in _TERM.finditer(text))
    return any(is_timed(field.group(1)) for field in found if field)


def _term(kind: Kind, word: str) -> Matches:
    if len(word) > 1 and word[0] in "!-":
        test = _term(kind, word[1:])
        return lambda row: not test(row)
    if (found := _FIELD.match(word)) and (test_of_field := _field_term(kind, *found.groups())) is not None:
        return test_of_field
    everywhere = ("cluster", *SEARCHED[kind])
    if word[0] == "/" and (expression := _expression(word)) is not None:
        return _in_fields(everywhere, lambda text: expression.search(text) is not None)
    if word[0] == "~" and len(word) > 1:
        letters = re.compile(".*?".join(re.escape(c) for c in word[1:]), re.IGNORECASE)
        return _in_fields(everywhere, lambda text: letters.search(text) is not None)
    wanted = word.strip('"').casefold() if word[0] == '"' else word.casefold()
    return _in_fields(everywhere, lambda text: wanted in text.casefold())


def _field_term(kind: Kind, name: str, operator: str, value: str) -> Matches | None:
    """The test of a term that names a field; None where it names none: `job:12` is then a plain word."""
    field = _field(kind, name)
    if operator in (">", "<", ">=", "<="):
        return comparison(kind, field or name.lower(), operator, value)
    if field is None:
        return None
    if operator == ":":
        if value[:1] == "/" and (expression := _expression(value)) is not None:
            return _in_fields((field,), lambda text: expression.search(text) is not None)
        wanted = [part.casefold() for part in value.strip('"').split(",") if part] or [""]
        return _in_fields((field,), lambda text: any(part in text.casefold() for part in wanted))
    exact = value.strip('"').casefold()
    test = _in_fields((field,), lambda text: text.casefold() == exact)
    return test if operator == "=" else lambda row: not test(row)


def _field(kind: Kind, name: str) -> str | None:
    """The field a person means."""
    fields = getattr(ROW_TYPES[kind], "_fields", ())
    lowered = name.lower()
    if lowered.startswith("ext."):
        return name
    for candidate in (lowered, ALIASES.get(lowered, "")):
        if candidate in fields:
            return candidate
    return None


def _expression(word: str) -> re.Pattern[str] | None:
    """``/…/`` or ``/…/i``; None where it is not closed, as a path. Raises FilterError."""
    closed = re.fullmatch(r"/((?:\\.|[^/\\])+)/(i?)", word)
    if closed is None:
        return None
    try:
        return re.compile(closed[1], re.IGNORECASE if closed[2] else 0)
    except re.error as error:
        raise FilterError(f"{word} is no regular expression: {error}.") from error


def _in_fields(fields: tuple[str, ...], matches: Callable[[str], bool]) -> Matches:
    """Whether any of the fields holds what is looked for. The same names, owners and queues come again and again:
    what was found out about one is remembered, which makes 100,000 rows several times quicker."""
    repeated = tuple(field for field in fields if field in _REPEATED)
    others = tuple(field for field in fields if field not in _REPEATED)
    values_of = attrgetter("cluster", *repeated) if repeated else None  # two names at least: it then gives a tuple
    known: dict[Any, bool] = {None: False}

    def holds(value: Any) -> bool:
        if isinstance(value, tuple):
            return any(matches(str(part)) for part in value)
        return matches(value if isinstance(value, str) else str(value))

    def found_out(value: Any) -> bool:
        found = holds(value)
        if len(known) < _REMEMBERED:
            known[value] = found
        return found

    def test(row: Row) -> bool:
        if values_of is not None:
            for value in values_of(row)[1:]:
                found = known.get(value)
                if found or (found is None and found_out(value)):
                    return True
        for field in others:
            value = row.extensions.get(field[4:]) if field[:4] == "ext." else getattr(row, field)
            if value is not None and holds(value):
                return True
        return False

    return test
