"""Where the terminal knows no more than ASCII."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from console.ascii import ascii_only, knows_ascii_only


def test_lines_blocks_and_signs_have_their_likes() -> None:
    assert ascii_only("╭─ 1 Jobs ─╮│…") == "+- 1 Jobs -+|~"
    assert ascii_only("█░ ▁▂▃▄▅▆▇") == "#. __.-=+*"
    assert ascii_only("日本 e\u0301 ä") == "???? e ?"


def test_the_levels_of_a_sparkline_stay_in_order_and_apart_from_nothing() -> None:
    assert " " not in ascii_only("▁▂▃▄▅▆▇█")
    assert len(set(ascii_only("▁▃▄▅▆▇█"))) == 7


@given(st.text(max_size=30))
def test_it_is_ascii_in_as_many_cells(text: str) -> None:
    made = ascii_only(text)
    assert made.isascii()
    shown = "".join(char for char in text if char.isprintable())
    assert len(ascii_only(shown)) == sum(cell_len(char) for char in shown)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, False),
        ({"LANG": "C.UTF-8"}, False),
        ({"LANG": "en_US.utf8"}, False),
        ({"LANG": "C"}, True),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, True),  # Python has set it: PEP 538
        ({"LANG": "C", "LC_CTYPE": "de_DE.UTF-8"}, False),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "C"}, True),
        ({"LANG": "C", "LC_ALL": "C.UTF-8"}, False),
        ({"LC_ALL": "POSIX"}, True),
        ({"LANG": "de_DE.ISO-8859-1"}, True),
        ({"LANG": "de_DE"}, True),
    ],
)
def test_the_locale_says_so(environ: dict[str, str], expected: bool) -> None:
    assert knows_ascii_only(environ) is expected
