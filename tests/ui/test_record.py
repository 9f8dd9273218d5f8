"""The audit log in the console: read, filtered, opened, exported and verified, never written."""

from __future__ import annotations

import json
from pathlib import Path

from console.screens.main import MainScreen
from console.screens.record import RecordScreen
from console.screens.text import TextScreen
from tests.ui.scene import Scene, open_scene
from tests.ui.test_flows import ask


def written(folder: Path) -> list[Path]:
    return sorted(folder.glob("audit-*.jsonl"))


async def _open(scene: Scene, lines: int) -> RecordScreen:
    await scene.press("v")
    screen = scene.app.screen
    assert isinstance(screen, RecordScreen)
    await scene.until(lambda: len(screen.table.order) == lines)
    await scene.settle()
    return screen


async def test_a_write_is_found_there_whole(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        await scene.press("3", "D", *"disk")
        await ask(scene, "enter")
        await scene.press("y")
        await scene.until(lambda: len(scene.engine.audit.tail(9)) == 2)
        await scene.until(lambda: isinstance(scene.app.screen, MainScreen))
        before = scene.engine.audit.paths.log.read_bytes()
        await _open(scene, 2)
        lines = [line for line in scene.text.splitlines() if "drain" in line]
        assert "result" in lines[0] and "accepted" in lines[0] and "intent" in lines[1] and "node-1" in lines[1]
        await scene.press("j", "enter")
        assert isinstance(scene.app.screen, TextScreen)
        assert '"decision": "confirmed by dialog"' in scene.text and '"reason": "disk"' in scene.text
        await scene.press("escape")
        assert isinstance(scene.app.screen, RecordScreen)
        await scene.press("escape")
        assert isinstance(scene.app.screen, MainScreen)
        assert scene.engine.audit.paths.log.read_bytes() == before


async def test_filter_export_and_verify(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        for n in range(30):
            scene.engine.audit.append(
                "refused", action="cancel" if n % 3 else "drain", rule="scope", message=f"[/no {n}]"
            )
        screen = await _open(scene, 30)
        await scene.press("slash", *"action:drain")
        await scene.until(lambda: "10 of 30 lines: filter action:drain" in scene.text)
        await scene.press("enter", "e")
        await scene.until(lambda: "10 lines written to" in scene.text)
        (file,) = written(tmp_path)
        records = [json.loads(line) for line in file.read_text().splitlines()]
        assert {record["action"] for record in records} == {"drain"}
        assert [record["seq"] for record in records] == sorted(record["seq"] for record in records)
        assert file.stat().st_mode & 0o777 == 0o600
        await scene.press("escape")
        assert len(screen.table.order) == 30 and isinstance(scene.app.screen, RecordScreen)
        await scene.press("v")
        await scene.until(lambda: "The log holds: 30 lines" in scene.text)
        log = scene.engine.audit.paths.log
        log.write_text(log.read_text().replace("[/no 7]", "[/no 8]"))
        await scene.press("v")
        await scene.until(lambda: "THE LOG IS BROKEN: line 8: was altered" in scene.text)


async def test_nothing_on_record_and_a_log_that_cannot_be_read(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        await _open(scene, 0)
        assert "Nothing is on record yet." in scene.text
        await scene.press("enter", "e")
        scene.engine.audit.append("refused", action="cancel")
        await scene.press("r")
        await scene.until(lambda: "cancel" in scene.text)
        scene.engine.audit.paths.log.chmod(0o644)
        await scene.press("r")
        await scene.until(lambda: "(mode 0644)" in scene.text)
