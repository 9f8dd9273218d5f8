"""A person's own command: what it is told, and that it is bounded."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from adapters.model import Job
from console.hooks import AT_ONCE, WAITING, HookRunner, JobChange, environment
from console.profiles import Hooks

JOB = Job(
    "7", "train [/x]\x1b[2J", "failed", queue="gpu", owner="alice", exit_code=2, reason="Out of memory", cluster="a"
)  # fmt: skip
CHANGE = JobChange(JOB, "running", "failed", True)


def hook(script: str, **more: Any) -> Hooks:
    return Hooks.model_validate({"on_change": (sys.executable, "-c", script), **more})


def started(folder: Path) -> int:
    return len(list(folder.iterdir()))


async def until(condition: Callable[[], object], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come true"
        await asyncio.sleep(0.02)


async def test_it_is_told_by_its_environment_and_its_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JWT", "secret")
    monkeypatch.setenv("MY_TOKEN", "secret")
    out = tmp_path / "told.json"
    script = (
        "import json, os, sys; told = {'env': dict(os.environ), 'in': json.load(sys.stdin)};"
        f"f = open({str(out) + '.part'!r}, 'w'); json.dump(told, f); f.close(); os.rename(f.name, {str(out)!r})"
    )
    said: list[str] = []
    runner = HookRunner(hook(script), said.append)
    runner.run(CHANGE)
    await until(out.exists)
    await runner.stop()
    told = json.loads(out.read_text())
    facts = {name: value for name, value in told["env"].items() if name.startswith("PILOTHOUSE_")}
    assert facts == {
        "PILOTHOUSE_CLUSTER": "a", "PILOTHOUSE_JOB_ID": "7", "PILOTHOUSE_JOB_NAME": facts["PILOTHOUSE_JOB_NAME"],
        "PILOTHOUSE_OWNER": "alice", "PILOTHOUSE_QUEUE": "gpu", "PILOTHOUSE_STATUS": "failed",
        "PILOTHOUSE_STATUS_BEFORE": "running", "PILOTHOUSE_EXIT_CODE": "2", "PILOTHOUSE_REASON": "Out of memory",
    }  # fmt: skip
    assert "\x1b" not in facts["PILOTHOUSE_JOB_NAME"] and facts["PILOTHOUSE_JOB_NAME"].startswith("train [/x]")
    assert "secret" not in told["env"].values()
    assert told["in"]["version"] == 1 and told["in"]["job"]["id"] == "7" and told["in"]["before"] == "running"
    assert said == []


def test_of_our_environment_only_what_is_needed_goes_on() -> None:
    ours = {"PATH": "/bin", "LC_ALL": "C", "XCE_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "KUBECONFIG": "k", "A": "b"}
    kept = {name for name in environment(CHANGE, ours) if not name.startswith("PILOTHOUSE_")}
    assert kept == {"PATH", "LC_ALL"}


@pytest.mark.parametrize(
    ("more", "watched", "wanted"),
    [
        ({}, True, True), ({}, False, True), ({"jobs": "watched"}, False, False), ({"jobs": "own"}, True, False),
        ({"states": ("failed",)}, True, True), ({"states": ("running",)}, True, False),
    ],
)  # fmt: skip
def test_for_which_changes_it_is_wanted(more: dict[str, Any], watched: bool, wanted: bool) -> None:
    runner = HookRunner(hook("pass", **more), lambda text: None)
    assert runner.wants(CHANGE._replace(watched=watched)) is wanted
    assert not HookRunner(Hooks(), lambda text: None).wants(CHANGE)


async def test_what_goes_wrong_is_said() -> None:
    said: list[str] = []
    runner = HookRunner(hook("import sys; sys.exit(3)"), said.append)
    runner.run(CHANGE)
    await until(lambda: said)
    assert said[0].endswith("failed with exit code 3.")
    missing = HookRunner(Hooks(on_change=("/nowhere/at/all",)), said.append)
    missing.run(CHANGE)
    await until(lambda: len(said) == 2)
    assert said[1] == "The hook /nowhere/at/all cannot be run: No such file or directory."


async def test_one_that_does_not_end_is_ended_with_all_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = (
        "import os, subprocess, sys, time;"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
        f"f = open({str(pids) + '.part'!r}, 'w'); f.write(f'{{os.getpid()}} {{child.pid}}'); f.close();"
        f"os.rename(f.name, {str(pids)!r}); time.sleep(600)"
    )
    said: list[str] = []
    runner = HookRunner(hook(script, timeout=300.0), said.append)
    runner.run(CHANGE)
    await until(pids.exists)
    await runner.stop()
    for pid in map(int, pids.read_text().split()):
        await until(lambda pid=pid: not _alive(pid))  # type: ignore[misc]
    late = HookRunner(hook("import time; time.sleep(600)", timeout=0.05), said.append)
    late.run(CHANGE)
    await until(lambda: said)
    assert said == ["The hook did not end within 0.05 s and was ended."]


def _alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def test_no_more_than_a_few_run_and_a_hundred_wait(tmp_path: Path) -> None:
    """Each notes that it runs; the first four are kept there until all changes have come."""
    script = f"import os, time; open(os.path.join({str(tmp_path)!r}, str(os.getpid())), 'w').close(); time.sleep(600)"
    said: list[str] = []
    runner = HookRunner(hook(script), said.append)
    for _ in range(AT_ONCE + WAITING + 7):
        runner.run(CHANGE)
    await until(lambda: started(tmp_path) == AT_ONCE)
    await runner.stop()
    assert said[-1] == "The hook is too slow: 7 changes were not passed to it."
    assert started(tmp_path) == AT_ONCE
