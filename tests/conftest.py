"""What every test stands on: a fixed environment, and nothing left over at the end of the run.

The environment is set when this file is imported, before any module of ours is: HOME, the XDG folders and the state
folder lie in one temporary folder, the terminal is a truecolor xterm, the zone is UTC, and no colour, locale or
cluster setting of the person who runs the tests shows through.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

if TYPE_CHECKING:
    from adapters.local.launch import EmbeddedCluster

pytest_plugins = ("tests.audit_proof",)

RUN_MARK = "PILOTHOUSE_TEST_RUN"
_HOME = Path(tempfile.mkdtemp(prefix="pilothouse-tests-"))
_FOREIGN = ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "TMUX", "PYTHONPATH")
_FOREIGN_PREFIXES = (
    "TEXTUAL", "PILOTHOUSE", "SQUEUE_", "SBATCH_", "SLURM_", "SINFO_", "LSB_", "LSF_", "DCTS_", "ANTHROPIC_",
)  # fmt: skip


def _fixed_environment() -> dict[str, str]:
    """The variables every test sees; folders are made."""
    folders = {
        "HOME": _HOME / "home",
        "XDG_CONFIG_HOME": _HOME / "config",
        "XDG_STATE_HOME": _HOME / "state",
        "XDG_DATA_HOME": _HOME / "data",
        "XDG_CACHE_HOME": _HOME / "cache",
        "XDG_RUNTIME_DIR": _HOME / "runtime",
        "PILOTHOUSE_STATE_DIR": _HOME / "pilothouse-state",
    }
    for folder in folders.values():
        folder.mkdir(mode=0o700)
    return {name: str(folder) for name, folder in folders.items()} | {
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "TZ": "UTC",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TEXTUAL_ANIMATIONS": "none",
        RUN_MARK: _HOME.name,
    }


for _name in list(os.environ):
    if _name.startswith("TEXTUAL_SNAPSHOT_"):
        continue  # the plugin for snapshots tells its processes where to leave what differs
    if _name in _FOREIGN or _name.startswith(_FOREIGN_PREFIXES) or _name.startswith("XDG_"):
        del os.environ[_name]
os.environ.update(_fixed_environment())
time.tzset()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bench", action="store_true", help="run tests/bench too: measure the budgets of the design")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "bench: measures a budget; runs only with --bench")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without --bench, tests marked `bench` are left out, and the summary counts them as deselected."""
    if config.getoption("--bench"):
        return
    benches = [item for item in items if item.get_closest_marker("bench")]
    if benches:
        config.hook.pytest_deselected(items=benches)
        items[:] = [item for item in items if not item.get_closest_marker("bench")]


def processes_of_this_run() -> list[psutil.Process]:
    """Every process that a test started and that still lives, orphans too: they carry our mark in their environment."""
    return [process for process in psutil.process_iter() if process.pid != os.getpid() and _is_of_this_run(process)]


def _is_of_this_run(process: psutil.Process) -> bool:
    try:
        return process.environ().get(RUN_MARK) == _HOME.name and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A process that outlives the tests fails the run: what a test starts, it ends."""
    deadline = time.monotonic() + 5
    while (left := processes_of_this_run()) and time.monotonic() < deadline:
        time.sleep(0.05)
    for process in left:
        try:
            command = " ".join(process.cmdline())
            process.kill()
        except psutil.Error:
            continue
        print(f"\nleft over at the end of the tests: process {process.pid}: {command}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    shutil.rmtree(_HOME, ignore_errors=True)


@pytest.fixture(autouse=True)
def _no_blinking_cursor(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cursor that blinks makes a snapshot depend on the moment it is taken."""
    import sys

    if "textual.widgets" in sys.modules:
        from textual.widgets import Input, TextArea

        monkeypatch.setattr(Input, "cursor_blink", False, raising=False)
        monkeypatch.setattr(TextArea, "cursor_blink", False, raising=False)
    yield


@pytest.fixture
def state_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder (audit log, keys) of this test's own."""
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("PILOTHOUSE_STATE_DIR", str(folder))
    return folder


@pytest.fixture(scope="session")
def embedded_cluster() -> Iterator[EmbeddedCluster]:
    """A real embedded cluster for the whole run: one server, two workers of 4 slots (node1, node2).

    Tests that share it leave it as it was: no quota, no drained node, no job of theirs that goes on.
    """
    from adapters.local.launch import launch

    with launch(workers=2, slots=4) as cluster:
        yield cluster
