"""API keys and reservations from the console: listed when asked for, changed through the gate."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from adapters.base import Unreachable
from adapters.model import Reservation
from console.screens.confirm import ConfirmScreen
from console.screens.keys import KeysScreen, NewKeyScreen
from console.screens.main import MainScreen
from console.screens.reservations import ReservationsScreen
from tests.doubles.backend_with_lists import SECRET, ListsBackend
from tests.ui.scene import NOW, Scene, open_scene, rows
from tests.ui.test_flows import ask


def lists_backend() -> ListsBackend:
    later = NOW + timedelta(hours=2)
    return ListsBackend([
        *rows(), Reservation("upgrade", "active", ("node-1", "node-2"), 32, NOW, later, ("ada",)),
        Reservation("course", "inactive", ("node-6",), extensions={"window": "12/1/8/0-12/1/10/0"}),
    ])  # fmt: skip


async def _typed(scene: Scene, text: str) -> None:
    """Answer a question that asks for a text."""
    screen = scene.app.screen
    assert isinstance(screen, ConfirmScreen)
    await scene.press(*text, "enter")
    await scene.until(lambda: screen.panel.ready)
    await scene.press("enter")
    await scene.until(lambda: not isinstance(scene.app.screen, ConfirmScreen))


async def test_a_reservation_is_found_and_ended(tmp_path: Path) -> None:
    async with open_scene(tmp_path, backend=lists_backend()) as scene:
        await scene.press("d")
        await scene.until(lambda: "upgrade" in scene.text)
        assert "12/1/8/0-12/1/10/0" in scene.text and "node-1 node-2" in scene.text
        await scene.press("j")
        screen = await ask(scene, "X")
        expected = screen._prepared.confirm.expected
        if screen._prepared.confirm.how == "type":
            await _typed(scene, expected)
        else:
            await scene.press("y")
        listed = scene.app.screen_stack[2]
        assert isinstance(listed, ReservationsScreen)
        await scene.until(lambda: [ref.id for ref in listed.table.order] == ["course"])


async def test_a_reservation_is_ended_by_a_line_too(tmp_path: Path) -> None:
    async with open_scene(tmp_path, backend=lists_backend()) as scene:
        screen = scene.app.screen
        assert isinstance(screen, MainScreen)
        screen.line("unreserve nothing-of-this-name")
        await scene.until(lambda: "There is no reservation" in scene.text)
        screen.line("unreserve course")
        await scene.until(lambda: isinstance(scene.app.screen, ConfirmScreen))
        assert "course" in scene.text


async def test_a_new_key_is_shown_once_and_never_on_record(tmp_path: Path) -> None:
    async with open_scene(tmp_path, backend=lists_backend()) as scene:
        await scene.press("f")
        await scene.until(lambda: "xce_ak_ab" in scene.text and "bob" in scene.text)
        await scene.press("N")
        assert isinstance(scene.app.screen, NewKeyScreen)
        await scene.press("ctrl+s")
        assert "A key belongs to a user." in scene.text
        await scene.press(*"eve", "enter", *"root", "ctrl+s")
        assert "'root' is no role" in scene.text
        await scene.press(*["backspace"] * 4, *"user", "ctrl+s")
        await scene.until(lambda: isinstance(scene.app.screen, ConfirmScreen))
        screen = await ask(scene)
        if screen._prepared.confirm.how == "type":
            await _typed(scene, screen._prepared.confirm.expected)
        else:
            await scene.press("y")
        await scene.until(lambda: isinstance(scene.app.screen, KeysScreen))
        await scene.until(lambda: f"The new key, shown this once: {SECRET}" in scene.text)
        await scene.until(lambda: "eve" in scene.text)
        assert SECRET not in scene.engine.audit.paths.log.read_text()


async def test_a_key_is_revoked_by_typing_its_name(tmp_path: Path) -> None:
    backend = lists_backend()
    async with open_scene(tmp_path, backend=backend) as scene:
        await scene.press("f")
        await scene.until(lambda: "bob" in scene.text)
        await scene.press("j")
        screen = await ask(scene, "X")
        assert screen._prepared.confirm.how == "type", "it cannot be undone"
        await _typed(scene, screen._prepared.confirm.expected)
        await scene.until(lambda: set(backend.keys) == {"k1"})
        await scene.until(lambda: isinstance(scene.app.screen, KeysScreen) and "bob" not in scene.text)


async def test_a_list_that_cannot_be_read_says_why_and_can_be_tried_again(tmp_path: Path) -> None:
    backend = lists_backend()
    async with open_scene(tmp_path, backend=backend) as scene:
        backend.error = Unreachable("Nobody listens there.", "Is it running?")
        for key in ("f", "d"):
            await scene.press(key)
            await scene.until(lambda: "Nobody listens there." in scene.text)
            await scene.press("escape")
        backend.error = None
        await scene.press("d")
        await scene.until(lambda: "upgrade" in scene.text)
        backend.error = Unreachable("Nobody listens there.", "Is it running?")
        await scene.press("r")
        await scene.until(lambda: "Nobody listens there." in scene.text)
        assert "upgrade" in scene.text, "what was known stays"
