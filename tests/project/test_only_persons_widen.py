"""What widens an agent's reach is called from screens and the command line alone: no tool leads there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WIDENING = {"widen", "engage"}
APPROVING = {"approve"}
PERSONS = ("console/screens/", "console/cli/", "console/app.py", "widgets/")
GATE = "console/gate/"


def calls(source: str, names: set[str]) -> list[str]:
    return [
        node.func.attr
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names
    ]


def modules() -> list[str]:
    names = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "console").rglob("*.py"))]
    return [name for name in names if not name.startswith((*PERSONS, GATE))]


@pytest.mark.parametrize("module", modules())
def test_nothing_else_widens_or_approves(module: str) -> None:
    assert calls((ROOT / module).read_text(), WIDENING | APPROVING) == []


def test_the_check_sees_it() -> None:
    assert calls("await gate.agents.widen(scope)\nawait gate.approve(p, a)", WIDENING | APPROVING) == [
        "widen",
        "approve",
    ]
