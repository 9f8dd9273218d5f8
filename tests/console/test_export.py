"""Rows to files."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from adapters.model import Dependency, Job
from console.export import ExportError, export, render
from tests.hostile import NAMES

JOBS = [
    Job("1", "a|b", "running", node_names=("n1", "n2"), dependencies=(Dependency("9", "afterok"),)),
    Job("2", "=cmd()"),
]


def test_csv_reads_back_and_no_cell_is_a_formula() -> None:
    lines = list(csv.DictReader(io.StringIO(render(JOBS, "csv"))))
    assert [line["id"] for line in lines] == ["1", "2"]
    assert lines[0]["node_names"] == "n1 n2"
    assert lines[1]["name"] == "'=cmd()"
    for name in NAMES:
        (line,) = csv.DictReader(io.StringIO(render([Job("1", name.replace("\0", ""))], "csv")))
        assert not line["name"].startswith(("=", "+", "-", "@"))


def test_json_is_that_of_the_model() -> None:
    assert json.loads(render(JOBS, "json"))[0]["dependencies"] == [{"id": "9", "kind": "afterok"}]


def test_markdown_keeps_its_columns() -> None:
    lines = render(JOBS, "md").splitlines()
    assert len({line.replace("\\|", "").count("|") for line in lines}) == 1


@pytest.mark.parametrize("form", ["csv", "json", "md"])
def test_nothing_is_a_file_too(form: str) -> None:
    assert isinstance(render([], form), str)


def test_a_file_is_private_new_and_of_a_known_kind(tmp_path: Path) -> None:
    file = export(JOBS, str(tmp_path / "x.csv"))
    assert file.stat().st_mode & 0o777 == 0o600
    for bad in (str(file), str(tmp_path / "x.exe"), str(tmp_path / "none" / "x.csv")):
        with pytest.raises(ExportError):
            export(JOBS, bad)
