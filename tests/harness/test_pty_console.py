"""The harness itself, on small programs."""

from __future__ import annotations

import signal
import sys

import psutil
import pytest

from tests.harness.pty_console import PtyConsole


def program(code: str) -> list[str]:
    return [sys.executable, "-u", "-c", code]


def test_it_reads_the_screen_and_sends_keys() -> None:
    code = "print('ready'); name = input(); print(f'hello {name}, {__import__(\"os\").get_terminal_size()}')"
    with PtyConsole(program(code), columns=100, lines=30) as console:
        console.wait_for("ready")
        console.type("ada")
        console.press("enter")
        assert "hello ada, os.terminal_size(columns=100, lines=30)" in console.wait_for("hello")
        assert console.wait_exit() == 0


def test_it_obeys_the_cursor_and_passes_over_what_pyte_does_not_know() -> None:
    code = (
        r"import sys; sys.stdout.write('\x1b[>1uab\x1b[?2026$p\x1b[2;5Hcd\x1b[<u\x1b]0;title\x07\x1b['); input(); "
        r"print('1;1HX'); input()"
    )
    with PtyConsole(program(code), columns=20, lines=4) as console:
        console.wait_for("cd")
        console.press("enter")
        console.wait_for("X")
        assert console.text.splitlines()[:2] == ["Xb", "    cd"]


def test_a_condition_that_never_holds_fails_with_the_screen() -> None:
    expected = pytest.raises(AssertionError, match=r"(?s)0\.3 s passed.*here I am")
    with PtyConsole(program("print('here I am'); input()")) as console, expected:
        console.wait_for("elsewhere", seconds=0.3)


def test_the_end_of_the_program_fails_a_wait_at_once() -> None:
    expected = pytest.raises(AssertionError, match=r"(?s)ended with 7.*bye")
    with PtyConsole(program("print('bye'); raise SystemExit(7)")) as console, expected:
        console.wait_for("never", seconds=60)


def test_it_resizes_and_signals() -> None:
    code = (
        "import signal, os, time\n"
        "signal.signal(signal.SIGWINCH, lambda *_: print('now', os.get_terminal_size().columns))\n"
        "signal.signal(signal.SIGUSR1, lambda *_: print('usr1'))\n"
        "print('up')\n"
        "while True: signal.pause()\n"
    )
    with PtyConsole(program(code)) as console:
        console.wait_for("up")
        console.resize(66, 20)
        console.wait_for("now 66")
        console.signal(signal.SIGUSR1)
        console.wait_for("usr1")


def test_it_counts_bytes_and_cpu() -> None:
    code = "print('x' * 1000); n = sum(range(3_000_000)); print('done'); input()"
    with PtyConsole(program(code)) as console:
        console.wait_for("done")
        assert 1000 <= console.bytes_out <= 1100
        assert console.cpu_seconds > 0
        assert console.rss_bytes > 1_000_000


def test_it_leaves_no_process() -> None:
    code = (
        "import signal, subprocess, sys\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'input()'])\n"
        "print('child', child.pid, 'end')\n"
        "signal.pause()\n"
    )
    with PtyConsole(program(code)) as console:
        pid = int(console.wait_for("end").split("child ")[1].split()[0])
        console.process.kill()
        console.process.wait()
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
