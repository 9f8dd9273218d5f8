"""What a command of the chat asks for that only a screen can show: dialogs and panes of the person's own."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adapters.model import Ref
from adapters.text import clean
from console.grants import WishError, pairs
from console.lines import LineError, find
from widgets.columns import Role

if TYPE_CHECKING:
    from console.app import ConsoleApp
    from console.chat.events import Wants
    from console.screens.talk import Talk


class WantsKeys:
    """For the main screen."""

    _host: ConsoleApp
    talk: Talk | None

    if TYPE_CHECKING:

        def say(self, text: str, role: Role = "plain") -> None: ...
        def go(self, id: str) -> None: ...
        def set_filter(self, text: str) -> None: ...
        def do_scope(self, wanted: Any = None) -> None: ...
        def do_autopilot(self, wanted: Any = None) -> None: ...
        def do_job_new(self) -> None: ...

    def wants(self, wish: Wants) -> None:
        """Show it. The person has typed the command; what follows is a dialog of their own."""
        arguments = wish.arguments
        match wish.what:
            case "scope":
                self.do_scope(arguments)
            case "autopilot":
                self._autopilot(str(arguments.get("words", "")))
            case "submit":
                self.do_job_new()
            case "jobs":
                self.go("jobs")
                self.set_filter(str(arguments.get("filter", "")))
            case "why":
                self._why(str(arguments.get("id", "")))
            case "export":
                self._export(str(arguments.get("name", "")), str(arguments.get("text", "")))

    def _autopilot(self, words: str) -> None:
        """The form, filled with what was said behind the command as far as it can be read."""
        try:
            values = pairs(words)
        except WishError as error:
            self._told(str(error), "warn")
            values = {}
        self.do_autopilot(values)

    def _why(self, id: str) -> None:
        from console.screens.job import JobScreen

        engine = self._host.engine
        try:
            ref: Ref = find(engine.store, list(engine.clusters), "job", id)
        except LineError as error:
            self._told(clean(str(error)), "warn")
        else:
            self._host.push_screen(JobScreen(self._host, ref, why=True))

    def _export(self, name: str, text: str) -> None:
        from console.screens.prompt import PromptScreen

        hint = "Enter writes a new file in this folder, for you alone to read. Esc goes back."
        prompt = PromptScreen("Export the conversation", "File", initial=name or "chat.md", hint=hint)
        self._host.push_screen(prompt, partial(self._write, text))

    def _write(self, text: str, name: str | None) -> None:
        if name is None:
            return
        try:
            file = write_new(name, text)
        except ValueError as error:
            self._told(str(error), "warn")
        else:
            self._told(f"Written to {file}", "info")

    def _told(self, text: str, role: Role) -> None:
        if self.talk is not None:
            self.talk.panel.note(text, role)
        self.say(text, role)


def write_new(name: str, text: str) -> Path:
    """Write a new file in the working folder that only its owner can read. Raises ValueError with the reason."""
    shown = clean(name, 80)
    if name in ("", ".", "..") or "/" in name or "\x00" in name or name.startswith("-"):
        raise ValueError(f"{shown!r} is no name of a file in this folder.")
    try:
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError as error:
        raise ValueError(f"{shown} is there already; nothing was written.") from error
    except OSError as error:
        raise ValueError(f"{shown} cannot be written: {error.strerror}.") from error
    return Path(name).absolute()
