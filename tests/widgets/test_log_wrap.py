"""Long lines over several rows: by cells, only what is new is measured, and lines that go take their rows along."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from widgets import log_text
from widgets.log_text import LogText
from widgets.log_wrap import Wrapping, starts


def _rows(wrapping: Wrapping, text: LogText, width: int) -> list[str]:
    shown = []
    for y in range(len(wrapping)):
        index, start = wrapping.row(y)
        line = text.line(index)
        shown.append(line[start : Wrapping.end(line, start, width)])
    return shown


def test_wide_and_combining_characters_are_never_split() -> None:
    text = LogText()
    text.feed("日本語ジョブ\ne\u0301e\u0301e\u0301abc\n\nplain text\n".encode())
    wrapping = Wrapping(text, 5)
    wrapping.update(5)
    assert _rows(wrapping, text, 5) == ["日本", "語ジ", "ョブ", "e\u0301e\u0301e\u0301ab", "c", "", "plain", " text"]


def test_what_is_added_is_added_and_an_unfinished_line_is_measured_anew() -> None:
    text = LogText()
    wrapping = Wrapping(text, 4)
    for data in (b"abcdef", b"gh\nxy", b"z\n", b"longer line\n"):
        text.feed(data)
        wrapping.update(4)
    assert _rows(wrapping, text, 4) == ["abcd", "efgh", "xyz", "long", "er l", "ine"]
    assert wrapping.row_of(2) == 3
    wrapping.update(20)
    assert _rows(wrapping, text, 20) == ["abcdefgh", "xyz", "longer line"]


def test_rows_of_lines_that_are_dropped_go(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(log_text, "KEEP", 3)
    text = LogText()
    wrapping = Wrapping(text, 4)
    gone = []
    for n in range(6):
        text.feed(f"line {n}\n".encode())
        gone.append(wrapping.drop(text.dropped))
        wrapping.update(4)
    assert _rows(wrapping, text, 4) == ["line", " 3", "line", " 4", "line", " 5"]
    assert gone == [0, 0, 0, 2, 2, 2]
    assert wrapping.row(wrapping.row_of(1)) == (1, 0)


@given(st.text(max_size=60), st.integers(1, 12))
def test_no_row_is_wider_than_the_screen_and_nothing_is_lost(line: str, width: int) -> None:
    begin = starts(line, width)
    rows = [line[start : Wrapping.end(line, start, width)] for start in begin]
    assert "".join(rows) == line
    assert all(cell_len(row) <= max(width, 2) for row in rows)
