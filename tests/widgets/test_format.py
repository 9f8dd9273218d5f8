"""Figures on screen."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from adapters.model import Node
from adapters.text import clean
from widgets.format import age, coarse, duration, fit, size, slots, slots_with_quota, used

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "-"), (0, "0B"), (999, "999B"), (1000, "1kB"), (1500, "1.5kB"), (999_600, "1.0MB"), (4 * 10**9, "4GB"),
     (31 * 10**9, "31GB"), (12 * 10**15, "12PB"), (10**18, "1000PB")],
)  # fmt: skip
def test_sizes(value: int | None, shown: str) -> None:
    assert size(value) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(None, "-"), (-50, "0s"), (0, "0s"), (59.9, "59s"), (60, "1m00s"), (3599, "59m59s"), (3600, "1h00m"),
     (86399, "23h59m"), (86400, "1d00h"), (10**7, "115d17h")],
)  # fmt: skip
def test_durations(seconds: float | None, shown: str) -> None:
    assert duration(seconds) == shown


@pytest.mark.parametrize(("seconds", "shown"), [(None, "-"), (4, "0s"), (9, "5s"), (61, "1m"), (7300, "2h01m")])
def test_table_durations_stand_still_for_a_while(seconds: float | None, shown: str) -> None:
    assert coarse(seconds) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "now"), (-5, "now"), (5, "5s"), (61, "1m"), (7200, "2h"), (200_000, "2d")]
)
def test_ages(seconds: int, shown: str) -> None:
    assert age(NOW - timedelta(seconds=seconds), NOW) == shown


def test_slots_show_the_quota_in_the_dialog_alone() -> None:
    node = Node("n", slots_used=12, slots_total=16)
    assert slots(node) == slots_with_quota(node) == "12/16"
    limited = node._replace(slots_quota=12)
    assert slots(limited) == "12/16"
    assert slots_with_quota(limited) == "12/12/16"
    assert slots_with_quota(node._replace(slots_quota=0)) == "12/0/16"
    assert used(None, None) == "-"


@given(st.text(max_size=40).map(clean), st.integers(0, 30), st.booleans())
def test_fit_is_exactly_as_wide_as_asked(text: str, width: int, right: bool) -> None:
    assert cell_len(fit(text, width, right)) == width
