"""What is remembered from one run to the next."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from console.remembered import LONGEST, MOST, Remembered


def test_choices_are_found_again_and_only_their_owner_can_read_them(tmp_path: Path) -> None:
    first = Remembered(tmp_path / "state")
    first.choose_theme("pilothouse-paper", None)
    first.choose_view("sort", "jobs", ["cores-", "owner"])
    first.choose_view("columns", "nodes", ["name", "status"])
    again = Remembered(tmp_path / "state")
    assert again.theme(None) == "pilothouse-paper"
    assert again.of_view("sort", "jobs") == ("cores-", "owner")
    assert again.of_view("columns", "nodes") == ("name", "status") and again.of_view("columns", "jobs") is None
    again.choose_view("sort", "jobs", [])
    assert Remembered(tmp_path / "state").of_view("sort", "jobs") is None
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "state" / "console.json").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in (tmp_path / "state").iterdir()) == ["console.json"]


def test_a_theme_that_the_configuration_is_given_later_holds(tmp_path: Path) -> None:
    Remembered(tmp_path).choose_theme("pilothouse-paper", "pilothouse-dusk")
    assert Remembered(tmp_path).theme("pilothouse-dusk") == "pilothouse-paper"
    assert Remembered(tmp_path).theme("pilothouse-harbour") is None


def test_two_consoles_do_not_undo_each_others_choices(tmp_path: Path) -> None:
    one, other = Remembered(tmp_path), Remembered(tmp_path)
    one.choose_theme("pilothouse-paper", None)
    other.choose_view("sort", "jobs", ["name"])
    one.typed("line", "cancel 1")
    other.typed("line", "cancel 2")
    after = Remembered(tmp_path)
    assert after.theme(None) == "pilothouse-paper" and after.of_view("sort", "jobs") == ("name",)
    assert after.history("line") == ["cancel 1", "cancel 2"]


def test_a_history_is_bounded_has_each_entry_once_and_no_secret(tmp_path: Path) -> None:
    remembered = Remembered(tmp_path)
    for n in range(MOST + 5):
        remembered.typed("filter", f"owner:u{n}")
    remembered.typed("filter", "owner:u100")
    remembered.typed("filter", "x" * (LONGEST + 1))
    remembered.typed("filter", "   ")
    remembered.typed("line", "drain n1 token=hunter22 is out")
    again = Remembered(tmp_path)
    entries = again.history("filter")
    assert len(entries) == MOST and entries[-1] == "owner:u100" and entries.count("owner:u100") == 1
    assert again.history("line") == ["drain n1 token=[redacted] is out"]
    assert "hunter22" not in (tmp_path / "history.json").read_text()
    assert (tmp_path / "history.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["{", '{"version": 99}', "[]", "null", '"x"'])
def test_a_file_that_cannot_be_understood_is_told_and_left_as_it_is(tmp_path: Path, text: str) -> None:
    file = tmp_path / "console.json"
    file.write_text(text)
    file.chmod(0o600)
    remembered = Remembered(tmp_path)
    assert "console.json" in remembered.problem and "moved away" in remembered.problem
    remembered.choose_theme("pilothouse-paper", None)
    assert file.read_text() == text
    assert remembered.theme(None) == "pilothouse-paper", "for this run it holds"


def test_a_file_that_others_can_change_or_a_link_is_not_followed(tmp_path: Path) -> None:
    file = tmp_path / "console.json"
    file.write_text(json.dumps({"version": 1, "theme": {"name": "evil", "over": None}}))
    file.chmod(0o666)
    assert Remembered(tmp_path).theme(None) is None
    file.chmod(0o600)
    assert Remembered(tmp_path).theme(None) == "evil"
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert Remembered(tmp_path).theme(None) is None


def test_a_folder_that_cannot_be_written_costs_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    remembered = Remembered(tmp_path / "state")
    remembered.typed("line", "cancel 1")
    assert "cannot be" in remembered.problem and remembered.history("line") == ["cancel 1"]


def test_without_a_folder_nothing_outlives_the_run() -> None:
    remembered = Remembered()
    remembered.choose_theme("pilothouse-paper", None)
    remembered.choose_view("sort", "jobs", ["name"])
    remembered.typed("line", "job 1")
    assert remembered.theme(None) == "pilothouse-paper" and remembered.of_view("sort", "jobs") == ("name",)
    assert remembered.history("line") == ["job 1"] and remembered.problem == ""


@pytest.mark.parametrize("odd", [{"theme": 3}, {"theme": {"name": 3}}, {"sort": []}, {"sort": {"jobs": [3]}}])
def test_odd_values_are_no_choice(tmp_path: Path, odd: dict[str, object]) -> None:
    file = tmp_path / "console.json"
    file.write_text(json.dumps({"version": 1, **odd}))
    file.chmod(0o600)
    remembered = Remembered(tmp_path)
    assert remembered.theme(None) is None and remembered.of_view("sort", "jobs") is None
