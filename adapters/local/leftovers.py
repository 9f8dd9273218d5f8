"""What an earlier worker has left: runs whose supervisors end by themselves, and results that wait to be reported."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.local import runs

PATIENCE = 5.0  # seconds for supervisors of a dead worker to end their jobs before they are ended from here


@dataclass(frozen=True, slots=True)
class Left:
    """A run that is over, with its result."""

    task_id: int
    lease: str
    result: dict[str, Any]
    folder: Path
    script: str | None = None


def parse(line: bytes) -> dict[str, Any]:
    """A line of the supervisor; empty where it is none."""
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def settle(tasks: Path) -> list[Left]:
    """Wait for what an earlier worker ran to be over, and collect the results. Nothing of it runs afterwards."""
    folders = [folder for folder in tasks.iterdir() if folder.is_dir()]
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and any(runs.read_result(f) is None and runs.supervised(f) for f in folders):
        time.sleep(0.05)
    return [left for folder in folders if (left := _collect(folder)) is not None]


def _collect(folder: Path) -> Left | None:
    result = runs.read_result(folder)
    if result is None:
        runs.end_group(folder, folder.name)
        result = {"state": "lost", "reason": "its worker and its supervisor died"}
    try:
        task = json.loads((folder / "task.json").read_text("utf-8"))
    except (OSError, ValueError):
        shutil.rmtree(folder, ignore_errors=True)  # it was never started
        return None
    script = task["argv"][0] if str(task["argv"][0]).endswith(f"pilothouse-{task['lease']}.sh") else None
    return Left(int(task["task_id"]), str(task["lease"]), result, folder, script)


def discard(left: Left) -> None:
    """Its report is accepted."""
    if left.script:
        Path(left.script).unlink(missing_ok=True)
    shutil.rmtree(left.folder, ignore_errors=True)
