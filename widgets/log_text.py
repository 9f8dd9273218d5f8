"""Bytes of a log to lines: split over chunks, progress bars folded, controls made visible, bounded. No widget here."""

from __future__ import annotations

import re
from collections import deque
from typing import Literal, NamedTuple, TypeAlias

from adapters.text import clean
from widgets.log_colours import Span, coloured

KEEP = 50_000  # lines kept; the oldest go first
LONGEST = 20_000  # characters shown of one line

Origin: TypeAlias = Literal["stdout", "stderr", "note"]
"""Where a line comes from; a note is our own word between the lines."""

# What carries no text is dropped: cursor sequences and the like (ECMA-48 CSI), titles or clipboard writes (OSC).
_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Line(NamedTuple):
    """One line as a person may see it, and the colours the program gave its parts."""

    text: str
    origin: Origin = "stdout"
    spans: tuple[Span, ...] = ()


def _last_drawn(raw: bytes) -> bytes:
    """Of a line that was drawn over and over (a progress bar) what was drawn last; a trailing return is no redraw."""
    body = raw.rstrip(b"\r")
    return body[body.rfind(b"\r") + 1 :] if b"\r" in body else body


def line_of(raw: bytes, origin: Origin = "stdout") -> Line:
    """One line: what a progress bar last drew, colours apart, no other terminal sequence, all else visible."""
    text = _last_drawn(raw).decode("utf-8", "surrogateescape")
    if "\x1b" not in text:
        return Line(clean(text.expandtabs(8), LONGEST), origin)
    kept = _SEQUENCE.sub(lambda found: found[0] if _COLOUR.fullmatch(found[0]) else "", text)
    parts, column = [], 0
    for style, piece in coloured(kept.expandtabs(8)):
        shown = clean(piece, max(1, LONGEST - column))
        parts.append((style, shown, column))
        column += len(shown)
        if column >= LONGEST:
            break
    spans = tuple(Span(start, start + len(shown), style) for style, shown, start in parts if style)
    return Line("".join(shown for _, shown, _ in parts), origin, spans)


def line_text(raw: bytes) -> str:
    """The text of one line as a person may see it."""
    return line_of(raw).text


class LogText:
    """The lines of a log so far, of one stream or of several as they came. `dropped` counts those no longer kept."""

    def __init__(self) -> None:
        self.lines: deque[Line] = deque()
        self.dropped = 0
        self._rests: dict[Origin, bytes] = {}

    def __len__(self) -> int:
        return len(self.lines) + len(self._rests)

    def entry(self, index: int) -> Line:
        """A line with where it comes from. Lines that are not finished yet come last."""
        if index < len(self.lines):
            return self.lines[index]
        origin, rest = list(self._rests.items())[index - len(self.lines)]
        return line_of(rest, origin)

    def line(self, index: int) -> str:
        return self.entry(index).text

    def clear(self) -> None:
        """Begin anew: the file was replaced."""
        self.lines.clear()
        self.dropped = 0
        self._rests.clear()

    def feed(self, data: bytes, origin: Origin = "stdout") -> None:
        """Take the next bytes of a stream. An unfinished line is shown as it is and goes on with the next bytes."""
        *whole, rest = (self._rests.pop(origin, b"") + data).split(b"\n")
        self.lines.extend(line_of(raw, origin) for raw in whole)
        if len(rest) > 4 * LONGEST:
            rest = _last_drawn(rest)  # a bar that is drawn for hours is one line
        if len(rest) > 4 * LONGEST:
            self.lines.append(line_of(rest, origin))
            rest = b""
        if rest:
            self._rests[origin] = rest
        self._bound()

    def say(self, text: str) -> None:
        """Put a word of our own between the lines."""
        self.lines.append(Line(clean(text, LONGEST), "note"))
        self._bound()

    def forget(self, origin: Origin) -> None:
        """Give up the unfinished line of a stream that begins anew."""
        self._rests.pop(origin, None)

    def _bound(self) -> None:
        while len(self.lines) > KEEP:
            self.lines.popleft()
            self.dropped += 1
