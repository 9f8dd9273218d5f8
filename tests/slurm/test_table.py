"""Tables with random separators: any name comes through whole, and a cut answer is an error, never a short list."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import ProtocolError
from adapters.slurm.table import Tokens, delimited, fields_of

NAMES = [
    "a|b|c", "line1\nline2\ttab\r", "\x1b[31mred", "", "  lead and trail  ", "A=B JobId=999", "\x1e\x1f", "日本語",
    "\nstarts with a newline", "ends with one\n", "~0123456789abcdef~", "--help",
]  # fmt: skip


def answer(tokens: Tokens, rows: list[list[bytes]]) -> bytes:
    """What `-O` prints for these rows."""
    field, end = tokens.field.encode(), tokens.record.encode()
    return b"".join(field.join(row) + end + b"\n" for row in rows)


def test_the_format_asks_for_each_field_with_its_separator() -> None:
    tokens = Tokens("~f~", "^r^")
    assert tokens.long_format(("JobID", "tres-alloc", "Name")) == "JobID:~f~,tres-alloc:~f~,Name:^r^"


def test_two_calls_never_have_the_same_separators() -> None:
    assert len({(t := Tokens.fresh()).field + t.record for _ in range(200)}) == 200


@pytest.mark.parametrize("name", NAMES)
def test_names_come_through(name: str) -> None:
    tokens = Tokens.fresh()
    rows = [[b"1", name.encode(), b"x"], [b"2", b"bad\xff\xfe", name.encode()]]
    records = tokens.records(answer(tokens, rows), "squeue")
    assert [[part.encode("utf-8", "surrogateescape") for part in fields_of(r, 3, "squeue")] for r in records] == rows


def test_an_empty_answer_is_an_empty_list() -> None:
    assert Tokens.fresh().records(b"", "squeue") == []
    assert delimited(b"", "~", 3, "sacct") == delimited(b"\n", "~", 3, "sacct") == []


@given(st.data())
def test_a_cut_answer_is_an_error_or_whole_records(data: st.DataObject) -> None:
    tokens = Tokens.fresh()
    rows = [[str(n).encode(), name.encode(), b"end"] for n, name in enumerate(NAMES)]
    whole = answer(tokens, rows)
    at = data.draw(st.integers(min_value=0, max_value=len(whole)))
    ends = {len(answer(tokens, rows[:n])) for n in range(len(rows) + 1)}
    if at in ends or at + 1 in ends:  # only the last newline is missing
        return
    with pytest.raises(ProtocolError, match="cut after"):
        tokens.records(whole[:at], "squeue")


def test_a_record_of_another_shape_is_an_error() -> None:
    with pytest.raises(ProtocolError, match="2 fields and not 3"):
        fields_of(b"a\0b", 3, "squeue")


def test_rows_of_sacct_end_where_a_newline_stands_between_two_ids() -> None:
    token = "~t~"
    rows = [["1", "na\nme", "0:0"], ["2", "|", "3:0"], ["3_4", "", "0:15"]]
    text = "".join(token.join(row) + "\n" for row in rows).encode()
    assert delimited(text, token, 3, "sacct") == rows
    for at in range(1, len(text) - 1):
        if text[:at].endswith(b"0\n") or text[at - 1 : at + 1] == b"0\n":
            continue
        try:
            got = delimited(text[:at], token, 3, "sacct")
        except ProtocolError:
            continue
        assert got == rows[: len(got)] and text[:at].endswith(b"\n"), at
