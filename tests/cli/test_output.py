"""Tables that fit the terminal, JSON for programs."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.model import ArrayInfo, Dependency, Job
from console.cli.details import detail_lines
from console.cli.jobs import columns, elapsed
from console.cli.output import Column, cell_width, emit_rows, fit_cell, table_lines

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
JOB = Job(
    id="42",
    name="train-a-rather-long-name-of-a-job",
    status="running",
    queue="normal",
    cores=8,
    memory_bytes=16_000_000_000,
    owner="ada",
    start_time=datetime(2026, 3, 1, 10, 0, tzinfo=UTC),
    node_names=("node-1", "node-2"),
    cluster="demo",
)


def lines(width: int | None) -> list[str]:
    return table_lines(
        [JOB, JOB._replace(id="7", name="日本語の名前", status="pending", start_time=None)], columns(NOW), width
    )


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 200])
def test_a_table_is_no_wider_than_the_terminal(width: int) -> None:
    assert all(cell_width(line) <= width for line in lines(width))
    assert "ID" in lines(width)[0]


def test_nothing_is_cut_where_there_is_no_terminal() -> None:
    assert "train-a-rather-long-name-of-a-job" in lines(None)[1]
    assert "node-1 node-2" in lines(None)[1]
    assert "02:00:00" in lines(None)[1]


def test_the_least_important_columns_go_first() -> None:
    head = lines(60)[0]
    assert "REASON" not in head and "MEMORY" not in head
    assert "STATUS" in head and "NAME" in head


def test_columns_stay_aligned_with_wide_characters() -> None:
    table = lines(None)
    owner = table[0].index("OWNER")
    for line in table[1:]:
        cut = line[: line.index("ada")]
        assert cell_width(cut) == owner


@given(st.text(max_size=40), st.integers(min_value=1, max_value=30), st.booleans())
def test_a_cell_fills_its_width_exactly(text: str, width: int, right: bool) -> None:
    from adapters.text import clean

    assert cell_width(fit_cell(clean(text), width, right=right)) == width


def test_a_list_is_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    emit_rows([JOB, JOB], columns(NOW), as_lines_of_json=True, nothing="No jobs.")
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert first == second
    assert first["memory_bytes"] == 16_000_000_000
    assert first["start_time"] == "2026-03-01T10:00:00Z"
    assert set(first) == set(Job._fields)


def test_an_empty_list_says_so_beside_the_output(capsys: pytest.CaptureFixture[str]) -> None:
    emit_rows([], [Column("ID", str)], as_lines_of_json=False, nothing="No jobs.")
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "No jobs.\n")


def test_elapsed_is_never_invented() -> None:
    assert elapsed(JOB._replace(start_time=None), NOW) == "-"
    assert elapsed(JOB, NOW) == "02:00:00"
    assert elapsed(JOB._replace(status="failed"), NOW) == "-"
    assert elapsed(JOB._replace(status="failed", end_time=NOW), NOW) == "02:00:00"


def test_a_detail_says_what_belongs_together_in_words() -> None:
    job = JOB._replace(array=ArrayInfo("63", range="1-199:2"), dependencies=(Dependency("31", "afterok"),))
    text = "\n".join(detail_lines(job))
    assert "id 63, range 1-199:2" in text and "id 31, kind afterok" in text and "ArrayInfo" not in text


def test_a_detail_names_every_known_field_and_no_other() -> None:
    told = detail_lines(JOB._replace(extensions={"fairshare": 0.5, "note": "a\x1b[2J"}))
    text = "\n".join(told)
    assert "memory_bytes" in text and "16 GB (16000000000 bytes)" in text
    assert "2026-03-01 10:00:00 UTC" in text
    assert "node-1, node-2" in text
    assert "exit_code" not in text
    assert "fairshare" in text
    assert "\x1b" not in text
