"""What was typed before, and where one is while going through it."""

from __future__ import annotations

from collections.abc import Sequence


class Past:
    """Walks from the newest entry to the oldest and back; below the newest is what was being typed."""

    def __init__(self, entries: Sequence[str] = ()) -> None:
        self._entries = tuple(entries)
        self._at: int | None = None
        self._typed = ""

    @property
    def walking(self) -> bool:
        """An entry is shown, not what was typed."""
        return self._at is not None

    def leave(self) -> None:
        """Something is typed: the entry is a text like any other now."""
        self._at = None

    def older(self, text: str) -> str | None:
        """The entry before; None at the oldest. `text` is what stands there now."""
        if self._at is None:
            self._typed = text
        at = len(self._entries) if self._at is None else self._at
        if at == 0:
            return None
        self._at = at - 1
        return self._entries[self._at]

    def newer(self) -> str | None:
        """The entry after, in the end what was being typed; None where no entry is shown."""
        if self._at is None:
            return None
        self._at += 1
        if self._at == len(self._entries):
            self._at = None
            return self._typed
        return self._entries[self._at]
