"""Links from row to row, and the way back."""

from __future__ import annotations

from pathlib import Path

from console.screens.main import MainScreen
from tests.ui.scene import open_scene


async def test_from_a_queue_to_its_jobs_to_a_node_and_back(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        screen = scene.app.screen
        assert isinstance(screen, MainScreen)
        await scene.press("2", "j", "enter")
        assert screen.board.filter == 'queue="gpu"'
        assert all(scene.backend.job(ref.id).queue == "gpu" for ref in screen.board.view.refs)
        await scene.press("j", "j", "n")
        assert screen.board.pane.id == "nodes" and screen.target is not None
        node = screen.target.id
        await scene.press("i")
        assert screen.board.filter == f'node="{node}"' and screen.board.view.shown
        await scene.press("escape")
        assert screen.board.pane.id == "nodes" and screen.target.id == node
        await scene.press("escape")
        assert screen.board.filter == 'queue="gpu"'
        await scene.press("escape")
        assert screen.board.pane.id == "queues" and screen.target is not None and screen.target.id == "gpu"
        await scene.press("1")
        assert screen.board.filter == 'queue="gpu"'
        await scene.press("escape")
        assert screen.board.filter == ""
        assert scene.app.is_running


async def test_a_job_that_runs_nowhere_has_no_node_to_go_to(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        await scene.press(*"jjjj", "n")
        assert "on no node" in scene.text
        await scene.press("u")
        screen = scene.app.screen
        assert isinstance(screen, MainScreen) and screen.board.pane.id == "queues"
