"""Other keys for commands."""

from __future__ import annotations

import pytest

from console.commands import COMMANDS, Command
from console.keymap import KeymapError, rebound


def _of(table: tuple[Command, ...], id: str) -> Command:
    return next(command for command in table if command.id == id)


def test_nothing_changes_without_a_word() -> None:
    assert rebound({}) == COMMANDS


def test_keys_are_replaced_and_switched_off() -> None:
    table = rebound({"refresh": ["f5", "r"], "job.cancel": "X", "job.hold": ""})
    assert _of(table, "refresh").keys == ("f5", "r")
    assert _of(table, "job.cancel").keys == ("X",)
    assert _of(table, "job.hold").keys == ()


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"refesh": "f5"}, "did you mean refresh"),
        ({"job.cancel": "c"}, "too easily hit"),
        ({"job.cancel": "ctrl+k"}, "too easily hit"),
        ({"job.cancel": "enter"}, "too easily hit"),
        ({"refresh": "j"}, "already means move.down"),
        ({"job.cancel": "H"}, "already means job.hold"),
        ({"node.drain": "N"}, "already means job.new"),
    ],
)
def test_what_cannot_be_is_said(keys: dict[str, str | list[str]], words: str) -> None:
    with pytest.raises(KeymapError, match=words):
        rebound(keys)


def test_the_same_key_in_two_panes_is_no_clash() -> None:
    assert _of(rebound({"node.drain": "K"}), "node.drain").keys == ("K",)
