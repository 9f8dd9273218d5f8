"""Hostile text through every pane, dialog and message: the application lives, and no control sequence gets out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adapters.base import Unreachable
from adapters.model import Job, Node, Queue, Row
from adapters.text import clean
from console.screens.confirm import ConfirmScreen
from console.screens.main import MainScreen
from console.screens.node import NodeScreen
from tests.doubles.counting_driver import CountingDriver
from tests.doubles.memory_backend import MemoryBackend
from tests.hostile import NAMES
from tests.ui.scene import NOW, Scene, open_scene

OURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\]22;[a-z]*\x07")
"""What the toolkit itself sends: colours, cursor positions, modes, the pointer's shape."""
SCREEN_CLEARS = re.compile(r"\x1b\[[0-9]*J")


def _rows(names: tuple[str, ...]) -> list[Row]:
    """One job, queue and node for each name, with the name in every field that takes text."""
    rows: list[Row] = []
    for n, name in enumerate(names):
        rows += [
            Job(str(n + 1), name, "running" if n % 2 else "failed", name, name, owner=name, reason=name, start_time=NOW,
                node_names=(name, "node-0"), submission_time=NOW, extensions={"comment": name, name or "x": name}),
            Queue(f"q{n}-{name}", "active", extensions={"comment": name}),
            Node(f"node-{n}" if n else "node-0", "drain", reason=name, features=(name,), slots_used=1, slots_total=2,
                 extensions={"load": {name: name}}),
        ]  # fmt: skip
    return rows


def _assert_harmless(written: str) -> None:
    """Nothing of the data's own control sequences is in what went to the terminal."""
    assert not SCREEN_CLEARS.search(written)
    rest = OURS.sub("", written)
    assert "\x1b" not in rest and "\x9b" not in rest and "\x07" not in rest and "\x00" not in rest
    assert "\u202e" not in rest and "\u200b" not in rest


async def _everywhere(scene: Scene) -> None:
    """Look at everything there is to look at."""
    await scene.press("G", "g", "2", "G", "3", "G", "g", "1", "s", "s", "s")
    await scene.press("enter", "G", "escape")
    await scene.press("l")
    await scene.press("escape", "question_mark", "G", "escape")
    await scene.press("3", "e")
    assert isinstance(scene.app.screen, NodeScreen)
    await scene.press("j", "j", "escape", "1")
    await scene.press("K")
    await scene.until(lambda: isinstance(scene.app.screen, ConfirmScreen))
    await scene.press("G", "escape")
    await scene.until(lambda: isinstance(scene.app.screen, MainScreen))


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
@pytest.mark.parametrize("cleaned", [True, False], ids=["cleaned", "as it came"])
async def test_hostile_rows_everywhere(tmp_path: Path, size: tuple[int, int], cleaned: bool) -> None:
    """Also where an adapter had failed to clean them."""
    names = tuple(clean(name) for name in NAMES) if cleaned else NAMES
    async with open_scene(tmp_path, _rows(names), size=size) as scene:
        await _everywhere(scene)
        assert scene.app._exception is None
    _assert_harmless(CountingDriver.text())


@pytest.mark.parametrize("name", NAMES[:20])
async def test_a_job_of_that_name_is_cancelled_like_any_other(tmp_path: Path, name: str) -> None:
    job = Job("7", clean(name), "running", owner="alice", start_time=NOW, submission_time=NOW)
    async with open_scene(tmp_path, [job], size=(80, 24)) as scene:
        await scene.press("K")
        await scene.until(lambda: isinstance(scene.app.screen, ConfirmScreen))
        await scene.until(lambda: scene.app.screen._guard.look())  # type: ignore[attr-defined]
        await scene.press("end", "y")
        await scene.until(lambda: scene.backend.job("7").status == "cancelled")
    _assert_harmless(CountingDriver.text())


async def test_hostile_errors_in_panes_messages_and_notices(tmp_path: Path) -> None:
    backend = MemoryBackend(rows=[])
    backend.error = Unreachable("bad [/x] reason \x1b[2J", "hint \x1b]52;c;aGk=\x1b\\ [@click=app.quit]")
    async with open_scene(tmp_path, backend=backend, loaded=False, size=(120, 40)) as scene:
        await scene.until(lambda: "bad [/x] reason" in scene.text)
        scene.app.screen.say(clean("[/]\x1b[2J"))  # type: ignore[attr-defined]
        scene.app.notify(clean("[/]close \x1b[2J"), title=clean("[/]"), markup=False)
        await scene.settle()
        assert scene.app._exception is None
    _assert_harmless(CountingDriver.text())


async def test_a_hostile_filter_is_only_text(tmp_path: Path) -> None:
    async with open_scene(tmp_path, _rows(NAMES[:6]), size=(120, 40)) as scene:
        await scene.press("slash", *"[/]", "enter")
        assert "1 Jobs 3/6" in scene.text and "filter [/]" in scene.text
