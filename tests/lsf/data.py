"""The recordings of tests/data/lsf, and the moment they were taken."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from adapters.command import Finished

FOLDER = Path(__file__).resolve().parents[1] / "data" / "lsf"
NOW = datetime(2026, 11, 30, 2, 0, tzinfo=UTC)
"""Shortly after the recordings of volclava/, which are in UTC."""


def raw(name: str) -> bytes:
    return (FOLDER / name).read_bytes()


def text(name: str) -> str:
    return raw(name).decode("utf-8", "surrogateescape")


@cache
def answers() -> dict[str, dict[str, Any]]:
    """Name -> one recorded command of answers.jsonl."""
    lines = (FOLDER / "volclava" / "answers.jsonl").read_text().splitlines()
    return {entry["name"]: entry for entry in map(json.loads, lines)}


def finished(name: str) -> Finished:
    """A recorded command as if it had just run."""
    entry = answers()[name]
    return Finished(
        tuple(entry["argv"]), entry["rc"], entry["stdout"].encode(), entry["stderr"].encode(), float(entry["seconds"])
    )
