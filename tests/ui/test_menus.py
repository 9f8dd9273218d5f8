"""The menu of actions, the palette, the command line, copies and exports."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from console.screens.choose import ChooseScreen
from console.screens.confirm import ConfirmScreen
from console.screens.help import HelpScreen
from console.screens.main import MainScreen
from console.screens.node import NodeScreen
from tests.doubles.counting_driver import CountingDriver
from tests.ui.scene import Scene, open_scene
from tests.ui.test_flows import ask


async def _line(scene: Scene, text: str) -> None:
    await scene.press("colon")
    assert isinstance(scene.app.screen, ChooseScreen)
    for character in text:
        await scene.pilot.press({" ": "space", "-": "minus", ".": "full_stop", "/": "slash"}.get(character, character))
    await scene.press("enter")


async def test_the_menu_lists_what_can_be_done_and_runs_it_by_key_or_by_enter(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        await scene.press("x")
        assert "Actions on 4100" in scene.text and "Cancel the job." in scene.text
        await scene.press("K")
        await scene.until(lambda: isinstance(scene.app.screen, ConfirmScreen))
        await scene.press("escape")
        await scene.until(lambda: isinstance(scene.app.screen, MainScreen))
        await scene.press("3", "x", "enter")
        assert isinstance(scene.app.screen, NodeScreen)


async def test_the_palette_finds_a_command_by_its_words(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        await scene.press("ctrl+p", *"dusk")
        assert "theme pilothouse-dusk" in scene.text
        await scene.press("escape")
        await _line(scene, "theme pilothouse-ansi")
        assert scene.app.theme == "pilothouse-ansi"


async def test_a_line_that_writes_takes_the_way_of_a_key(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        await _line(scene, "quota node-2 3")
        await ask(scene)
        await scene.press("y")
        await scene.until(lambda: scene.backend.node("node-2").slots_quota == 3)
        origins = [record["origin"] for record in scene.engine.audit.records() if record.get("origin")]
        assert set(origins) == {"palette"}


async def test_lines_go_to_rows_filter_and_sort(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        screen = scene.app.screen
        assert isinstance(screen, MainScreen)
        await _line(scene, "job 4117")
        assert screen.target is not None and screen.target.id == "4117"
        await _line(scene, "filter owner:grace")
        assert "1 Jobs 8/40" in scene.text
        await _line(scene, "sort name-")
        names = [scene.backend.job(ref.id).name for ref in screen.board.view.refs]
        assert names[0].startswith("train") and names[-1].startswith("align")
        await _line(scene, "job nonsense")
        assert "There is no job nonsense here." in scene.text
        await _line(scene, "warp 9")
        assert "is no command of the console" in scene.text


async def test_rows_shown_go_to_a_file_once(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        screen = scene.app.screen
        assert isinstance(screen, MainScreen)
        screen.set_filter("owner:grace")
        file = tmp_path / "rows.json"
        screen.line(f"export {file}")
        assert len(json.loads(file.read_text())) == 8
        screen.line(f"export {file}")
        await scene.settle()
        assert "is there already" in scene.text


async def test_ids_are_copied_by_the_terminal(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        await scene.press("space", "space")
        CountingDriver.reset()
        await scene.press("y")
        assert f"\x1b]52;c;{base64.b64encode(b'4100' + bytes([10]) + b'4101').decode()}\a" in CountingDriver.text()


async def test_keys_of_the_configuration_work_and_are_shown(tmp_path: Path) -> None:
    from tests.doubles.memory_backend import MemoryBackend
    from tests.ui.scene import rows

    async with open_scene(tmp_path, backend=MemoryBackend(rows=rows()), keys={"help": "f1", "refresh": ""}) as scene:
        assert "F1 help" in scene.text and "refresh" not in scene.text
        await scene.press("question_mark")
        assert isinstance(scene.app.screen, MainScreen)
        await scene.press("f1")
        assert isinstance(scene.app.screen, HelpScreen)
        await scene.press(*["j"] * 30)
        assert "F1" in scene.text and "Show the keys that work here." in scene.text
