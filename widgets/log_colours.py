"""The colours programs give their output, read from it and tamed: what would hide text is left out. No widget here.

Of "select graphic rendition" (ECMA-48, SGR) these are kept: bold, underlined, and the six hues with their bright
forms. Black, white, backgrounds, concealed, blinking and reversed are not, nor colours by number: with them a log could
show text that cannot be seen on this theme, or look like a part of the console.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_SGR = re.compile(r"\x1b\[([0-9;]*)m")
_HUES = {1: "red", 2: "green", 3: "yellow", 4: "blue", 5: "magenta", 6: "cyan"}


class Span(NamedTuple):
    """Characters `start` to `end` of a line in a style, such as ``bold red``."""

    start: int
    end: int
    style: str


class _Pen:
    """What the sequences so far have asked for."""

    def __init__(self) -> None:
        self.hue = ""
        self.bold = self.underline = False

    @property
    def style(self) -> str:
        names = ("bold" if self.bold else "", "underline" if self.underline else "", self.hue)
        return " ".join(filter(None, names))

    def obey(self, parameters: str) -> None:
        codes = [int(code) if code else 0 for code in parameters[:100].split(";")]
        at = 0
        while at < len(codes):
            code = codes[at]
            if code in (38, 48, 58):  # a colour by number: 5;n or 2;r;g;b follow
                at += {5: 3, 2: 5}.get(codes[at + 1] if at + 1 < len(codes) else 0, 1)
                if code == 38:
                    self.hue = ""
                continue
            self._one(code)
            at += 1

    def _one(self, code: int) -> None:
        if code == 0:
            self.hue, self.bold, self.underline = "", False, False
        elif code in (1, 4):
            self.bold, self.underline = self.bold or code == 1, self.underline or code == 4
        elif code == 22:
            self.bold = False
        elif code == 24:
            self.underline = False
        elif 30 <= code <= 39:
            self.hue = _HUES.get(code - 30, "")
        elif 90 <= code <= 97:
            hue = _HUES.get(code - 90)
            self.hue = f"bright_{hue}" if hue else ""


def coloured(text: str) -> Iterator[tuple[str, str]]:
    """The pieces of one line between its colour sequences, each with its style (empty: none)."""
    pen, at = _Pen(), 0
    for found in _SGR.finditer(text):
        if found.start() > at:
            yield pen.style, text[at : found.start()]
        pen.obey(found[1])
        at = found.end()
    if at < len(text):
        yield pen.style, text[at:]
