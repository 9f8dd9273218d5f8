"""What can be typed on the command line, read off the parsers themselves: for the completion of shells."""

from __future__ import annotations

from argparse import SUPPRESS, Action, ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal, TypeAlias

from console.cli import SUBCOMMANDS
from console.cli.options import global_options

Takes: TypeAlias = Literal["nothing", "choice", "file", "cluster", "other"]


@dataclass(frozen=True, slots=True)
class Option:
    """One option, or a positional argument where `flags` is empty, and what is to stand behind it."""

    flags: tuple[str, ...]
    help: str
    takes: Takes
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """What may follow ``pilothouse`` and the words of `path`: further words with their help, options, arguments."""

    path: tuple[str, ...]
    words: tuple[tuple[str, str], ...]
    options: tuple[Option, ...]

    @property
    def arguments(self) -> tuple[Option, ...]:
        return tuple(option for option in self.options if not option.flags)

    @property
    def flags(self) -> tuple[tuple[str, str], ...]:
        """Each flag with its help."""
        return tuple((flag, option.help) for option in self.options for flag in option.flags)


def places() -> list[Place]:
    """Every place of the command line, the outermost first. Imports every subcommand's module."""
    root = ArgumentParser(prog="pilothouse", parents=[global_options()])
    root.add_argument("--version", action="store_true", help="show the version")
    found = [Place((), tuple((row.name, row.help) for row in SUBCOMMANDS), tuple(_options(root)))]
    for row in SUBCOMMANDS:
        parser = ArgumentParser(prog=row.name, parents=[global_options()])
        import_module(row.module).configure(parser)
        found += _walk((row.name,), parser)
    return found


def _walk(path: tuple[str, ...], parser: ArgumentParser) -> Iterator[Place]:
    inner = next((a for a in parser._actions if isinstance(a, _SubParsersAction)), None)
    helps = {a.dest: a.help or "" for a in inner._choices_actions} if inner else {}
    words = tuple((name, helps[name]) for name in (inner.choices if inner else ()) if name in helps)
    yield Place(path, words, tuple(_options(parser)))
    for name, _ in words:
        assert inner is not None
        yield from _walk((*path, name), inner.choices[name])


def _options(parser: ArgumentParser) -> Iterator[Option]:
    for action in parser._actions:
        if isinstance(action, _SubParsersAction) or action.help == SUPPRESS:
            continue
        takes = _takes(action)
        choices = tuple(str(choice) for choice in action.choices or ()) if takes == "choice" else ()
        yield Option(tuple(action.option_strings), (action.help or "").partition("\n")[0], takes, choices)


def _takes(action: Action) -> Takes:
    if action.nargs == 0:
        return "nothing"
    if action.choices:
        return "choice"
    if action.dest == "cluster":
        return "cluster"
    return "file" if action.type is Path or action.metavar in ("FILE", "FOLDER", "DIR") else "other"
