"""What comes in while a dialog is open costs the terminal nothing, and is on screen once the dialog is gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.screens.main import MainScreen
from tests.doubles.counting_driver import CountingDriver
from tests.ui.scene import open_scene


@pytest.mark.parametrize("keys", [("question_mark",), ("o",), ("x",), ("v",), ("colon",), ("N",), ("3", "D")])
async def test_nothing_is_painted_for_a_change_below(tmp_path: Path, keys: tuple[str, ...]) -> None:
    async with open_scene(tmp_path) as scene:
        main = scene.app.main
        await scene.press(*keys)
        assert not isinstance(scene.app.screen, MainScreen)
        await scene.pilot.pause()
        await scene.settle()
        CountingDriver.reset()
        looks = 0
        tick = main.tick

        def counted() -> None:
            nonlocal looks
            looks += 1
            tick()

        main.tick = counted  # type: ignore[method-assign]
        for name in ("node-1", "node-2", "node-6"):
            now = looks
            scene.backend.put(scene.backend.node(name)._replace(status="down", reason="flooded"))
            await scene.until(lambda now=now: looks > now)  # type: ignore[misc]
            await scene.settle()
        assert CountingDriver.count() == 0
        for _ in range(3):
            await scene.press("escape")
        await scene.until(lambda: isinstance(scene.app.screen, MainScreen))
        await scene.until(lambda: CountingDriver.text().count("flooded") >= 3)
        assert scene.text.count("flooded") == 3
