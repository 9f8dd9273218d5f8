"""Job ids: what is asked for, what is sent, and what never reaches a command line."""

from __future__ import annotations

import pytest

from adapters.base import Invalid
from adapters.slurm.ids import matches, parse_id


@pytest.mark.parametrize(
    ("text", "query", "target"),
    [
        ("31", "31", "31"), ("29_3", "29_3", "29_3"), ("29_[3-49%3]", "29", "29_[3-49]"), ("26+1", "26+1", "26+1"),
        ("64_[1-199:2]", "64", "64_[1-199:2]"), ("83_[0-5,8-9]", "83", "83_[0-5,8-9]"), ("7_[1,3,5,...]", "7", "7"),
    ],
)  # fmt: skip
def test_ids(text: str, query: str, target: str) -> None:
    parsed = parse_id(text)
    assert (parsed.query, parsed.target) == (query, target)
    assert parsed.widened == ("..." in text)


@pytest.mark.parametrize(
    "text", ["", "abc", "-1", "--me", "1 2", "1;2", "1_", "1_[a]", "1\n", "１", "1,2", "1_-3", "*"]
)
def test_what_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="is not a job id"):
        parse_id(text)


@pytest.mark.parametrize(
    ("asked", "shown", "same"),
    [
        ("31", "31", True), ("31", "32", False), ("29", "29_[3-49%3]", True), ("29", "29_3", False),
        ("29_[3-49%3]", "29_[4-49%3]", True), ("29_[3-49%3]", "29_3", False), ("29_3", "29_3", True),
        ("29_3", "29_[3-49%3]", False), ("26+1", "26+1", True), ("26+1", "26+0", False), ("26", "26+0", True),
        ("31", "not an id", False),
    ],
)  # fmt: skip
def test_a_row_is_what_was_asked_for(asked: str, shown: str, same: bool) -> None:
    assert matches(parse_id(asked), shown) == same
