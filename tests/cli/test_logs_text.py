"""A job's output on the terminal: cleaned, and whole where chunks cut it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.text import clean_lines
from console.cli.logs import TerminalSink


def shown(*pieces: bytes) -> str:
    sink = TerminalSink()
    return "".join(sink.text_of(piece) for piece in pieces) + sink.text_of(b"", last=True)


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ((b"a\nb\n",), "a\nb\n"),
        ((b"a\r", b"\nb"), "a\nb"),
        ((b"a\r", b"b"), "a␍b"),
        ((b"a\r",), "a␍"),
        (("ü".encode()[:1], "ü".encode()[1:]), "ü"),
        ((b"\xff\n",), "\\xff\n"),
        (("ü".encode()[:1],), "\\xc3"),
        ((b"\x1b[2J",), "␛[2J"),
        ((b"a\tb\n",), "a       b\n"),
    ],
)
def test_chunks_come_out_whole(pieces: tuple[bytes, ...], text: str) -> None:
    assert shown(*pieces) == text


@given(st.binary(max_size=60), st.lists(st.integers(min_value=0, max_value=60), max_size=5))
def test_where_it_is_cut_makes_no_difference(data: bytes, cuts: list[int]) -> None:
    data = data.replace(b"\t", b" ")  # how far a tab reaches is known only where the line began in the same chunk
    edges = [0, *sorted(cuts), len(data)]
    pieces = [data[start:end] for start, end in pairwise(edges)]
    assert shown(*pieces) == "\n".join(clean_lines(data))
