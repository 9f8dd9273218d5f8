"""What the terminal sends, put in order before the toolkit reads keys from it. No thread and no clock of its own.

- A sequence that a slow link delivers in pieces is held until it is whole. Left alone, the toolkit takes ESC for the
  Escape key after a moment and the rest for letters, which are commands here: `[A` would submit a job again.
- An answer of the terminal to a question nobody asked (its name, a colour) is dropped for the same reason.
- A paste is collected without reading it as keys, up to `MOST_PASTED` characters. So is one from a terminal that does
  not mark pastes: nobody types as many different keys at once as come then in one piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.message import Message

ESC = "\x1b"
ESC_DELAY = 0.05  # seconds after which an ESC by itself is the key; terminals send a sequence in one piece
LATE = 1.0  # seconds within which the rest of a sequence may still come
MOST_PASTED = 65_536  # characters of a paste that are kept: more than any field or script takes
BURST = 64  # different keys in one piece that are a paste
PASTING = 0.3  # seconds after such a piece in which the next one belongs to it

_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|O)?\Z")
_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_STRING = re.compile(r"\x1b[\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\)")
# What the toolkit understands besides its table of keys: keys of the kitty protocol, the mouse, modes, the cursor,
# focus, and sizes. Its source: textual/_xterm_parser.py.
_KNOWN = re.compile(
    r"\x1b\[(?:(?:[\d:]*;?){1,3}[u~ABCDEFHPQRS]|<-?\d+;-?\d+;-?\d+[mM]|\d+;\d+;\d+M|M|\?\d+;\d\$y|\d+;\d+R|[IO]|48;[\d:;]+t)"
)
_BEGIN, _END = "\x1b[200~", "\x1b[201~"


class Keyboard:
    """Takes what was read and gives what is to be parsed (text), and what is known already (messages)."""

    def __init__(self) -> None:
        self._tail = ""  # the beginning of a sequence
        self._tail_at = 0.0
        self._escaped = -LATE  # when an ESC by itself was taken for the key
        self._pasted: list[str] | None = None  # pieces of the paste that is going on
        self._pasted_size = 0
        self._pasting = 0.0  # until when unmarked text belongs to a paste

    @property
    def waiting(self) -> bool:
        """Something is held, so `tick` should be called soon."""
        return bool(self._tail)

    def feed(self, data: str, now: float) -> list[str | Message]:
        """Take what was read just now. `now` is monotonic, in seconds."""
        if self._tail:
            data, self._tail = self._tail + data, ""
        elif data.startswith("[") and now - self._escaped < LATE:
            data = ESC + data  # the Escape key it was taken for has gone back one level at most
        self._escaped = -LATE
        return list(self._read(data, now))

    def tick(self, now: float) -> list[str | Message]:
        """Time has passed: an ESC that is still alone is the key, and the rest of a sequence comes no more."""
        if self._tail == ESC and now - self._tail_at >= ESC_DELAY:
            self._tail, self._escaped = "", now
            return [events.Key("escape", ESC)]
        if self._tail and now - self._tail_at >= LATE:
            self._tail = ""
        return []

    def _read(self, data: str, now: float) -> Iterator[str | Message]:
        while data:
            if self._pasted is not None:
                paste, data = self._paste(data, now)
                if paste is not None:
                    yield paste
                continue
            begin = data.find(_BEGIN)
            text = data if begin < 0 else data[:begin]
            if begin < 0 and (unfinished := _UNFINISHED.search(data)):
                text, self._tail, self._tail_at = data[: unfinished.start()], unfinished[0], now
            yield from self._typed(text, now)
            if begin < 0:
                return
            self._pasted, self._pasted_size, data = [], 0, data[begin + len(_BEGIN) :]

    def _paste(self, data: str, now: float) -> tuple[Message | None, str]:
        """A piece of a paste: the whole of it where this is its end, and what comes after."""
        assert self._pasted is not None
        end = data.find(_END)
        if end < 0:
            held = next((n for n in range(min(len(data), len(_END) - 1), 0, -1) if _END.startswith(data[-n:])), 0)
            self._keep(data[: len(data) - held])
            self._tail, self._tail_at = data[len(data) - held :], now
            return None, ""
        self._keep(data[:end])
        text = "".join(self._pasted).replace("\x00", "")
        self._pasted = None
        return (events.Paste(text) if text else None), data[end + len(_END) :]

    def _keep(self, text: str) -> None:
        """Keep one character more than there may be: whoever gets it sees that it is too long."""
        assert self._pasted is not None
        text = text[: MOST_PASTED + 1 - self._pasted_size]
        self._pasted.append(text)
        self._pasted_size += len(text)

    def _typed(self, text: str, now: float) -> Iterator[str | Message]:
        if not text:
            return
        if ESC in text:
            text = _SEQUENCE.sub(lambda found: found[0] if _known(found[0]) else "", _STRING.sub("", text))
        elif (len(text) >= BURST and len(set(text)) > 2) or now < self._pasting:
            self._pasting = now + PASTING
            yield events.Paste(text.replace("\x00", "").replace("\r", "\n"))
            return
        if text:
            yield text


def _known(sequence: str) -> bool:
    return sequence in ANSI_SEQUENCES_KEYS or _KNOWN.fullmatch(sequence) is not None
