"""Sizes, durations, counts, times, hosts: every shape that the recordings and the documentation have."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.lsf.hosts import gpus_by_host, slots_by_host
from adapters.lsf.times import Clock
from adapters.lsf.units import (
    count,
    number,
    run_limit,
    run_limit_argument,
    seconds,
    size,
    size_argument,
    without_mark,
)

MB, GB = 1024**2, 1024**3


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9 Mbytes", 9 * MB),
        ("5.2 Gbytes", round(5.2 * GB)),
        ("522 MBytes", 522 * MB),
        ("0.01G", round(0.01 * GB)),
        ("102400 K", 102400 * 1024),
        ("37.1 G", round(37.1 * GB)),
        ("14807.0M", 14807 * MB),
        ("0.0M", 0),
        ("2T", 2 * 1024**4),
        ("1.5TB", round(1.5 * 1024**4)),
        ("31.9G*", round(31.9 * GB)),
        ("", None),
        ("-", None),
        ("         -          ", None),
        ("6728", None),  # a clone's KB without a unit: not for us to guess
        ("1e3M", None),
        (None, None),
    ],
)
def test_sizes(text: str | None, value: int | None) -> None:
    assert size(text) == value


def test_a_bare_number_needs_the_units_of_the_site() -> None:
    assert size("100", "K") == 102_400
    assert size("100", "MB") == 100 * MB
    assert size("100") is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("16038 second(s)", 16038),
        ("17", 17),
        ("00:10:00", 600),
        ("000:00:00.03", 0),
        ("165:53:45.00", 165 * 3600 + 53 * 60 + 45),
        ("0.1 seconds", 0),
        ("0:1", 60),
        ("", None),
        ("-", None),
        ("soon", None),
    ],
)
def test_durations(text: str, value: int | None) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1440.0", (86400, None)),
        ("720.0", (43200, None)),
        ("3.0/hostA", (180, "hostA")),
        ("00:10:00", (600, None)),
        ("60.0 min", (3600, None)),
        ("480.0 min of a6122", (28800, "a6122")),
        ("", (None, None)),
        ("-", (None, None)),
        ("UNLIMITED", (None, None)),
    ],
)
def test_run_limits_are_minutes(text: str, value: tuple[int | None, str | None]) -> None:
    assert run_limit(text) == value


def test_counts_and_indices() -> None:
    assert [count(text) for text in ("8", "0", "-", "", "8.0", "٣", None)] == [8, 0, None, None, None, None, None]
    assert [number(text) for text in ("0.5", "98%", "3e+05", "-0.0", "4.2*", "-", "72G")] == [
        0.5, 98.0, 300000.0, -0.0, 4.2, None, None,
    ]  # fmt: skip


def test_marks_behind_a_value() -> None:
    assert without_mark("Dec 28 19:56 L") == ("Dec 28 19:56", "L")
    assert without_mark("15.00% E") == ("15.00%", "E")
    assert without_mark("0:1 X") == ("0:1", "X")
    assert without_mark("Dec 28 19:56") == ("Dec 28 19:56", None)
    assert without_mark("L") == ("L", None)


@given(st.integers(1, 2**50))
def test_a_memory_limit_is_never_less_than_was_asked_for(amount: int) -> None:
    text, meant = size_argument(amount)
    assert meant >= amount and meant - amount < 1024 and size(text) == meant
    text, meant = size_argument(amount, "MB")
    assert meant >= amount and meant - amount < MB and size(text, "MB") == meant


def test_memory_limits_are_written_in_the_largest_exact_unit() -> None:
    assert size_argument(2 * GB) == ("2GB", 2 * GB)
    assert size_argument(4_000_000_000) == ("3906250KB", 4_000_000_000)
    assert size_argument(4_000_000_000, "GB") == ("4", 4 * GB)


@given(st.integers(1, 10**8))
def test_a_run_limit_is_whole_minutes_and_never_less(amount: int) -> None:
    text, meant = run_limit_argument(amount)
    hours, minutes = text.split(":")
    assert int(hours) * 3600 + int(minutes) * 60 == meant
    assert 0 <= meant - amount < 60


NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sep 30 20:32:14 2026", datetime(2026, 9, 30, 20, 32, 14)),
        ("Oct  1 14:02:11 2026", datetime(2026, 10, 1, 14, 2, 11)),
        ("Apr 12 22:27:01 2026 L", datetime(2026, 4, 12, 22, 27, 1)),
        ("Feb  2 00:46", datetime(2026, 2, 2, 0, 46)),
        ("Dec  31 23:48 L", datetime(2025, 12, 31, 23, 48)),
        ("Dec 28 19:56", datetime(2025, 12, 28, 19, 56)),
        ("Mon Feb 23 01:12:32", datetime(2026, 2, 23, 1, 12, 32)),
        ("Mon Feb 23 01:12:32:", datetime(2026, 2, 23, 1, 12, 32)),
        ("Sun Apr 12 17:23:38 2026", datetime(2026, 4, 12, 17, 23, 38)),
        ("02/28-14:46:42", datetime(2026, 2, 28, 14, 46, 42)),
        ("03/31-14:46:42", datetime(2025, 3, 31, 14, 46, 42)),
        ("Feb 29 10:00", datetime(2024, 2, 29, 10, 0)),
        ("Mar  1 12:30", datetime(2026, 3, 1, 12, 30)),  # a clock half an hour ahead of ours is not last year's
    ],
)
def test_times_with_and_without_a_year(text: str, expected: datetime) -> None:
    assert Clock(NOW, UTC).read(text) == expected.replace(tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "-", None, "Foo 12 10:00", "Feb 30 10:00", "Dec 28", "99/99-10:00:00"])
def test_what_is_no_time_is_unknown(text: str | None) -> None:
    assert Clock(NOW, UTC).read(text) is None


def test_a_predicted_end_may_lie_in_the_next_year() -> None:
    clock = Clock(datetime(2026, 12, 31, 20, 0, tzinfo=UTC), UTC)
    assert clock.read("Jan  2 08:00 L", ahead=True) == datetime(2027, 1, 2, 8, tzinfo=UTC)
    assert clock.read("Jan  2 08:00") == datetime(2026, 1, 2, 8, tzinfo=UTC)


def test_times_are_local_to_the_zone_of_the_host() -> None:
    clock = Clock(NOW, ZoneInfo("America/New_York"))
    assert clock.read("Feb  2 00:46") == datetime(2026, 2, 2, 5, 46, tzinfo=UTC)


@given(st.datetimes(datetime(2019, 1, 1), datetime(2030, 1, 1)), st.integers(0, 363))
def test_a_time_of_the_last_year_is_found_without_its_year(now: datetime, days: int) -> None:
    at = (now - timedelta(days=days)).replace(second=0, microsecond=0)
    read = Clock(now.replace(tzinfo=UTC), UTC).read(f"{at:%b} {at.day:2d} {at:%H:%M}")
    assert read == at.replace(tzinfo=UTC)


def test_hosts_are_named_once_a_slot_or_counted() -> None:
    assert slots_by_host("node01:node01:node02") == {"node01": 2, "node02": 1}
    assert slots_by_host("2*node01:node02") == {"node01": 2, "node02": 1}
    assert slots_by_host("<12*node188.hpc.local>") == {"node188.hpc.local": 12}
    assert slots_by_host("48*s06") == {"s06": 48}
    assert slots_by_host("") == slots_by_host("-") == slots_by_host("         -   ") == slots_by_host(None) == {}


def test_gpus_repeat_once_a_task() -> None:
    told = "node-1.example.com:0,1,0,1;node-2.example.com:0,1,0,1"
    assert gpus_by_host(told) == {"node-1.example.com": ("0", "1"), "node-2.example.com": ("0", "1")}
    assert gpus_by_host("") == gpus_by_host(None) == {}
