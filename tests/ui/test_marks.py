"""Marks, and writes to many rows at once."""

from __future__ import annotations

from pathlib import Path

from console.screens.confirm import ConfirmScreen
from console.screens.main import MainScreen
from console.screens.sent import SentScreen
from tests.ui.scene import jobs, open_scene
from tests.ui.test_flows import ask


def _mine(count: int = 5) -> list:  # type: ignore[type-arg]
    running = [job for job in jobs() if job.status == "running"][:count]
    return [job._replace(owner="alice") for job in running]


async def test_three_jobs_are_cancelled_in_one_operation_of_which_one_is_refused(tmp_path: Path) -> None:
    mine = _mine()
    async with open_scene(tmp_path, mine) as scene:
        await scene.press("space", "space", "space")
        assert "1 Jobs 5 (3 marked)" in scene.text
        scene.backend.answers.extend(["refused"])
        await ask(scene, "K")
        assert "the number of targets (3)" in scene.text
        await scene.press("3", "enter")
        await scene.until(lambda: scene.app.screen.panel.ready)  # type: ignore[attr-defined]
        await scene.press("enter")
        await scene.until(lambda: isinstance(scene.app.screen, SentScreen))
        await scene.until(lambda: "2 accepted, 1 refused" in scene.text)
        assert "not you" in scene.text
        done = [job.id for job in mine if scene.backend.job(job.id).status == "cancelled"]
        assert len(done) == 2 and len(scene.backend.sent) == 3


async def test_marks_stay_on_their_rows_and_go_with_them(tmp_path: Path) -> None:
    mine = _mine()
    async with open_scene(tmp_path, mine) as scene:
        await scene.press("shift+down", "shift+down")
        screen = scene.app.screen
        assert isinstance(screen, MainScreen)
        marked = screen.board.pane.table.marks
        assert {ref.id for ref in marked} == {mine[0].id, mine[1].id}
        await scene.press("s", "s", "s", "s")
        assert screen.board.pane.table.marks == marked
        scene.backend.remove(scene.backend.job(mine[0].id).ref)
        await scene.until(lambda: "1 marked jobs are gone" in scene.text)
        assert {ref.id for ref in screen.board.pane.table.marks} == {mine[1].id}


async def test_a_filter_that_hides_marked_rows_says_so_and_escape_takes_the_marks_off(tmp_path: Path) -> None:
    async with open_scene(tmp_path, _mine()) as scene:
        await scene.press("asterisk")
        assert "(5 marked)" in scene.text
        await scene.press("slash", *"align", "enter")
        assert ", 4 hidden)" in scene.text or ", 3 hidden)" in scene.text
        await scene.press("escape")
        assert "marked" not in scene.text
        await scene.press("asterisk", "asterisk")
        assert "marked" not in scene.text


async def test_an_operation_stops_between_its_steps(tmp_path: Path) -> None:
    import asyncio

    async with open_scene(tmp_path, _mine()) as scene:
        scene.backend.gate = asyncio.Event()
        await ask(scene, "asterisk", "K")
        assert isinstance(scene.app.screen, ConfirmScreen)
        await scene.press("end", "5", "enter")
        await scene.until(lambda: scene.app.screen.panel.ready)  # type: ignore[attr-defined]
        await scene.press("enter")
        await scene.until(lambda: isinstance(scene.app.screen, SentScreen) and "sending" in scene.text)
        await scene.press("S")
        scene.backend.gate.set()
        await scene.until(lambda: "1 accepted, 4 not sent" in scene.text)
        assert len(scene.backend.sent) == 1
