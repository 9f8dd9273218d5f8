"""What the tests of the project look at: the files under version control, and the modules of the three packages."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("adapters", "widgets", "console")


def tracked_files() -> list[Path]:
    """Every file of the project: those under version control, or all but build products where there is no git."""
    if (ROOT / ".git").exists():
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]
    skipped = (".venv", "__pycache__", "build", "dist", ".pytest_cache", ".mypy_cache", ".ruff_cache")
    return [
        path
        for path in ROOT.rglob("*")
        if path.is_file() and not any(part in skipped or part.endswith(".egg-info") for part in path.parts)
    ]


def module_names() -> list[str]:
    """Every module of the three packages, packages as such."""
    names = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return names
