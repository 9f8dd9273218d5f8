"""Keys that come in one piece, as from a slow link: each goes where the one before has led."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual import events

from console import terminal_app
from console.screens.main import MainScreen
from tests.ui.scene import Scene, jobs, open_scene
from widgets.filter_bar import FilterBar

NAMES = {"/": "slash", ":": "colon", "-": "minus"}


def at_once(scene: Scene, *keys: str) -> None:
    """All in the application's queue before it has looked at the first."""
    for key in keys:
        name = NAMES.get(key, key)
        scene.app.post_message(events.Key(name, key if len(key) == 1 else None))


async def test_what_is_typed_right_behind_the_slash_is_the_filter(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        at_once(scene, "/", *"dKfRZ")  # each of them a command elsewhere
        await scene.until(lambda: scene.app.screen.query_one(FilterBar).value == "dKfRZ")
        assert isinstance(scene.app.screen, MainScreen)


async def test_a_filter_typed_and_kept_in_one_go_leaves_the_keys_behind_it_to_the_pane(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        at_once(scene, "/", *"alice", "enter", "j", "space")
        await scene.until(lambda: len(scene.app.main.board.pane.table.marks) == 1)
        assert scene.app.screen.board.filter == "alice"  # type: ignore[attr-defined]


async def test_what_is_typed_right_behind_the_colon_is_the_line(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        at_once(scene, ":", *"nodes", "enter")
        await scene.until(lambda: scene.app.main.board.pane.kind == "node")


async def test_a_yes_typed_behind_the_key_that_asks_is_none(tmp_path: Path) -> None:
    mine = next(job for job in jobs() if job.owner == "alice" and job.status == "running")
    async with open_scene(tmp_path, [mine]) as scene:
        at_once(scene, "K", "y", "y")
        await scene.until(lambda: not isinstance(scene.app.screen, MainScreen))
        await scene.until(lambda: scene.app._ahead._alarm is None)
        assert not isinstance(scene.app.screen, MainScreen) and not scene.backend.sent


async def test_nothing_is_lost_of_many(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        at_once(scene, "/", *("ab-" * 60))
        await scene.until(lambda: scene.app.screen.query_one(FilterBar).value == "ab-" * 60)


async def test_between_keys_that_wait_nothing_is_painted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key held down on a slow line: a hundred paintings would keep it busy long after it was let go."""
    monkeypatch.setattr(terminal_app, "CROWD", 60.0)
    async with open_scene(tmp_path, jobs(200)) as scene:
        table = scene.app.screen.board.pane.table  # type: ignore[attr-defined]
        start = table.order.index(table.cursor)
        painted, display = [0], scene.app._display

        def count(*given: Any) -> None:
            painted[0] += scene.app._batch_count == 0
            display(*given)

        monkeypatch.setattr(scene.app, "_display", count)
        at_once(scene, *("j" * 100))
        await scene.until(lambda: table.order.index(table.cursor) == start + 100)
        assert painted[0] < 20
        await scene.until(lambda: scene.app._held is None and painted[0] > 0)


async def test_what_is_typed_while_the_chat_opens_is_for_the_chat(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        at_once(scene, "c", *"cancel", "K")
        await scene.until(lambda: scene.app.main.panel is not None and scene.app.main.panel.input.text == "cancelK")
        assert isinstance(scene.app.screen, MainScreen) and not scene.app.screen.board.filter
