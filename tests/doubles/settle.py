"""Waiting for a screen to be painted, by condition and not by time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from textual import events
from textual.app import App
from textual.keys import _character_to_key
from textual.pilot import Pilot

from console.terminal_app import TerminalApp

CHARACTERS = {
    "slash": "/", "question_mark": "?", "asterisk": "*", "colon": ":", "space": " ", "enter": "\r", "tab": "\t",
    "escape": "\x1b", "backspace": "\x7f",
}  # fmt: skip


async def settle(pilot: Pilot[Any], deadline: float = 10.0) -> None:
    """Return when every message is handled and nothing waits to be painted."""
    end = time.monotonic() + deadline
    calm = 0
    while calm < 2:
        await pilot.pause()
        screen = pilot.app.screen
        waiting = [w for w in [screen, *screen.walk_children()] if w._repaint_required or w._layout_required]
        calm = calm + 1 if not waiting and not screen._dirty_widgets and screen.size.area else 0
        calm = 0 if _busy(pilot.app) else calm
        if time.monotonic() > end:
            raise TimeoutError(f"still to be painted: {waiting or screen._dirty_widgets}")


def _busy(app: App[Any]) -> bool:
    """The console still deals with a key."""
    return isinstance(app, TerminalApp) and app.typing


async def until(pilot: Pilot[Any], condition: Callable[[], Any], deadline: float = 10.0) -> None:
    """Return when `condition()` holds."""
    end = time.monotonic() + deadline
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("the condition did not come true")
        await pilot.pause()
        await asyncio.sleep(0.01)


async def tap(pilot: Pilot[Any], *keys: str) -> None:
    """Press keys one after the other, without waiting for the screen to be painted: for tests of very many keys."""
    app = pilot.app
    for key in keys:
        driver = app._driver
        assert driver is not None
        name = _character_to_key(key) if len(key) == 1 and not key.isalnum() else key
        event = events.Key(name, CHARACTERS.get(name, key if len(key) == 1 else None))
        event.set_sender(app)
        driver.send_message(event)
        for _ in range(30):  # from the application to the screen, to the widget, and back up
            await asyncio.sleep(0)
            pumps = [app, *app.screen_stack, *([app.focused] if app.focused else [])]
            if all(pump._message_queue.empty() for pump in pumps):
                break
        end = time.monotonic() + 10.0
        while _busy(app):  # the next key would be held back
            assert time.monotonic() < end, f"{key} is still being dealt with"
            await asyncio.sleep(0)
        await asyncio.sleep(0)
