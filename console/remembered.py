"""What the console remembers from one run to the next: colours, orders, columns, and what was typed.

Two files in the state folder, `console.json` and `history.json`, each of its owner's alone (0600). They hold choices,
never settings: the configuration is not touched. A file that is damaged, or that a newer version wrote, is left as it
is: `problem` says so, and nothing is remembered until it is gone.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeAlias

from adapters.text import clean
from console.audit.redact import redact_text

VERSION = 1
MOST = 200  # entries of one history
LONGEST = 512  # characters of one entry
LARGEST = 1_000_000  # bytes of a file that is read
CHOICES, TYPED = "console.json", "history.json"
History: TypeAlias = Literal["line", "filter"]


class Remembered:
    """The choices of earlier runs, and of this one.

    Args:
        folder: where the files are; None remembers nothing beyond this run.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self.problem = ""
        self._locked: set[str] = set()
        self._known: dict[str, dict[str, Any]] = {}
        self._known = {name: self._read(name) for name in (CHOICES, TYPED)}

    # -- choices ----------------------------------------------------------------------------------------------------

    def theme(self, configured: str | None) -> str | None:
        """The theme that was chosen, unless the configuration has been given another one since."""
        chosen = self._known[CHOICES].get("theme")
        if isinstance(chosen, Mapping) and chosen.get("over") == configured and isinstance(chosen.get("name"), str):
            return str(chosen["name"])
        return None

    def choose_theme(self, name: str, configured: str | None) -> None:
        self._choose("theme", {"name": name, "over": configured})

    def of_view(self, what: Literal["sort", "columns"], pane: str) -> tuple[str, ...] | None:
        """The sort (``cores-``, ``owner``) or the columns of a pane; None where none was chosen."""
        panes = self._known[CHOICES].get(what)
        words = panes.get(pane) if isinstance(panes, Mapping) else None
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            return None
        return tuple(clean(word, 64) for word in words[:50])

    def choose_view(self, what: Literal["sort", "columns"], pane: str, words: Sequence[str]) -> None:
        """Remember for this pane; without words, forget."""
        panes = self._known[CHOICES].get(what)
        kept = {k: v for k, v in panes.items() if k != pane} if isinstance(panes, Mapping) else {}
        self._choose(what, {**kept, pane: list(words)} if words else kept)

    def _choose(self, name: str, value: Any) -> None:
        """Another console may have chosen something else meanwhile: only this one is replaced."""
        self._known[CHOICES] = {**self._read(CHOICES), name: value}
        self._write(CHOICES)

    # -- what was typed ---------------------------------------------------------------------------------------------

    def history(self, of: History) -> list[str]:
        """What was typed there, oldest first."""
        entries = self._known[TYPED].get(of)
        return [clean(e, LONGEST) for e in entries if isinstance(e, str)][-MOST:] if isinstance(entries, list) else []

    def typed(self, of: History, text: str) -> None:
        """Add an entry, what looks like a secret replaced; the same one of before moves to the end."""
        entry = redact_text(clean(text.strip()))
        if not entry or len(entry) > LONGEST:
            return
        self._known[TYPED] = self._read(TYPED) or self._known[TYPED]  # another console may have added to it
        entries = [*(e for e in self.history(of) if e != entry), entry][-MOST:]
        self._known[TYPED] = {**self._known[TYPED], of: entries}
        self._write(TYPED)

    # -- files ------------------------------------------------------------------------------------------------------

    def _read(self, name: str) -> dict[str, Any]:
        """What the file holds; nothing where there is none. A file that cannot be used is told and then left alone."""
        if self._folder is None:
            return self._known.get(name, {})
        path = self._folder / name
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as file:
                if not _ours(os.fstat(file.fileno())):
                    return self._leave(name, f"{path} is not a file of yours alone")
                data = json.loads(file.read(LARGEST))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            return self._leave(name, f"{path} cannot be read ({clean(str(error), 100)})")
        if not isinstance(data, dict) or data.get("version") != VERSION:
            return self._leave(name, f"{path} was not written by this version")
        self._locked.discard(name)
        return data

    def _leave(self, name: str, why: str) -> dict[str, Any]:
        self._locked.add(name)
        self.problem = f"{why}: nothing is remembered until it is moved away."
        return {}

    def _write(self, name: str) -> None:
        """Put the file in place whole. What cannot be written is told, and costs nothing else."""
        if self._folder is None or name in self._locked:
            return
        fresh = self._folder / f".{name}.{os.getpid()}"
        text = json.dumps({**self._known[name], "version": VERSION}, indent=1, ensure_ascii=False) + "\n"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            fresh.unlink(missing_ok=True)
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
            fresh.replace(self._folder / name)
        except OSError as error:
            with suppress(OSError):
                fresh.unlink(missing_ok=True)
            self.problem = f"{self._folder / name} cannot be written: {error.strerror}."


def _ours(info: os.stat_result) -> bool:
    return stat.S_ISREG(info.st_mode) and info.st_uid == os.geteuid() and not info.st_mode & 0o077
