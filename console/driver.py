"""The terminal driver: writes to standard output, and tells how long the terminal took."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver


class ConsoleDriver(LinuxDriver):
    """As the toolkit's, which writes to standard error: ``pilothouse 2>log`` would send the screen to the file."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        assert sys.__stdout__ is not None  # the command checks for a terminal first
        self._file = self._terminal = sys.__stdout__

    @property
    def terminal_gone(self) -> bool:
        """The terminal was closed without a hang-up reaching us."""
        try:
            return not os.isatty(self._terminal.fileno()) or os.tcgetpgrp(self._terminal.fileno()) < 0
        except OSError:
            return True

    def write(self, data: str) -> None:
        start = time.monotonic()
        super().write(data)
        wrote = getattr(self._app, "wrote", None)
        if wrote is not None:
            wrote(time.monotonic() - start)
