"""Terminals of every kind: colours, names, multiplexers, a locale without UTF-8, and sizes down to one cell."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.harness.demo import COMMAND
from tests.harness.pty_console import PtyConsole
from tests.ui.test_terminal import gave_the_terminal_back, open_console

if TYPE_CHECKING:
    from adapters.local.launch import EmbeddedCluster

pytestmark = pytest.mark.usefixtures("state_dir")
RGB, INDEXED = re.compile(rb"[34]8;2;"), re.compile(rb"[34]8;5;")


def quit_at_once(console: PtyConsole) -> None:
    console.press("q")
    assert console.wait_exit() == 0
    assert gave_the_terminal_back(console)


@pytest.mark.parametrize(
    ("env", "allowed"),
    [
        ({"TERM": "xterm", "COLORTERM": ""}, ()),
        ({"TERM": "screen", "COLORTERM": ""}, ()),
        ({"TERM": "linux", "COLORTERM": ""}, ()),
        ({"TERM": "screen-256color", "COLORTERM": ""}, (INDEXED,)),
        ({"TERM": "tmux-256color", "COLORTERM": ""}, (INDEXED,)),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, (INDEXED, RGB)),
    ],
    ids=lambda value: value.get("TERM", "") if isinstance(value, dict) else "",
)
def test_no_more_colours_are_sent_than_the_terminal_has(
    embedded_cluster: EmbeddedCluster, env: dict[str, str], allowed: tuple[re.Pattern[bytes], ...]
) -> None:
    with open_console(embedded_cluster.config, **env) as console:
        console.wait_for(lambda text: "node1" in text and "Jobs" in text)
        console.press("?")
        console.wait_for("Go to the next pane")
        console.press("escape")
        for kind in (RGB, INDEXED):
            assert kind in allowed or not kind.search(bytes(console.raw)), kind.pattern
        console.wait_for(lambda text: "Go to the next pane" not in text)
        quit_at_once(console)


@pytest.mark.parametrize("env", [{"LC_ALL": "C"}, {"LANG": "C"}], ids=["LC_ALL", "LANG"])
def test_a_locale_without_utf8_gets_ascii_and_everything_in_its_place(
    embedded_cluster: EmbeddedCluster, env: dict[str, str]
) -> None:
    with open_console(embedded_cluster.config, **{"LC_ALL": "", "LANG": "", "LC_CTYPE": "", **env}) as console:
        console.wait_for(lambda text: "+- 1 Jobs" in text and "node1" in text)
        edges = [line for line in console.text.splitlines() if line.startswith("|") and line.rstrip().endswith("|")]
        assert len(edges) > 10 and {len(line) for line in edges} == {120}
        console.press("3", "e")
        console.wait_for("New quota")
        console.press("escape")
        console.wait_for(lambda text: "New quota" not in text)
        assert bytes(console.raw).isascii()
        quit_at_once(console)


def test_storms_of_sizes_down_to_one_cell_with_a_dialog_open(embedded_cluster: EmbeddedCluster) -> None:
    with open_console(embedded_cluster.config) as console:
        console.wait_for("node1")
        for key in ("?", "N", ":"):
            console.press(key)
            for columns, lines in [(1, 1), (200, 60), (2, 1), (1, 50), (80, 24), (1, 1)] * 4:
                console.resize(columns, lines)
                console.pump(0.01)
            console.resize(120, 40)
            console.wait_for({"?": "Go to the next pane", "N": "New job", ":": "Commands"}[key])
            console.press("escape")
            console.wait_for(lambda text: "New job " not in text and "╭─ 1 Jobs" in text and "node1" in text)
        quit_at_once(console)


@pytest.mark.parametrize("program", ["tmux", "screen"])
def test_in_a_multiplexer(embedded_cluster: EmbeddedCluster, tmp_path: Path, program: str) -> None:
    """Keys, dialogs and the end of it, through a terminal inside a terminal."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed here")
    name = f"pilothouse-{uuid.uuid4().hex[:8]}"
    command = [COMMAND, "--config", str(embedded_cluster.config)]
    if program == "tmux":
        argv = ["tmux", "-L", name, "-f", "/dev/null", "new-session", *command]
        end = ["tmux", "-L", name, "kill-server"]
    else:
        argv = ["screen", "-c", "/dev/null", "-U", "-S", name, *command]
        end = ["screen", "-S", name, "-X", "quit"]
    folder = tmp_path / "s"
    folder.mkdir(mode=0o700)
    env = {"SCREENDIR": str(folder), "TMUX_TMPDIR": str(folder), "COLORTERM": ""}
    try:
        with PtyConsole(argv, columns=120, lines=40, env=env) as console:
            console.wait_for(lambda text: "node1" in text and "Jobs" in text, 30)
            console.press("?")
            console.wait_for("Go to the next pane")
            console.press("q")  # not Esc: screen keeps one that comes while it writes until another key follows
            console.wait_for(lambda text: "Go to the next pane" not in text, 30)
            console.press("3", "down", "up", "space")
            console.wait_for("1 marked", 30)
            console.resize(90, 30)
            console.wait_for("1 marked", 30)
            console.press("q")
            console.wait_exit(30)
    finally:
        subprocess.run(end, env=env, capture_output=True, check=False)


def test_a_terminal_that_takes_nothing_keeps_nobody_from_ending_it(embedded_cluster: EmbeddedCluster) -> None:
    """As when a session was left behind a dead line: nobody reads, and the buffers are full."""
    with open_console(embedded_cluster.config) as console:
        console.wait_for("node1")
        for size in range(60, 160):
            console.resize(size, 40)  # each paints all of it, and nothing is read
            console.press("?", "escape")
        console.signal(signal.SIGTERM)
        console.process.wait(30)
        assert console.process.returncode == 128 + signal.SIGTERM
