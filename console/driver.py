"""The terminal driver: writes to standard output, and tells how long the terminal took."""

from __future__ import annotations

import os
import sys
import time
from typing import IO, Any, cast

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver


class Terminal:
    """Standard output as the toolkit's writing thread sees it: once the terminal is gone, output goes nowhere.

    A write to a terminal that was closed raises. That would end the thread, its queue would fill up, and the console
    would wait for ever to put its last words into it.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self.gone = False

    def write(self, text: str) -> int:
        if not self.gone:
            try:
                return self._file.write(text)
            except (OSError, ValueError):
                self.gone = True
        return len(text)

    def flush(self) -> None:
        if not self.gone:
            try:
                self._file.flush()
            except (OSError, ValueError):
                self.gone = True

    def fileno(self) -> int:
        return self._file.fileno()

    def isatty(self) -> bool:
        return self._file.isatty()


class ConsoleDriver(LinuxDriver):
    """As the toolkit's, which writes to standard error: ``pilothouse 2>log`` would send the screen to the file."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        assert sys.__stdout__ is not None  # the command checks for a terminal first
        self._terminal = Terminal(sys.__stdout__)
        self._file = cast("Any", self._terminal)

    @property
    def terminal_gone(self) -> bool:
        """The terminal was closed without a hang-up reaching us."""
        if self._terminal.gone:
            return True
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
