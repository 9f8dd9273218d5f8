"""The screen to a file: SVG and text, for its owner alone, never over another one."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from console.screens.main import MainScreen
from tests.ui.scene import jobs, open_scene


def pictures(folder: Path) -> list[Path]:
    return sorted(folder.glob("pilothouse-*.svg"), key=lambda path: len(path.name))


async def test_a_key_writes_an_svg_with_the_time_in_its_name(tmp_path: Path) -> None:
    async with open_scene(tmp_path, [jobs()[0]._replace(name="</svg>&[/x]")]) as scene:
        await scene.press("ctrl+e")
        await scene.until(lambda: "The screen was written to" in scene.text)
        await scene.press("ctrl+e")
        await scene.until(lambda: len(pictures(tmp_path)) == 2)
        files = pictures(tmp_path)
        assert files[0].name.startswith("pilothouse-20261130-")
        assert files[0].stat().st_mode & 0o777 == 0o600
        svg = ElementTree.fromstring(files[0].read_text())
        told = "".join(svg.itertext()).replace("\xa0", " ")
        assert "</svg>&[/x]" in told and "1 Jobs 1" in told


async def test_a_line_writes_text_and_never_over_a_file(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        screen = scene.app.screen
        assert isinstance(screen, MainScreen)
        before = scene.text
        screen.line("screen now.txt")
        await scene.until(lambda: (tmp_path / "now.txt").exists())
        assert (tmp_path / "now.txt").read_text() == "".join(f"{line.rstrip()}\n" for line in before.splitlines())
        screen.line("screen now.txt")
        await scene.until(lambda: "is there already" in scene.text)
        screen.line("screen now.png")
        await scene.until(lambda: "does not end in .svg or .txt" in scene.text)


async def test_the_line_that_asks_is_not_in_the_picture(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        await scene.press("colon", *"screen", "space", *"a", "full_stop", *"txt", "enter")
        await scene.until(lambda: (tmp_path / "a.txt").exists())
        text = (tmp_path / "a.txt").read_text()
        assert "1 Jobs 40" in text and "Commands" not in text


async def test_a_dialog_is_saved_as_it_stands(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        await scene.press("question_mark", "ctrl+e")
        await scene.until(lambda: pictures(tmp_path))
        (file,) = pictures(tmp_path)
        assert " Keys " in file.read_text().replace("&#160;", " ")
