"""Waiting for a screen to be painted, by condition and not by time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from textual.pilot import Pilot


async def settle(pilot: Pilot[Any], deadline: float = 10.0) -> None:
    """Return when every message is handled and nothing waits to be painted."""
    end = time.monotonic() + deadline
    calm = 0
    while calm < 2:
        await pilot.pause()
        screen = pilot.app.screen
        waiting = [w for w in [screen, *screen.walk_children()] if w._repaint_required or w._layout_required]
        calm = calm + 1 if not waiting and not screen._dirty_widgets and screen.size.area else 0
        if time.monotonic() > end:
            raise TimeoutError(f"still to be painted: {waiting or screen._dirty_widgets}")


async def until(pilot: Pilot[Any], condition: Callable[[], Any], deadline: float = 10.0) -> None:
    """Return when `condition()` holds."""
    end = time.monotonic() + deadline
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("the condition did not come true")
        await pilot.pause()
        await asyncio.sleep(0.01)
