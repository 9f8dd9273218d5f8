"""To the shell and back, sequences in pieces, pastes, and the end of it: on a real terminal, as a program."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.harness.demo import COMMAND, rows, run_command
from tests.harness.pty_console import PtyConsole
from tests.ui.test_terminal import gave_the_terminal_back, open_console

if TYPE_CHECKING:
    from adapters.local.launch import EmbeddedCluster

pytestmark = pytest.mark.usefixtures("state_dir")
SOON = 30.0  # seconds: a deadline, not a measure


def wait_until(console: PtyConsole, condition: Callable[[], object], what: str) -> None:
    """Read the terminal until something is so that does not show on it."""
    console.wait_for(lambda text: condition(), SOON, what)


# -- to the shell and back --------------------------------------------------------------------------------------------


@pytest.fixture
def shell() -> Iterator[PtyConsole]:
    """A shell with job control on the terminal."""
    argv = [shutil.which("bash") or "sh", *(["--norc", "--noprofile"] if shutil.which("bash") else []), "-i"]
    with PtyConsole(argv, columns=120, lines=40, env={"PS1": "$ ", "COMMAND": COMMAND, "HISTFILE": ""}) as console:
        console.wait_for("$")
        yield console


@pytest.mark.parametrize("wrapped", [False, True], ids=["alone", "started by another program"])
def test_ctrl_z_leads_to_the_shell_from_anywhere_and_fg_back(
    shell: PtyConsole, embedded_cluster: EmbeddedCluster, wrapped: bool
) -> None:
    """As under `make demo`: a program that has started us and waits is stopped with us, else the shell would wait."""
    run = f'"$COMMAND" --config {embedded_cluster.config}'
    shell.type(f"sh -c '{run}; true'\r" if wrapped else f"{run}\r")
    shell.wait_for(lambda text: "node1" in text and "1 Jobs" in text, SOON)
    for way in ("", "?", "N"):
        if way:
            shell.press(way)
            shell.wait_for("Go to the next pane" if way == "?" else "Memory", SOON)
        shell.press("ctrl+z")
        shell.wait_for("Stopped", SOON)
        assert gave_the_terminal_back(shell)
        shell.type("clear; stty -a | grep -qE '(^| )isig icanon' && echo the shell is sane\r")
        shell.wait_for(lambda text: "\nthe shell is sane" in text or text.startswith("the shell is sane"), SOON)
        shell.type("fg\r")
        shell.wait_for({"?": "Go to the next pane", "N": "Memory", "": "1 Jobs"}[way], SOON)
        if way:
            shell.press("escape")
            shell.wait_for(lambda text: "1 Jobs" in text and "node1" in text and "Memory" not in text, SOON)
    shell.press("q")
    wait_until(shell, lambda: gave_the_terminal_back(shell), "to leave")
    shell.type("echo left with $?\r")
    shell.wait_for("left with 0", SOON)


def test_without_a_shell_ctrl_z_says_so_and_goes_on(embedded_cluster: EmbeddedCluster) -> None:
    with open_console(embedded_cluster.config) as console:
        console.wait_for("node1")
        console.press("ctrl+z")
        console.wait_for("There is no shell to go back to here.", SOON)
        console.press("?")
        console.wait_for("Go to the next pane", SOON)


def test_stopped_from_outside_it_comes_back_whole_and_reads_each_key_once(embedded_cluster: EmbeddedCluster) -> None:
    with open_console(embedded_cluster.config) as console:
        console.wait_for("node1")
        console.press("3")
        process = psutil.Process(console.process.pid)
        for _ in range(2):
            console.signal(signal.SIGSTOP)
            wait_until(console, lambda: process.status() == psutil.STATUS_STOPPED, "to be stopped")
            before = len(console.raw)
            console.signal(signal.SIGCONT)
            wait_until(console, lambda at=before: b"\x1b[?1049h" in console.raw[at:], "to come back")  # type: ignore[misc]
            console.wait_for(lambda text: "node1" in text and "1 Jobs" in text, SOON)
        console.press("space")
        console.wait_for("1 marked", SOON)
        console.press("q")
        assert console.wait_exit(SOON) == 0
        assert gave_the_terminal_back(console)


# -- keys in pieces, and pastes ---------------------------------------------------------------------------------------


def test_sequences_that_come_byte_by_byte_are_the_keys_they_are(embedded_cluster: EmbeddedCluster) -> None:
    with open_console(embedded_cluster.config) as console:
        console.wait_for(lambda text: "node1" in text and "node2" in text)
        console.press("3")
        for piece in ("\x1b", "[", "1", ";", "2", "B"):  # Shift+Down marks the row and moves on
            console.write(piece.encode())
            console.pump(0.3)
        console.wait_for("1 marked", SOON)
        for piece in ("\x1b", "[<35;", "10;10M"):  # a move of the mouse; M would modify a job
            console.write(piece.encode())
            console.pump(0.3)
        console.press("?")
        console.wait_for("Go to the next pane", SOON)
        console.press("q")
        console.wait_for(lambda text: "Go to the next pane" not in text and "node1" in text, SOON)


MEGABYTE = b"KyqN\r\x1b[Ax" * 116_509
PLACES = {"the main screen": "", "the filter": "/", "the line of commands": ":", "a form": "N"}


@pytest.mark.parametrize("marked", [True, False], ids=["marked", "not marked"])
def test_a_megabyte_pasted_anywhere_is_dropped_and_never_keys(embedded_cluster: EmbeddedCluster, marked: bool) -> None:
    """A terminal that does not mark pastes sends them as keys; those of this one have no sequences in them."""
    text = b"\x1b[200~" + MEGABYTE + b"\x1b[201~" if marked else MEGABYTE.replace(b"\x1b[A", b"")
    with open_console(embedded_cluster.config) as console:
        console.wait_for("node1")
        jobs = len(rows("jobs", embedded_cluster.config))
        for place, key in PLACES.items():
            if key:
                console.press(key)
                console.pump(0.3)
            _write_all(console, text)
            if marked:
                console.wait_for("65,536", SOON, f"that the paste into {place} was dropped")
            console.pump(0.5)
            assert console.process.poll() is None
            assert "y confirms" not in console.text
            for _ in range(2):
                console.press("escape")
                console.pump(0.5)
            console.wait_for(lambda text: "1 Jobs" in text and "New job" not in text, SOON, f"to leave {place}")
        assert len(rows("jobs", embedded_cluster.config)) == jobs
        console.press("q")
        assert console.wait_exit(SOON) == 0


def _write_all(console: PtyConsole, data: bytes) -> None:
    """Write more than the terminal's buffer holds, and read what comes back meanwhile."""
    end = time.monotonic() + 60
    while data:
        try:
            data = data[os.write(console._master, data[:4096]) :]
        except BlockingIOError:
            assert time.monotonic() < end, "nobody reads what is pasted"
        console.pump()


# -- pager, editor, and the end ---------------------------------------------------------------------------------------

EDITOR = """
import os, signal, subprocess, sys
state = subprocess.run(["stty", "-a"], capture_output=True, text=True).stdout
print("EDITING", sys.argv[1], flush=True)
print("SANE" if {"isig", "icanon", "echo"} <= set(state.split()) else "NOT SANE", flush=True)
print("HOLDS", open(sys.argv[1]).read().split()[0], flush=True)
open(os.environ["EDITOR_WAS_HERE"], "w").write(f"{os.getpid()} {sys.argv[1]}")
if len(sys.argv) > 2:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
sys.stdin.readline()
"""


@pytest.fixture
def job(embedded_cluster: EmbeddedCluster) -> str:
    """The id of a job that has written to both streams, and is over."""
    script = "echo to-stdout; echo to-stderr >&2"
    done = run_command("submit", "--yes", "--name", "writer", "--", "sh", "-c", script, config=embedded_cluster.config)
    assert done.returncode == 0, done.stderr
    (made,) = [row["id"] for row in rows("jobs", embedded_cluster.config) if row["name"] == "writer"][-1:]
    waited = run_command("wait", made, config=embedded_cluster.config)
    assert waited.returncode == 0, waited.stderr + waited.stdout
    return str(made)


def editor(tmp_path: Path, *, stubborn: bool = False) -> dict[str, str]:
    """An editor that says what it found, and ends with Enter; a stubborn one does not hear SIGTERM."""
    program = tmp_path / "editor.py"
    program.write_text(EDITOR.replace("len(sys.argv) > 2", str(stubborn)))
    return {"VISUAL": f"{sys.executable} '{program}'", "EDITOR_WAS_HERE": str(tmp_path / "was-here")}


def open_log(console: PtyConsole, job: str) -> None:
    """The log of the newest job, which is on top."""
    console.wait_for(lambda text: "node1" in text and "writer" in text and job in text, SOON)
    console.quiet()
    console.press("l")
    console.wait_for("to-stdout", SOON)


def test_the_editor_has_the_terminal_and_gives_it_back(
    embedded_cluster: EmbeddedCluster, job: str, tmp_path: Path
) -> None:
    with open_console(embedded_cluster.config, **editor(tmp_path)) as console:
        open_log(console, job)
        console.press("E")
        console.wait_for("HOLDS to-stdout", SOON)
        assert "SANE" in console.text and "NOT SANE" not in console.text
        pid, file = (tmp_path / "was-here").read_text().split()
        assert Path(file).stat().st_mode & 0o777 == 0o600
        console.press("ctrl+c")  # it is for the editor alone, and throws away what was typed
        console.pump(0.5)
        console.press("enter")
        console.wait_for(lambda text: "stdout of job" in text and "EDITING" not in text, SOON)
        assert not Path(file).parent.exists() and not psutil.pid_exists(int(pid))
        console.press("e")
        console.wait_for("to-stderr", SOON)
        console.press("q")
        console.wait_for(lambda text: "1 Jobs" in text and "stderr of job" not in text, SOON)
        console.press("q")
        assert console.wait_exit(SOON) == 0
        assert gave_the_terminal_back(console)


@pytest.mark.skipif(shutil.which("less") is None, reason="there is no less here")
def test_the_pager_has_the_terminal_and_gives_it_back(embedded_cluster: EmbeddedCluster, job: str) -> None:
    with open_console(embedded_cluster.config, PAGER="less", LESS="") as console:
        open_log(console, job)
        console.press("v")
        console.wait_for(lambda text: "(END)" in text and "to-stdout" in text, SOON)
        console.press("ctrl+c")
        console.pump(0.5)
        console.press("q")
        console.wait_for("stdout of job", SOON)
        console.press("?")
        console.wait_for("In a log, here", SOON)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("what", ["a log is followed", "an editor is open", "a stubborn editor is open"])
def test_a_signal_leaves_no_process_no_copy_and_a_clean_terminal(
    embedded_cluster: EmbeddedCluster, job: str, tmp_path: Path, what: str, number: signal.Signals
) -> None:
    with open_console(embedded_cluster.config, **editor(tmp_path, stubborn="stubborn" in what)) as console:
        open_log(console, job)
        copy: Path | None = None
        if "editor" in what:
            console.press("E")
            console.wait_for("HOLDS to-stdout", SOON)
            copy = Path((tmp_path / "was-here").read_text().split()[1])
        family = psutil.Process(console.process.pid).children(recursive=True)
        console.signal(number)
        assert console.wait_exit(SOON) == 128 + number
        assert gave_the_terminal_back(console)
        assert "Traceback" not in console.text
        assert not [process for process in family if process.is_running() and process.status() != "zombie"]
        assert copy is None or not copy.parent.exists()
