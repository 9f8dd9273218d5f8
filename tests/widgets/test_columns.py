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


@given(width=st.integers(10, 300))
def test_no_column_stands_where_a_more_important_one_would_have_fit(width: int) -> None:
    shown = {spot.column.id for spot in place(JOB_COLUMNS, width)}
    for missing in (column for column in JOB_COLUMNS if column.id not in shown):
        for column in (column for column in JOB_COLUMNS if column.id in shown):
            assert not (column.priority > missing.priority and column.width >= missing.width)


def test_eighty_cells_show_what_a_person_needs_first() -> None:
    shown = [spot.column.id for spot in place(JOB_COLUMNS, 77)]
    assert shown == ["letter", "status", "id", "time", "name", "owner", "queue", "where"]


def test_limits_hold() -> None:
    for spot in place(JOB_COLUMNS, 300):
        assert spot.width <= spot.column.limit
