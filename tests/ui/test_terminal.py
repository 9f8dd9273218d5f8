"""The console as a program on a terminal: it starts, survives its backend, and gives the terminal back."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.harness.demo import COMMAND
from tests.harness.pty_console import PtyConsole

if TYPE_CHECKING:
    from adapters.local.launch import EmbeddedCluster

pytestmark = pytest.mark.usefixtures("state_dir")
RESTORED = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1000l")


def open_console(config: Path, columns: int = 120, lines: int = 40, **env: str) -> PtyConsole:
    return PtyConsole([COMMAND, "--config", str(config)], columns=columns, lines=lines, env=env)


def gave_the_terminal_back(console: PtyConsole) -> bool:
    """Alternate screen left, cursor shown, mouse off, after all else."""
    last_paint = console.raw.rfind(b"\x1b[?1049h")
    return all(console.raw.rfind(mark) > last_paint for mark in RESTORED)


@pytest.fixture
def own_cluster() -> Iterator[EmbeddedCluster]:
    """An embedded cluster that the test may stop and start."""
    from adapters.local.launch import launch

    with launch(workers=1, slots=2) as cluster:
        yield cluster


def test_it_quits_at_the_root_only(embedded_cluster: EmbeddedCluster) -> None:
    with open_console(embedded_cluster.config) as console:
        console.wait_for("node1")
        console.press("escape", "escape", "?")
        console.wait_for("Go to the next pane")
        console.press("q")
        console.wait_for(lambda text: "Go to the next pane" not in text)
        assert console.process.poll() is None
        console.press("q")
        assert console.wait_exit() == 0
        assert gave_the_terminal_back(console)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_a_clean_terminal(embedded_cluster: EmbeddedCluster, number: signal.Signals) -> None:
    with open_console(embedded_cluster.config) as console:
        console.wait_for("node1")
        console.signal(number)
        assert console.wait_exit() == 128 + number
        assert gave_the_terminal_back(console)
        assert "Traceback" not in console.text


def test_a_lost_terminal_ends_it(embedded_cluster: EmbeddedCluster) -> None:
    with open_console(embedded_cluster.config) as console:
        console.wait_for("node1")
        console.hang_up()
        console.process.wait(20)
        assert not psutil.pid_exists(console.process.pid)


def test_it_follows_the_size_of_the_terminal(embedded_cluster: EmbeddedCluster) -> None:
    with open_console(embedded_cluster.config, 200, 60) as console:
        console.wait_for(lambda text: "Jobs" in text and "node1" in text)
        for columns, lines in ((80, 24), (40, 10), (120, 40)):
            console.resize(columns, lines)
            console.quiet(0.4)
            assert console.process.poll() is None
        console.wait_for(lambda text: "Jobs" in text and "Queues" in text and "node1" in text)


def test_a_server_that_dies_is_said_and_comes_back(own_cluster: EmbeddedCluster) -> None:
    with open_console(own_cluster.config) as console:
        console.wait_for(lambda text: "node1" in text and "live" in text)
        assert own_cluster.server is not None
        own_cluster.server.end(signal.SIGKILL)
        console.wait_for(lambda text: "stale" in text or "failed" in text, 30)
        assert "node1" in console.text  # what was known stays, marked as old
        console.press("?")
        console.wait_for("Go to the next pane")
        console.press("escape")
        own_cluster.restart_server()
        console.press("r")
        console.wait_for(lambda text: "live" in text and "stale" not in text and "failed" not in text, 60)


def test_a_server_that_is_not_there_at_the_start_is_said_and_found_later(own_cluster: EmbeddedCluster) -> None:
    assert own_cluster.server is not None
    own_cluster.server.end(signal.SIGKILL)
    own_cluster.server.wait(10)
    with open_console(own_cluster.config) as console:
        port = own_cluster.url.rsplit(":", 1)[1]
        console.wait_for(lambda text: "failed" in text and port in text.replace("\n", ""), 30)
        own_cluster.restart_server()
        console.press("r")
        console.wait_for(lambda text: "live" in text and "node1" in text, 60)


def test_no_color_leaves_the_colours_of_the_terminal(embedded_cluster: EmbeddedCluster) -> None:
    """No colour is sent, and the cursor is still to be seen."""
    with open_console(embedded_cluster.config, NO_COLOR="1") as console:
        console.wait_for("node1")
        console.press("3")
        console.quiet(0.4)
        cells = [[console.screen.buffer[y][x] for x in range(120)] for y in range(40)]
        assert {(cell.fg, cell.bg) for line in cells for cell in line} == {("default", "default")}
        marked = [sum(cell.reverse or cell.underscore for cell in line) for line in cells]
        assert max(marked) >= 40


def test_the_configuration_is_read_before_the_screen_is_taken(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("version = 1\nread_onyl = true\n")
    with open_console(config) as console:
        assert console.wait_exit() == 2
        assert "line 2: read_onyl: unknown key; did you mean read_only?" in console.text.replace("\n", "")
        assert b"\x1b[?1049h" not in console.raw


def test_without_a_terminal_it_says_so() -> None:
    done = subprocess.run([COMMAND], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "the console needs a terminal" in done.stderr
