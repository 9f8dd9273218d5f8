"""clean() is the only door for foreign text: nothing that comes out can move a cursor, hide or reorder."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.text import clean, clean_lines


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("train.py", "train.py"),
        ("ok\x1b[2J\x1b[H Approve? [y]", "ok␛[2J␛[H Approve? [y]"),
        ("\x1b]52;c;Y3VybCBldmls\x07", "␛]52;c;Y3VybCBldmls␇"),
        ("a\x9b2Jb", "a<U+009B>2Jb"),
        ("scancel\u202e4711", "scancel<U+202E>4711"),
        ("a\u200bb\u00adc", "a<U+200B>b<U+00AD>c"),
        ("line1\nline2\ttab\r", "line1␊line2␉tab␍"),
        ("tag\U000e0041", "tag<U+E0041>"),
        ("fill\u3164er\u2800x\ufe0f", "fill<U+3164>er<U+2800>x<U+FE0F>"),
        ("日本語ジョブ", "日本語ジョブ"),
        ("e\u0301te", "e\u0301te"),
        ("job[/]", "job[/]"),
        ("nul\x00", "nul␀"),
        ("nb\u00a0sp", "nb sp"),
        ("lone\ud800", "lone<U+D800>"),
    ],
)
def test_what_a_person_sees(raw: str, shown: str) -> None:
    assert clean(raw) == shown


def test_bytes_that_are_no_utf8_stay_readable() -> None:
    assert clean(b"caf\xe9 \xff") == "caf\\xe9 \\xff"
    assert clean("naïve".encode()) == "naïve"


def test_limit_counts_characters_and_says_that_it_cut() -> None:
    assert clean("x" * 15_000, 10) == "x" * 9 + "…"
    assert clean("x" * 10, 10) == "x" * 10


@given(st.text())
def test_nothing_invisible_comes_out(text: str) -> None:
    out = clean(text)
    assert all(char.isprintable() for char in out)
    assert not any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in out)
    assert clean(out) == out


@given(st.binary())
def test_any_bytes_become_printable_text(data: bytes) -> None:
    assert clean(data).isprintable() or clean(data) == ""


def test_lines_split_at_newlines_only() -> None:
    assert clean_lines(b"a\r\nb\x0bc\n\x1b[31mred") == ["a", "b␋c", "␛[31mred"]
    assert clean_lines("x\ty") == ["x       y"]
