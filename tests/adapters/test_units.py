"""Sizes and durations as people type them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.units import (
    UnitError,
    exact_duration,
    parse_duration,
    parse_size,
    show_duration,
    show_hours_minutes,
    show_size,
    whole_minutes,
)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4GB", 4_000_000_000),
        ("4GiB", 4_294_967_296),
        ("4gb", 4_000_000_000),
        ("1.5 TB", 1_500_000_000_000),
        ("512MiB", 536_870_912),
        ("0B", 0),
        ("1kB", 1000),
        ("0.5KiB", 512),
        (" 7PB ", 7_000_000_000_000_000),
    ],
)
def test_size(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("4", "no unit"),
        ("4096", "no unit"),
        ("4G", "decimal or binary"),
        ("4k", "decimal or binary"),
        ("4XB", "not a unit of size"),
        ("", "not a size"),
        ("GB", "not a size"),
        ("-4GB", "not a size"),
        ("4,5GB", "not a size"),
        ("1.5B", "whole number of bytes"),
        ("٤GB", "not a size"),
        ("9" * 400 + "GB", "not a size"),
    ],
)
def test_size_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(UnitError, match=reason):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("01:30", 5400),
        ("100:00", 360_000),
        ("00:00:30", 30),
        ("1:02:03", 3723),
        ("2-03:04", 183_840),
        ("2-03:04:05", 183_845),
        ("90m", 5400),
        ("2d", 172_800),
        ("45s", 45),
        ("1h30m", 5400),
        ("1w", 604_800),
        ("2D12H", 216_000),
    ],
)
def test_duration(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("90", "no unit"),
        ("1.5", "no unit"),
        ("00:75", "more than 59"),
        ("00:00:75", "more than 59"),
        ("1-30:00", "more than 23 hours"),
        ("30m1h", "out of order"),
        ("1h1h", "twice"),
        ("", "not a duration"),
        ("soon", "not a duration"),
        ("1h 30m", "not a duration"),
        ("1:2", "not a duration"),
        ("-5m", "not a duration"),
        ("9" * 400 + "d", "not a duration"),
    ],
)
def test_duration_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(UnitError, match=reason):
        parse_duration(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (None, "-"),
        (0, "0 B"),
        (999, "999 B"),
        (4_000_000_000, "4 GB"),
        (4_294_967_296, "4.29 GB"),
        (64_400_000_000, "64.4 GB"),
        (256_000_000, "256 MB"),
    ],
)
def test_show_size(size: int | None, text: str) -> None:
    assert show_size(size) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"),
        (0, "00:00"),
        (59.9, "00:59"),
        (3599, "59:59"),
        (3600, "01:00:00"),
        (86400, "1-00:00:00"),
        (-61, "-01:01"),
    ],
)
def test_show_duration(seconds: float | None, text: str) -> None:
    assert show_duration(seconds) == text


def test_minutes_are_rounded_up() -> None:
    assert [whole_minutes(seconds) for seconds in (0, 1, 60, 61)] == [0, 1, 1, 2]
    assert show_hours_minutes(86_401) == "24:01"


@given(st.integers(min_value=3600, max_value=10**9))
def test_a_shown_duration_of_an_hour_or_more_reads_back(seconds: int) -> None:
    assert parse_duration(show_duration(seconds)) == seconds


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse in (parse_size, parse_duration):
        try:
            assert parse(text) >= 0
        except UnitError as error:
            assert str(error).endswith(".")


@given(st.integers(0, 400 * 86400))
def test_an_exact_duration_reads_back_as_the_same(seconds: int) -> None:
    assert parse_duration(exact_duration(seconds)) == seconds
