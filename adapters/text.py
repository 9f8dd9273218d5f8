"""The only door for text from outside: `clean()` makes every invisible or control character visible.

Job names, reasons, logs, node comments, backend errors, model output and pasted text are hostile: Textual passes
ESC, C1, bidirectional and zero-width characters to the terminal as they are.
"""

from __future__ import annotations

import unicodedata

# Characters that `str.isprintable` lets through although a person cannot see them, or that make terminals
# disagree about width: Hangul and braille fillers, combining grapheme joiner, Khmer inherent vowels, Mongolian
# and Unicode variation selectors, musical-notation blanks.
_FILLERS = (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0x1D159)
_SELECTORS = (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
_INVISIBLE = frozenset({*_FILLERS, *_SELECTORS})
_C0_NAMES = {0x09: "␉", 0x0A: "␊", 0x0D: "␍", 0x1B: "␛", 0x7F: "␡"}


def _visible(char: str) -> str:
    """The visible mark for one character that must not reach a terminal as it is."""
    code = ord(char)
    if code < 0x20 or code == 0x7F:
        return _C0_NAMES.get(code) or chr(0x2400 + code)
    if code in (0x00A0, 0x2007, 0x202F, 0x3000) or unicodedata.category(char) == "Zs":
        return " "
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was no UTF-8, kept by surrogateescape
        return f"\\x{code - 0xDC00:02x}"
    return f"<U+{code:04X}>"


def _harmless(char: str) -> bool:
    return char.isprintable() and ord(char) not in _INVISIBLE


def clean(text: str | bytes, limit: int | None = None) -> str:
    """Return `text` on one line with every control, bidi, zero-width or otherwise invisible character made visible.

    Bytes decode as UTF-8, undecodable bytes show as ``\\xNN``. With `limit`, text longer than that many characters is
    cut and ends in ``…``. Runs in a fraction of a microsecond for ordinary text.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
    if limit is not None and len(text) > limit:
        text = text[: max(0, limit - 1)] + "…"
    if text.isascii() and text.isprintable():
        return text
    if text.isprintable() and _INVISIBLE.isdisjoint(map(ord, text)):
        return text
    return "".join(char if _harmless(char) else _visible(char) for char in text)


def clean_lines(text: str | bytes, limit: int | None = None) -> list[str]:
    """Split `text` into lines at newlines (CRLF too) and clean each: for logs, scripts and errors of several lines."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
    return [clean(line.expandtabs(8), limit) for line in text.replace("\r\n", "\n").split("\n")]
