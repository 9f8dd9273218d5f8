"""Only the gate holds a Writer: nothing else of the console imports one, opens an adapter, or reaches into the gate."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# The table opens adapters, the engine hands the Writer on, the gate keeps it.
MAY = {"console/adapters.py", "console/engine.py"}
GATE = "console/gate/"
OPENERS = {"open_native", "open_slurm", "open_lsf", "open_kubernetes", "open_replay"}
PRIVATE = {"_doors", "_writer", "writer", "_waiting"}


def breaches(source: str) -> list[str]:
    """What a module has in it that only the gate and its two helpers may have."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = {alias.name for alias in node.names}
            if node.module == "adapters.base" and "Writer" in names:
                found.append("imports Writer")
            if node.module.startswith("adapters.") and (".writer" in node.module or names & OPENERS):
                found.append(f"imports from {node.module}")
            if node.module == "console.adapters" or node.module.startswith("console.gate."):
                found.append(f"imports from {node.module}")
        elif isinstance(node, ast.Import):
            found += [
                f"imports {a.name}" for a in node.names if a.name.endswith(".writer") or a.name == "console.adapters"
            ]
        elif isinstance(node, ast.Attribute) and node.attr in PRIVATE and ast.unparse(node) != "csv.writer":
            found.append(f"reaches for .{node.attr}")
    return found


def modules() -> list[str]:
    files = [*(ROOT / "console").rglob("*.py"), *(ROOT / "widgets").rglob("*.py")]
    names = [path.relative_to(ROOT).as_posix() for path in sorted(files)]
    return [name for name in names if name not in MAY and not name.startswith(GATE)]


@pytest.mark.parametrize("module", modules())
def test_no_writer_outside_the_gate(module: str) -> None:
    assert breaches((ROOT / module).read_text()) == []


@pytest.mark.parametrize(
    "source",
    [
        "from adapters.base import Reader, Writer",
        "from adapters.native.writer import NativeWriter",
        "import adapters.native.writer",
        "from adapters.native import open_native",
        "from console.adapters import open_cluster",
        "from console.gate.send import Sender",
        "engine.gate._doors['x'].writer.send(step)",
    ],
)
def test_the_check_finds_a_way_around(source: str) -> None:
    assert breaches(source)
