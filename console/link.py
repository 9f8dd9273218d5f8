"""How fast the terminal takes what is written to it, and how much less to write when it is slow."""

from __future__ import annotations

SLOW_WRITE = 0.05  # seconds in one write after which the terminal counts as slow
LONGEST = 5.0  # seconds between two paintings at most


class Link:
    """Measures writes to the terminal. A slow one doubles the time between paintings, quick ones bring it back."""

    def __init__(self) -> None:
        self._factor = 1
        self._quick = 0
        self._next = 0.0

    @property
    def slow(self) -> bool:
        return self._factor > 1

    def wrote(self, seconds: float) -> None:
        """One write took so long."""
        if seconds > SLOW_WRITE:
            self._factor, self._quick = min(self._factor * 2, 32), 0
        elif self.slow:
            self._quick += 1
            if self._quick >= 20:
                self._factor, self._quick = self._factor // 2, 0

    def due(self, now: float, gap: float) -> bool:
        """Whether it is time to paint again, where paintings are at least `gap` seconds apart on a quick link."""
        if now < self._next:
            return False
        self._next = now + min(LONGEST, gap * self._factor)
        return True
