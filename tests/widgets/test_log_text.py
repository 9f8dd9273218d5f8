"""Bytes of a log to lines that a terminal may show."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from widgets.log_colours import Span
from widgets.log_text import KEEP, LogText, line_of, line_text


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
    assert sum(map(len, text._rests.values())) <= 90_000
    assert all(len(line) <= 20_000 for line in _lines(text))


@given(st.lists(st.binary(max_size=30)))
def test_no_control_character_reaches_the_screen(chunks: list[bytes]) -> None:
    text = LogText()
    for chunk in chunks:
        text.feed(chunk)
    assert all(line.isprintable() for line in _lines(text))


def test_colours_are_kept_apart_from_the_text_and_what_could_hide_it_is_left_out() -> None:
    line = line_of(b"a \x1b[1;31mred\x1b[0m \x1b[32;4mgreen\x1b[m b")
    assert line.text == "a red green b"
    assert [(line.text[s.start : s.end], s.style) for s in line.spans] == [
        ("red", "bold red"),
        ("green", "underline green"),
    ]
    for hiding in (
        b"\x1b[30m",
        b"\x1b[8m",
        b"\x1b[37;47m",
        b"\x1b[38;5;0m",
        b"\x1b[38;2;0;0;0m",
        b"\x1b[7m",
        b"\x1b[5m",
    ):
        assert line_of(hiding + b"text").spans == (), hiding
    assert line_of(b"\x1b[38;5;1;1mtext").spans == (Span(0, 4, "bold"),)  # 1 is the colour's number, not "bold"
    assert line_of(b"\x1b[" + b"9" * 500 + b"mtext").text == "text"


def test_positions_of_colours_are_those_of_the_text_as_it_is_shown() -> None:
    line = line_of(b"\x00\t\x1b[31mx\xff\x1b[0my")
    (span,) = line.spans
    assert line.text[span.start : span.end] == "x\\xff"
    assert line.text.endswith("y") and line.text.isprintable()


def test_a_bar_that_is_drawn_for_hours_stays_one_line_and_little_memory() -> None:
    text = LogText()
    for n in range(3000):
        text.feed(f"\r{n / 30:5.1f}% {'#' * 200}".encode())
    assert len(text) == 1
    assert text.line(0).startswith("100.0%")
    assert sum(map(len, text._rests.values())) < 100_000
    text.feed(b"\r\ndone\n")
    assert _lines(text) == ["100.0% " + "#" * 200, "done"]


def test_two_streams_come_together_line_by_line_and_unfinished_lines_stand_last() -> None:
    text = LogText()
    text.feed(b"out 1\nout 2 be", "stdout")
    text.feed(b"err 1\nerr 2 be", "stderr")
    text.say("a note")
    text.feed(b"gins\n", "stdout")
    shown = [(text.entry(n).origin, text.entry(n).text) for n in range(len(text))]
    assert shown == [
        ("stdout", "out 1"),
        ("stderr", "err 1"),
        ("note", "a note"),
        ("stdout", "out 2 begins"),
        ("stderr", "err 2 be"),
    ]
    text.forget("stderr")
    assert len(text) == 4


@given(st.lists(st.binary(max_size=40)))
def test_colours_of_any_bytes_lie_within_the_line(chunks: list[bytes]) -> None:
    line = line_of(b"\x1b[31m".join(chunks).replace(b"\n", b""))
    assert line.text.isprintable()
    assert all(0 <= span.start < span.end <= len(line.text) for span in line.spans)
