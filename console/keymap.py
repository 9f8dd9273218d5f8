"""Other keys for commands, from the configuration: checked before the screen is taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

from console.commands import COMMANDS, PANES, Command, Context


class KeymapError(ValueError):
    """Some of the keys cannot be; `problems` are (command id, sentence)."""

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{id}: {text}" for id, text in problems))
        self.problems = tuple(problems)


def rebound(keys: Mapping[str, str | list[str]]) -> tuple[Command, ...]:
    """The table of commands with these keys in place of their own; an empty key switches a command's key off.

    Raises KeymapError for an unknown command, for a write on a key that a slip of the hand hits, and for a key that
    would mean two things in one place.
    """
    known = {command.id: command for command in COMMANDS}
    problems = [(id, _unknown(id, known)) for id in keys if id not in known]
    table = tuple(
        replace(command, keys=_keys(keys[command.id])) if command.id in keys else command for command in COMMANDS
    )
    for command in table:
        if command.writes and command.id in keys:
            problems += [(command.id, _careless(key)) for key in command.keys if not _deliberate(key)]
    problems += _clashes(table, keys)
    if problems:
        raise KeymapError(problems)
    return table


def _keys(value: str | list[str]) -> tuple[str, ...]:
    return tuple(key for key in ([value] if isinstance(value, str) else value) if key)


def _unknown(id: str, known: Mapping[str, Command]) -> str:
    close = get_close_matches(id, known, 1)
    return f"there is no command {id!r}" + (f"; did you mean {close[0]}?" if close else "")


def _deliberate(key: str) -> bool:
    return (len(key) == 1 and key.isupper()) or (len(key) > 1 and key[0] == "f" and key[1:].isdigit())


def _careless(key: str) -> str:
    return f"{key!r} is too easily hit for what writes: a capital letter or a function key is wanted"


def _clashes(table: Sequence[Command], keys: Mapping[str, object]) -> list[tuple[str, str]]:
    """Keys of changed commands that another command has in a place where both are understood."""
    found: list[tuple[str, str]] = []
    for command in table:
        if command.id not in keys:
            continue
        for other in table:
            same = set(command.keys) & set(other.keys)
            if same and other.id != command.id and _meet(command.contexts, other.contexts):
                found.append((command.id, f"{sorted(same)[0]!r} already means {other.id} there"))
    return found


def _meet(one: Sequence[Context], other: Sequence[Context]) -> bool:
    """Whether there is a place in which both are understood: a pane and the main screen are one."""
    if set(one) & set(other):
        return True
    return bool(("main" in one and PANES & set(other)) or ("main" in other and PANES & set(one)))
