"""Bytes of a log to lines: split over chunks, progress bars folded, controls made visible, bounded. No widget here."""

from __future__ import annotations

import re
from collections import deque

from adapters.text import clean

KEEP = 50_000  # lines kept; the oldest go first
LONGEST = 20_000  # characters shown of one line

# Colour and cursor sequences (ECMA-48 CSI) and titles or clipboard writes (OSC): dropped, as they carry no text.
_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


def line_text(raw: bytes) -> str:
    """One line as a person may see it: what a progress bar last drew, without terminal sequences, all else visible."""
    text = raw.decode("utf-8", "surrogateescape").rstrip("\r")
    if "\r" in text:
        text = next((part for part in reversed(text.split("\r")) if part), "")
    return clean(_SEQUENCE.sub("", text).expandtabs(8), LONGEST)


class LogText:
    """The lines of a log so far. `dropped` counts those that no longer are kept."""

    def __init__(self) -> None:
        self.lines: deque[str] = deque()
        self.dropped = 0
        self._rest = b""

    def __len__(self) -> int:
        return len(self.lines) + bool(self._rest)

    def line(self, index: int) -> str:
        return self.lines[index] if index < len(self.lines) else line_text(self._rest)

    def clear(self) -> None:
        """Begin anew: the file was replaced."""
        self.lines.clear()
        self.dropped, self._rest = 0, b""

    def feed(self, data: bytes) -> None:
        """Take the next bytes. An unfinished line is shown as it is and goes on with the next bytes."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        self.lines.extend(line_text(raw) for raw in whole)
        if len(self._rest) > 4 * LONGEST:
            self.lines.append(line_text(self._rest))
            self._rest = b""
        while len(self.lines) > KEEP:
            self.lines.popleft()
            self.dropped += 1
