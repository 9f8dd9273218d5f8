"""What is chosen and typed in the console is there again in the next run."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from console.app import ConsoleApp
from console.remembered import Remembered
from console.screens.choose import ChooseScreen
from console.screens.confirm import ConfirmScreen
from console.screens.main import MainScreen
from tests.doubles.memory_backend import MemoryBackend
from tests.ui.scene import Scene, jobs, open_scene
from tests.ui.test_flows import ask
from widgets.filter_bar import FilterBar


@asynccontextmanager
async def _run(folder: Path, **more: object) -> AsyncIterator[Scene]:
    """A run of the console that remembers in `folder`."""
    async with open_scene(folder, remembered=Remembered(folder / "state"), **more) as scene:  # type: ignore[arg-type]
        yield scene


def _main(scene: Scene) -> MainScreen:
    assert isinstance(scene.app.screen, MainScreen)
    return scene.app.screen


async def test_the_theme_holds_until_the_configuration_is_changed(tmp_path: Path) -> None:
    async with _run(tmp_path) as scene:
        _main(scene).line("theme pilothouse-harbour")
    async with _run(tmp_path) as scene:
        assert scene.app.theme == "pilothouse-harbour"
    async with _run(tmp_path, theme="pilothouse-paper") as scene:
        assert scene.app.theme == "pilothouse-paper", "the configuration was given another one since"


async def test_the_theme_of_the_site_holds(tmp_path: Path) -> None:
    config = {"theme": "pilothouse-dusk"}
    Remembered(tmp_path / "state").choose_theme("pilothouse-paper", config["theme"])
    from tests.ui.scene import make_app

    app = make_app(tmp_path, MemoryBackend(), remembered=Remembered(tmp_path / "state"))
    fixed = app.engine.config.model_copy(update={"theme_fixed": True})
    app.engine.config = fixed
    again = ConsoleApp(app.engine, remembered=Remembered(tmp_path / "state"))
    assert again.theme == "pilothouse-dusk"
    again.choose_theme("pilothouse-harbour")
    assert again.theme == "pilothouse-harbour"
    assert Remembered(tmp_path / "state").theme("pilothouse-dusk") == "pilothouse-paper", "for this run only"


async def test_sort_and_columns_of_each_pane(tmp_path: Path) -> None:
    async with _run(tmp_path) as scene:
        screen = _main(scene)
        screen.line("sort cores- owner")
        screen.line("columns name owner cores")
        screen.line("columns name shoesize")
        await scene.settle()
        assert "There is no column shoesize of jobs; there are letter, status" in scene.text
        await scene.press("escape", "3", "s")
    async with _run(tmp_path) as scene:
        header = next(line for line in scene.text.splitlines() if "OWNER" in line)
        assert "QUEUE" not in header and header.index("NAME") < header.index("OWNER") < header.index("COREv")
        rows = [scene.backend.job(ref.id) for ref in _main(scene).board.view.refs]
        assert [(-row.cores, row.owner) for row in rows] == sorted((-row.cores, row.owner) for row in rows)  # type: ignore[operator]
        assert "NAMEv" in scene.text, "the nodes from the last name on"
        _main(scene).line("columns")
        _main(scene).line("sort")
        await scene.settle()
        assert "QUEUE" in next(line for line in scene.text.splitlines() if "CORES" in line)
    kept = json.loads((tmp_path / "state" / "console.json").read_text())
    assert kept["columns"] == {} and kept["sort"] == {"nodes": ["name-"]}


async def test_up_and_down_go_through_the_lines_of_before(tmp_path: Path) -> None:
    async with _run(tmp_path) as scene:
        for line in ("job 4117", "filter owner:grace", "warp 9"):
            _main(scene).line(line)
    async with _run(tmp_path) as scene:
        await scene.press("colon", "up")
        screen = scene.app.screen
        assert isinstance(screen, ChooseScreen) and screen.chooser.field.value == "warp 9"
        await scene.press("up", "up", "up", "up")
        assert screen.chooser.field.value == "job 4117"
        await scene.press("down", "enter")
        assert _main(scene).board.filter == "owner:grace"
        await scene.press("colon", "down", "down", "up")
        assert isinstance(scene.app.screen, ChooseScreen) and scene.app.screen.chooser.field.value == ""
        assert scene.app.screen.chooser.list.highlighted == 1, "below the top the arrows go through the list"
        await scene.press(*"411")
        assert any(
            choice.label == "job 4117" and choice.help == "typed before" for choice in scene.app.screen.chooser.choices
        )


async def test_up_and_down_go_through_the_filters_of_before(tmp_path: Path) -> None:
    async with _run(tmp_path) as scene:
        await scene.press("slash", *"ada", "enter", "slash", *["backspace"] * 3, *"gpu", "enter", "escape")
    async with _run(tmp_path) as scene:
        await scene.press("slash", "up", "up")
        bar = scene.app.screen.query_one(FilterBar)
        assert bar.value == "ada" and "filter ada" in scene.text
        await scene.press("down", "down")
        assert bar.value == ""
        await scene.press("up", "enter")
        assert _main(scene).board.filter == "gpu"


async def test_what_is_typed_to_confirm_is_in_no_history(tmp_path: Path) -> None:
    theirs = next(job for job in jobs() if job.owner == "grace" and job.status == "running")
    async with _run(tmp_path, data=[theirs]) as scene:
        await ask(scene, "K")
        await scene.press(*theirs.id, "escape")
        await scene.until(lambda: not isinstance(scene.app.screen, ConfirmScreen))
    assert not (tmp_path / "state" / "history.json").exists()
