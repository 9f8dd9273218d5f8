"""The table of commands: no clash, no write on a harmless key, a method and a help for each."""

from __future__ import annotations

import inspect

import pytest

from adapters.intents import INTENTS
from console.commands import COMMANDS, PANES, Command, Context, commands_in
from console.screens.bindings import CommandScreen
from console.screens.confirm import ConfirmScreen
from console.screens.help import ORDER, HelpScreen, sections
from console.screens.inbox import InboxScreen
from console.screens.job import JobScreen
from console.screens.keys import KeysScreen
from console.screens.log import LogScreen
from console.screens.main import MainScreen
from console.screens.node import NodeScreen
from console.screens.node_map import NodeMapScreen
from console.screens.record import RecordScreen
from console.screens.reservations import ReservationsScreen
from console.screens.sent import SentScreen

SCREENS: dict[Context, type[CommandScreen]] = {
    "main": MainScreen, "jobs": MainScreen, "queues": MainScreen, "nodes": MainScreen, "node": NodeScreen,
    "job": JobScreen, "log": LogScreen, "sent": SentScreen, "confirm": ConfirmScreen, "help": HelpScreen,
    "chat": MainScreen, "say": MainScreen, "inbox": InboxScreen,
    "map": NodeMapScreen, "record": RecordScreen, "keys": KeysScreen, "reservations": ReservationsScreen,
}  # fmt: skip


def _together() -> list[tuple[Context, ...]]:
    """The contexts that hold at the same time."""
    alone: list[tuple[Context, ...]] = [(c,) for c in SCREENS if c not in PANES and c != "main"]
    return [("main", pane) for pane in sorted(PANES)] + alone


@pytest.mark.parametrize("contexts", _together())
def test_no_key_means_two_things_at_once(contexts: tuple[Context, ...]) -> None:
    seen: dict[str, str] = {}
    for command in commands_in(*contexts):
        for key in command.keys:
            assert key not in seen, f"{key}: {command.id} and {seen[key]}"
            seen[key] = command.id


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.writes], ids=lambda c: c.id)
def test_no_write_is_on_a_harmless_key(command: Command) -> None:
    for key in command.keys:
        assert len(key) == 1 and key.isupper()
    assert command.verb in INTENTS


def test_ids_are_unique_and_everything_is_explained() -> None:
    assert len({c.id for c in COMMANDS}) == len(COMMANDS)
    for command in COMMANDS:
        assert command.help.endswith(".") and command.title and command.keys and command.contexts


@pytest.mark.parametrize("context", SCREENS)
def test_each_screen_has_a_method_for_each_of_its_commands(context: Context) -> None:
    for command in commands_in(context):
        method = getattr(SCREENS[context], f"do_{command.id.replace('.', '_')}", None)
        assert inspect.isfunction(method), f"{SCREENS[context].__name__} lacks {command.id}"


@pytest.mark.parametrize("context", ORDER)
def test_the_help_tells_every_command_once_and_what_works_here_first(context: Context) -> None:
    told = [line for section in sections({context}) for line in section.lines]
    shown = [c for c in COMMANDS if set(c.contexts) & set(ORDER)]
    assert len(told) == len(shown)
    first = [line.help for line in sections({context})[0].lines if commands_in(context)]
    assert first == [c.help for c in commands_in(context)]
    for line in told:
        assert line.writes == any(c.writes and c.help == line.help for c in COMMANDS)
