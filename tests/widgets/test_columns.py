"""Which columns a width has room for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.columns import Column, place
from widgets.jobs import JOB_COLUMNS
from widgets.nodes import NODE_COLUMNS
from widgets.queues import QUEUE_COLUMNS


@pytest.mark.parametrize("columns", [JOB_COLUMNS, QUEUE_COLUMNS, NODE_COLUMNS])
@given(width=st.integers(0, 300))
def test_columns_never_overlap_nor_reach_beyond_the_edge(columns: tuple[Column, ...], width: int) -> None:
    end = 0
    for spot in place(columns, width):
        assert spot.x >= end
        end = spot.x + spot.width
        assert end <= width


@given(width=st.integers(30, 300))
def test_a_wider_terminal_never_shows_fewer_columns_of_the_same_gap(width: int) -> None:
    narrower = {spot.column.id for spot in place(JOB_COLUMNS, width)}
    wider = {spot.column.id for spot in place(JOB_COLUMNS, width + 1)}
    if width + 1 != 100:  # from here on columns stand two cells apart
        assert len(wider) >= len(narrower)


def test_eighty_cells_show_what_a_person_needs_first() -> None:
    shown = [spot.column.id for spot in place(JOB_COLUMNS, 77)]
    assert shown == ["letter", "status", "id", "time", "name", "owner", "queue", "where"]


def test_limits_hold() -> None:
    for spot in place(JOB_COLUMNS, 300):
        assert spot.width <= spot.column.limit
