"""Copies by the terminal's clipboard."""

from __future__ import annotations

import base64
import re

import pytest

from console.clipboard import MOST, sequence


def _text(code: str) -> str:
    found = re.fullmatch(r"\x1b\]52;c;([A-Za-z0-9+/=]*)\a", code)
    assert found, repr(code)
    return base64.b64decode(found[1]).decode()


def test_plain() -> None:
    assert _text(sequence("4100\n4101 é", {})) == "4100\n4101 é"


def test_in_tmux_it_goes_to_tmux_and_through_it() -> None:
    code = sequence("x", {"TMUX": "/tmp/tmux-0/default,1,0"})
    plain, _, through = code.partition("\x1bPtmux;")
    assert _text(plain) == "x"
    assert through.endswith("\x1b\\") and _text(through[:-2].replace("\x1b\x1b", "\x1b")) == "x"


def test_in_screen_it_goes_in_pieces() -> None:
    code = sequence("y" * 5000, {"STY": "1.pts"})
    pieces = code.split("\x1bP")[1:]
    assert all(piece.endswith("\x1b\\") and len(piece) <= 768 for piece in pieces)
    assert _text("".join(piece[:-2] for piece in pieces)) == "y" * 5000


def test_no_more_than_terminals_take() -> None:
    assert len(sequence("z" * MOST, {})) <= 100_000 + 8
    with pytest.raises(ValueError, match="more than terminals take"):
        sequence("z" * (MOST + 1), {})
