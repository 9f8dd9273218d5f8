"""A program on a pseudo-terminal that takes only so many bytes a second, as one at the end of a slow line does."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from tests.harness.pty_console import PtyConsole

STEP = 0.01  # seconds between two reads


class SlowConsole(PtyConsole):
    """As a PtyConsole, but that it is read at `rate` bytes a second.

    It is a line without a memory: what is not read while a test does something else is not caught up on.
    """

    def __init__(self, argv: Sequence[str], *, rate: int, **options: Any) -> None:
        super().__init__(argv, **options)
        self._rate = rate
        self._last = time.monotonic()
        self._may = 0.0

    def pump(self, seconds: float = 0.0) -> int:
        before = self.bytes_out
        end = time.monotonic() + seconds
        while self._master >= 0:
            time.sleep(STEP)
            now = time.monotonic()
            self._may = min(self._may + (now - self._last) * self._rate, 5 * STEP * self._rate)
            self._last = now
            if self._may >= 1:
                start = self.bytes_out
                if not self._read(int(self._may)):
                    break
                self._may -= self.bytes_out - start
            if now >= end:
                break
        return self.bytes_out - before
