"""Bytes of a log to lines that a terminal may show."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from widgets.log_text import KEEP, LogText, line_text


def _lines(text: LogText) -> list[str]:
    return [text.line(n) for n in range(len(text))]


def test_lines_come_together_over_chunks() -> None:
    text = LogText()
    for chunk in (b"one\ntw", b"o\r\nthr", b"ee"):
        text.feed(chunk)
    assert _lines(text) == ["one", "two", "three"]


def test_a_progress_bar_shows_what_it_last_drew() -> None:
    assert line_text(b"10%\r50%\r100%\r") == "100%"


def test_colours_titles_and_clipboard_writes_are_dropped_and_other_controls_made_visible() -> None:
    assert line_text(b"\x1b[31mred\x1b[0m \x1b]0;title\x07x\x1b]52;c;aGk=\x1b\\y") == "red xy"
    assert "\x1b" not in line_text(b"\x1b7\x1bPq\x1b")
    assert line_text(b"a\tb\x00c") == "a       b␀c"
    assert line_text(b"caf\xe9") == "caf\\xe9"


def test_only_the_newest_lines_are_kept_and_the_others_counted() -> None:
    text = LogText()
    text.feed(b"x\n" * (KEEP + 10))
    assert len(text) == KEEP
    assert text.dropped == 10


def test_a_line_without_end_does_not_grow_for_ever() -> None:
    text = LogText()
    for _ in range(50):
        text.feed(b"x" * 10_000)
    assert len(text._rest) <= 90_000
    assert all(len(line) <= 20_000 for line in _lines(text))


@given(st.lists(st.binary(max_size=30)))
def test_no_control_character_reaches_the_screen(chunks: list[bytes]) -> None:
    text = LogText()
    for chunk in chunks:
        text.feed(chunk)
    assert all(line.isprintable() for line in _lines(text))
