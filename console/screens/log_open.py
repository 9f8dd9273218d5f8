"""A log in the pager or the editor of the person's own."""

from __future__ import annotations

import os
import stat
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console.outside import CannotRun, editor, pager, private_copy, run_outside
from widgets.log_pane import LogPane

if TYPE_CHECKING:
    from textual.app import App

MOST_EDITED = 100_000_000  # bytes of a file that is handed to an editor: most read all of it into memory


class LogOpen:
    """For the log screen."""

    if TYPE_CHECKING:
        app: App[Any]

        @property
        def pane(self) -> LogPane: ...
        @property
        def path(self) -> str: ...
        @property
        def log_name(self) -> str: ...
        def _outside(self, work: Coroutine[Any, Any, None]) -> None: ...

    def _text(self) -> bytes:
        """What was read, as a person may see it."""
        text = self.pane.view.text
        return b"".join(text.line(n).encode("utf-8", "backslashreplace") + b"\n" for n in range(len(text)))

    def do_log_pager(self) -> None:
        """Hand what was read to the person's pager; the console comes back when it ends."""
        self._outside(self._page())

    async def _page(self) -> None:
        try:
            argv = pager()
            code = await run_outside(self.app, argv, self._text())
        except CannotRun as error:
            self.pane.say(str(error))
        else:
            self.pane.say(_ended(argv[0], code))

    def do_log_editor(self) -> None:
        """Open the log's own file in the person's editor where it lies on this host, else a copy of what was read."""
        self._outside(self._edit())

    async def _edit(self) -> None:
        try:
            argv = editor()
            if why := _why_not(self.path):
                async with private_copy(self.log_name, self._text()) as file:
                    code = await run_outside(self.app, [*argv, str(file)])
                self.pane.say(_ended(argv[0], code, f"that was a copy of what was read, {why}"))
            else:
                code = await run_outside(self.app, [*argv, self.path])
                self.pane.say(_ended(argv[0], code))
        except CannotRun as error:
            self.pane.say(str(error))


def _why_not(path: str) -> str:
    """Why the file itself cannot be opened here; empty where it can."""
    if not path:
        return "as its file is not on this host"
    try:
        facts = Path(path).stat()
    except OSError as error:
        return f"as its file cannot be opened: {error.strerror}"
    if not stat.S_ISREG(facts.st_mode) or not os.access(path, os.R_OK):
        return "as its file cannot be read"
    if facts.st_size > MOST_EDITED:
        return f"as its file has {facts.st_size:,} bytes"
    return ""


def _ended(name: str, code: int, otherwise: str = "") -> str:
    """What to say of a program that has ended."""
    if code < 0:
        return f"{name} was ended by signal {-code}"
    return f"{name} ended with {code}" if code else otherwise
