"""The table of attacks names tests that exist, and leaves no case without one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = (Path(__file__).parent / "CASES.md").read_text()
ROWS = {int(found[1]): found[0] for found in re.finditer(r"^\| (\d+) \|.*$", TABLE, re.MULTILINE)}
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def names_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize("number", ROWS)
def test_every_case_has_tests_that_exist(number: int) -> None:
    named = NAMED.findall(ROWS[number])
    assert named or "does not arise" in ROWS[number]
    missing = [f"{path}::{name}" for path, name in named if name not in names_in(ROOT / path)]
    assert not missing


def test_the_table_is_read() -> None:
    assert len(ROWS) == 36
