"""The last hour of a figure, in steps of two minutes: for the small lines at the top of the screen."""

from __future__ import annotations

from collections import deque
from datetime import datetime

STEP = 120  # seconds of one step
STEPS = 30
BLOCKS = "▁▂▃▄▅▆▇█"


class Samples:
    """Keeps the newest value of each step; steps in which nothing was seen stay empty."""

    def __init__(self) -> None:
        self._steps: deque[tuple[int, int]] = deque(maxlen=STEPS)

    def add(self, at: datetime, value: int) -> None:
        step = int(at.timestamp()) // STEP
        if self._steps and self._steps[-1][0] == step:
            self._steps.pop()
        self._steps.append((step, value))

    def line(self, now: datetime) -> str:
        """One character a step, oldest first, scaled to the largest; a space where nothing was seen."""
        known = dict(self._steps)
        last = int(now.timestamp()) // STEP
        largest = max(known.values(), default=0)
        values = [known.get(step) for step in range(last - STEPS + 1, last + 1)]
        return "".join(" " if v is None else BLOCKS[round(v * 7 / largest) if largest else 0] for v in values)
