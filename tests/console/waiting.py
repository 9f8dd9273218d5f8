"""Waiting for a condition with a deadline; never for a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable


async def until(condition: Callable[[], object], deadline: float = 10.0) -> None:
    """Return when `condition()` holds; AssertionError at the deadline."""
    end = time.monotonic() + deadline
    while not condition():
        assert time.monotonic() < end, "the condition did not come true"
        await asyncio.sleep(0.005)
