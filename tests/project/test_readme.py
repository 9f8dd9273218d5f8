"""The README says what is so."""

from __future__ import annotations

import re

import pytest

from console.cli import SUBCOMMANDS, Subcommand
from console.cli.exits import MEANINGS
from tests.project.readme_keys import README, keys_table, table_in
from tests.project.tree import ROOT, tracked_files

TEXT = README.read_text()


def test_the_two_commands_stand_at_its_top() -> None:
    head = "\n".join(TEXT.splitlines()[:12])
    assert "make demo" in head and "make test" in head


def test_the_keys_are_those_of_the_table_of_commands() -> None:
    """`python -m tests.project.readme_keys` writes them anew."""
    assert table_in(TEXT) == keys_table()


@pytest.mark.parametrize("row", SUBCOMMANDS, ids=lambda row: row.name)
def test_every_command_is_named(row: Subcommand) -> None:
    name = row.name
    assert re.search(rf"`(?:pilothouse )?{name}\b|pilothouse {name}\b", TEXT)


@pytest.mark.parametrize(("code", "meaning"), MEANINGS)
def test_every_exit_code_is_told(code: int, meaning: str) -> None:
    assert f"| {code} | {meaning} |" in TEXT


def test_every_link_within_the_project_leads_somewhere() -> None:
    pages = [path for path in tracked_files() if path.suffix == ".md"]
    for page in pages:
        for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in link:
                assert (page.parent / link).exists(), f"{page.relative_to(ROOT)}: {link}"
