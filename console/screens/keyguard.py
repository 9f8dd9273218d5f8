"""When a yes may count: not right after the dialog opened, not as part of a burst of keys, never from a paste."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual import events

QUIET = 0.3  # seconds without a key after which a dialog listens
BURST = 0.05  # keys closer together than this come from a paste or a stuck key, not from a person


def age_of(key: events.Key) -> float:
    """Seconds since the key was read from the terminal."""
    return max(0.0, time.monotonic() - key.time)


class KeyGuard:
    """Watches the keys that reach a dialog. `clock` is monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last = clock()
        self._gap = 0.0
        self.armed = False

    def look(self) -> bool:
        """Whether the dialog listens by now."""
        if not self.armed and self._clock() - self._last >= QUIET:
            self.armed = True
        return self.armed

    def shown(self) -> None:
        """The dialog is on the screen only now: what was typed before cannot have meant it."""
        self._last = self._clock()

    def admit(self, age: float = 0.0) -> bool:
        """A key has come that was read `age` seconds ago: whether it may count. One that comes too early starts the
        wait anew; however long the screen was busy, one that was typed before the dialog opened is too early."""
        now = max(self._last, self._clock() - age)
        self._gap, self._last = now - self._last, now
        self.armed = self.armed or self._gap >= QUIET
        return self.armed

    @property
    def calm(self) -> bool:
        """The last key did not come in a burst, so it may mean yes."""
        return self.armed and self._gap >= BURST
