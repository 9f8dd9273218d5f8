"""What is wrong with a configuration file, in words: file, line, key, and what was expected there."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from adapters.base import AdapterError
from adapters.text import clean
from console.profiles import PROFILES, AgentLimits, Hooks, Notices, Scope, Section

_TABLES: Mapping[str, type[Section]] = {"agents": AgentLimits, "hooks": Hooks, "notices": Notices}

_EXPECTED = {
    "bool_type": "true or false",
    "string_type": "text in quotes",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "model_type": "a table",
    "dict_type": "a table",
    "model_attributes_type": "a table",
    "tuple_type": "a list",
    "path_type": "a path in quotes",
    "is_instance_of": "a path in quotes",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. `line` counts from 1 and is None where no line is at fault."""

    file: Path
    line: int | None
    key: str
    message: str

    def __str__(self) -> str:
        where = f"{self.file}, line {self.line}" if self.line else str(self.file)
        return f"{where}: {self.key + ': ' if self.key else ''}{self.message}"


class ConfigError(AdapterError):
    """The configuration cannot be used; every problem that was found is named, one a line."""

    title: ClassVar[str] = "Configuration not usable"
    code: ClassVar[str] = "config"

    def __init__(self, problems: Sequence[Problem], hint: str = "") -> None:
        super().__init__("\n".join(str(problem) for problem in problems), hint)
        self.problems = tuple(problems)


def line_of(text: str, path: Sequence[str | int]) -> int | None:
    """The line on which the statement that first names `path` begins; the nearest table where the key is absent.

    Finds it with the TOML parser itself: the shortest beginning of the file that parses and holds the key.
    """
    lines = text.splitlines()
    for depth in range(len(path), 0, -1):
        whole = 0  # lines that parse as they are: the next statement begins after them
        for count in range(1, len(lines) + 1):
            try:
                data = tomllib.loads("\n".join(lines[:count]) + "\n")
            except tomllib.TOMLDecodeError:
                continue
            if _holds(data, path[:depth]):
                return whole + 1
            whole = count
    return None


def _holds(data: Any, path: Iterable[str | int]) -> bool:
    for part in path:
        if isinstance(data, Mapping) and part in data:
            data = data[str(part)]
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            return False
    return True


def suggestion(word: str, known: Iterable[str]) -> str:
    """`did you mean …?`, or what there is."""
    names = sorted(known)
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    return f"did you mean {near[0]}?" if near else f"known here: {', '.join(names)}"


def problems_of(error: ValidationError, file: Path, text: str, model: type[BaseModel]) -> list[Problem]:
    """The problems of one file, in the order of its lines."""
    data = tomllib.loads(text)
    found = [_problem(item, file, text, data, model) for item in error.errors(include_url=False)]
    return sorted(found, key=lambda problem: problem.line or 0)


def _problem(item: ErrorDetails, file: Path, text: str, data: Mapping[str, Any], model: type[BaseModel]) -> Problem:
    path = _path(item["loc"])
    key = ".".join(str(part) for part in path)
    return Problem(file, line_of(text, path), clean(key, 200), clean(_message(item, path, data, model), 500))


def _path(loc: Sequence[str | int]) -> tuple[str | int, ...]:
    """The path in the file: without the tag that the choice of a profile's type puts into it."""
    if len(loc) > 2 and loc[0] == "clusters" and loc[2] in PROFILES:
        return (*loc[:2], *loc[3:])
    return tuple(part for part in loc if part != "[key]")


def _message(item: ErrorDetails, path: Sequence[str | int], data: Mapping[str, Any], model: type[BaseModel]) -> str:
    kind = item["type"]
    if kind == "extra_forbidden":
        return f"unknown key; {suggestion(str(path[-1]), _known(path[:-1], data, model))}"
    if kind == "missing":
        return "is missing here"
    if kind == "union_tag_not_found":
        return f"needs a type: {', '.join(PROFILES)}"
    if kind == "union_tag_invalid":
        wrong = str((item.get("ctx") or {}).get("tag", ""))
        return f"unknown type {wrong!r}; {suggestion(wrong, PROFILES)}"
    if kind == "value_error":
        return str((item.get("ctx") or {}).get("error", item["msg"]))
    shown = repr(item["input"]) if isinstance(item["input"], str | int | float | bool) else "this"
    if kind == "literal_error":
        return f"expected {(item.get('ctx') or {}).get('expected')}, not {shown}"
    if kind in _EXPECTED:
        return f"expected {_EXPECTED[kind]}, not {shown}"
    message = item["msg"].removeprefix("Input should be ").removeprefix("String should ")
    return f"expected {message}, not {shown}"


def _known(path: Sequence[str | int], data: Mapping[str, Any], model: type[BaseModel]) -> Iterable[str]:
    if not path:
        return set(model.model_fields) - {"sources", "theme_fixed"}
    if len(path) == 2 and path[0] == "clusters":
        kind = data["clusters"][path[1]].get("type")
        return PROFILES[kind].model_fields if kind in PROFILES else ("type",)
    if len(path) == 1 and path[0] in _TABLES:
        return _TABLES[str(path[0])].model_fields
    if path[-1] == "scope":
        return Scope.model_fields
    return ()
