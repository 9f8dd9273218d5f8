"""Budgets of the start: what is loaded, and how long it takes beside a bare interpreter."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.bench

COMMAND = str(Path(sysconfig.get_path("scripts")) / "pilothouse")
ROUNDS = 15


def seconds_of(argv: list[str]) -> float:
    """CPU seconds, user and system, of one run: what a busy machine does not change much."""
    before = os.times()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return (after.children_user - before.children_user) + (after.children_system - before.children_system)


def test_help_costs_at_most_three_times_a_bare_interpreter() -> None:
    bare, told = [], []
    for _ in range(ROUNDS):
        bare.append(seconds_of([sys.executable, "-c", "pass"]))
        told.append(seconds_of([COMMAND, "--help"]))
    ratio = statistics.median(told) / statistics.median(bare)
    print(f"\n--help: {statistics.median(told) * 1000:.0f} ms CPU, {ratio:.2f} times a bare interpreter (3)")
    assert ratio <= 3


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("console.cli.parser", ("textual", "rich", "httpx", "pydantic", "anthropic", "mcp")),
        ("console.config", ("textual", "rich", "httpx", "anthropic", "mcp")),
        ("console.cli.jobs", ("textual", "anthropic", "mcp", "starlette", "uvicorn")),
        ("console.app", ("anthropic", "mcp", "starlette", "uvicorn")),
    ],
)
def test_what_a_start_does_not_load(module: str, heavy: tuple[str, ...]) -> None:
    code = (
        f"import json, sys, time; began = time.process_time(); import {module}; took = time.process_time() - began\n"
        "print(json.dumps([took, len(sys.modules), sorted({name.partition('.')[0] for name in sys.modules})]))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    seconds, count, loaded = json.loads(done.stdout)
    print(f"\n{module}: {seconds * 1000:.0f} ms CPU, {count} modules")
    assert set(heavy) & set(loaded) == set()


def test_subcommands_start() -> None:
    """For orientation: wall time of a command that reads the configuration and nothing else."""
    began = time.monotonic()
    subprocess.run([COMMAND, "config", "path"], check=True, stdout=subprocess.DEVNULL)
    print(f"\nconfig path: {(time.monotonic() - began) * 1000:.0f} ms")
