"""Every key in every place, and random keys for a while: nothing crashes, and nothing is written without a yes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from console.commands import COMMANDS, Context, commands_in
from console.screens.main import MainScreen
from tests.doubles.settle import tap
from tests.ui.scene import Scene, open_scene

KEYS = sorted(
    {key for command in COMMANDS for key in command.keys} | {"left", "right", "delete", "backspace", "0", "9"}
)
FOREIGN = ("left", "delete", "backspace", "0", "9", "Z", "w", "y", "enter", "tab")
"""Pressed everywhere, bound or not."""
PLACES: dict[str, tuple[tuple[str, ...], tuple[Context, ...]]] = {
    "jobs": (("1",), ("main", "jobs")),
    "queues": (("2",), ("main", "queues")),
    "nodes": (("3",), ("main", "nodes")),
    "job": (("1", "enter"), ("job",)),
    "log": (("1", "l"), ("log",)),
    "node": (("3", "e"), ("node",)),
    "help": (("question_mark",), ("help",)),
    "sent": (("o",), ("sent",)),
    "inbox": (("a",), ("inbox",)),
    "scope": (("S",), ()),
    "autopilot": (("B",), ()),
    "map": (("m",), ("map",)),
    "record": (("v",), ("record",)),
    "keys": (("f",), ("keys",)),
    "reservations": (("d",), ("reservations",)),
    "menu": (("x",), ("jobs",)),
    "palette": (("colon",), ()),
    "form": (("N",), ()),
    "prompt": (("3", "D"), ()),
    "filter": (("slash",), ()),
}
"""How one gets there, and what is bound there."""


async def _home(scene: Scene) -> None:
    """Back to the main screen, whatever is open; no filter, no marks."""
    for _ in range(20):
        await tap(scene.pilot, "escape")
        screen = scene.app.screen
        if isinstance(screen, MainScreen) and not screen.board.filter and not screen.movable.marks:
            return
    raise AssertionError(f"Esc does not lead back from {scene.app.screen}")


@pytest.mark.parametrize("place", PLACES)
async def test_every_key_in_every_place(tmp_path: Path, place: str) -> None:
    """A question that a key opens is declined by the next Esc, so nothing may have been sent at the end."""
    async with open_scene(tmp_path, size=(100, 30)) as scene:
        way, contexts = PLACES[place]
        for key in sorted({*FOREIGN, *(key for command in commands_in(*contexts) for key in command.keys)}):
            if key == "q" and place in ("jobs", "queues", "nodes"):
                continue  # it quits there, as it should
            for step in way:
                await tap(scene.pilot, step)
            await tap(scene.pilot, key)
            assert scene.app._exception is None, f"{key} in {place}"
            await _home(scene)
            assert scene.app.is_running, f"{key} in {place} ended it"
        assert not scene.backend.sent


@pytest.mark.parametrize("seed", range(2))
async def test_random_keys(tmp_path: Path, seed: int) -> None:
    """A monkey at the keyboard. It may well answer a question; it may not crash the console."""
    choose = random.Random(seed)
    keys = [key for key in KEYS if key not in ("q", "ctrl+q")] + ["y", "enter", "escape", "escape", "tab"]
    async with open_scene(tmp_path, size=(80, 24)) as scene:
        for _ in range(150):
            await tap(scene.pilot, choose.choice(keys))
        assert scene.app._exception is None
        await _home(scene)
        assert scene.app.is_running


@pytest.mark.parametrize("keys", [(), ("3", "e"), ("K",), ("question_mark",), ("colon",), ("N",), ("1", "l")])
async def test_any_size_of_the_terminal(tmp_path: Path, keys: tuple[str, ...]) -> None:
    """Down to one cell and back, with something open."""
    async with open_scene(tmp_path, size=(120, 40)) as scene:
        for key in keys:
            await tap(scene.pilot, key)
        for size in [(80, 24), (20, 5), (1, 1), (2, 40), (200, 2), (60, 15), (200, 60), (120, 40)]:
            await scene.pilot.resize_terminal(*size)
            await scene.pilot.pause()
            assert scene.app._exception is None, size
        await scene.settle()
