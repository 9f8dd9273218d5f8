"""Runs a program on a pseudo-terminal of a given size, as a person would: keys in, a screen out.

    with PtyConsole([COMMAND, "demo"], columns=120, lines=40) as console:
        console.wait_for("node-1")
        console.press("e")

`wait_for` polls the screen against a deadline and shows it in the failure. Bytes, CPU seconds and memory of the program
are counted, so that budgets can be measured. Nothing reads the terminal between two calls of `pump` or `wait_for`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil
import pyte

KEYS: Mapping[str, str] = {
    "enter": "\r", "escape": "\x1b", "tab": "\t", "shift+tab": "\x1b[Z", "space": " ", "backspace": "\x7f",
    "up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D", "home": "\x1b[H", "end": "\x1b[F",
    "pageup": "\x1b[5~", "pagedown": "\x1b[6~", "delete": "\x1b[3~",
    **{f"ctrl+{chr(code + 96)}": chr(code) for code in range(1, 27)},
}  # fmt: skip
# What pyte would print instead of obeying: key protocols (CSI < u, CSI > 1 u, CSI = ...), requests for a mode's state.
_NOT_FOR_PYTE = re.compile(
    rb"\x1b\[[<>=?][0-9;]*u|\x1b\[[<>=][0-9;]*[A-Za-z]|\x1b\[\?[0-9;]*\$p|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"
)
# The beginning of a sequence at the very end of what was read so far.
_UNFINISHED = re.compile(rb"\x1b(?:\[[0-9;<>=?$]*|\][^\x07\x1b]*\x1b?)?$")


class PtyConsole:
    """One running program and the terminal it sees. A context manager: at its end nothing of the program is left."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        columns: int = 120,
        lines: int = 40,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self.screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self.screen)
        self._pending = b""
        self.raw = bytearray()
        self.started = time.monotonic()
        self.first_output: float | None = None
        master, slave = os.openpty()
        self._master = master
        self._set_size(columns, lines)
        try:
            self.process = subprocess.Popen(
                list(argv),
                stdin=slave,
                stdout=slave,
                stderr=slave,
                env={**os.environ, **(env or {})},
                cwd=cwd,
                start_new_session=True,
                preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            )
        finally:
            os.close(slave)
        os.set_blocking(master, False)
        self._usage = psutil.Process(self.process.pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # What goes in.

    def press(self, *keys: str) -> None:
        """Press keys by name (`enter`, `ctrl+c`) or as the character itself."""
        for key in keys:
            self.write(KEYS.get(key, key).encode())

    def type(self, text: str) -> None:
        """Type a text, a character at a time."""
        self.write(text.encode())

    def write(self, data: bytes) -> None:
        os.write(self._master, data)

    def resize(self, columns: int, lines: int) -> None:
        """Change the size of the terminal; the kernel sends SIGWINCH."""
        self.screen.resize(lines, columns)
        self._set_size(columns, lines)

    def _set_size(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def hang_up(self) -> None:
        """Take the terminal away, as a lost ssh connection does."""
        os.close(self._master)
        self._master = -1

    # What comes out.

    @property
    def text(self) -> str:
        """The screen, lines without trailing blanks."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    @property
    def bytes_out(self) -> int:
        """Bytes the program has written so far."""
        return len(self.raw)

    def pump(self, seconds: float = 0.0) -> int:
        """Read what comes within so many seconds, at least what is there now; returns the number of bytes."""
        before = self.bytes_out
        end = time.monotonic() + seconds
        while self._master >= 0:
            ready, _, _ = select.select([self._master], [], [], max(0.0, min(0.05, end - time.monotonic())))
            if ready and not self._read():
                break
            if not ready and time.monotonic() >= end:
                break
        return self.bytes_out - before

    def _read(self, most: int = 65536) -> bool:
        try:
            data = os.read(self._master, most)
        except BlockingIOError:
            return True
        except OSError:  # the program has closed its side
            return False
        if data and self.first_output is None:
            self.first_output = time.monotonic() - self.started
        self.raw += data
        data = self._pending + data
        unfinished = _UNFINISHED.search(data)
        cut = unfinished.start() if unfinished else len(data)
        self._pending = data[cut:]
        self._stream.feed(_NOT_FOR_PYTE.sub(b"", data[:cut]))
        return bool(data)

    def wait_for(self, wanted: str | Callable[[str], object], seconds: float = 20.0, what: str = "") -> str:
        """Read until the screen holds a text or satisfies a condition; returns the screen.

        Fails with the screen when the deadline passes or the program ends first.
        """
        holds = (lambda text: wanted in text) if isinstance(wanted, str) else wanted
        end = time.monotonic() + seconds
        while True:
            self.pump(0.05)
            if holds(self.text):
                return self.text
            ended = self.process.poll() is not None and not self.pump()
            if ended or time.monotonic() > end:
                why = f"the program ended with {self.process.returncode}" if ended else f"{seconds} s passed"
                raise AssertionError(f"{what or wanted!r} did not come: {why}. The screen:\n{self.text}")

    def wait_exit(self, seconds: float = 20.0) -> int:
        """Read until the program has ended; returns its exit code."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            if time.monotonic() > end:
                raise AssertionError(f"the program still runs after {seconds} s. The screen:\n{self.text}")
            self.pump(0.05)
        self.pump()
        return self.process.returncode

    def quiet(self, still: float = 0.5, seconds: float = 20.0) -> None:
        """Read until nothing has come for `still` seconds."""
        end = time.monotonic() + seconds
        while self.pump(still):
            if time.monotonic() > end:
                raise AssertionError(f"the program does not stop writing. The screen:\n{self.text}")

    # What it costs.

    @property
    def cpu_seconds(self) -> float:
        """CPU time of the program itself so far, without that of its children."""
        times = self._usage.cpu_times()
        return float(times.user + times.system)

    @property
    def rss_bytes(self) -> int:
        """Memory of the program itself that is in RAM."""
        return int(self._usage.memory_info().rss)

    # Its end.

    def close(self) -> None:
        """End the program and every process of its session."""
        family = _family(self.process.pid)
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(AssertionError):
                self.wait_exit(10)
        for process in family:
            with contextlib.suppress(psutil.Error):
                process.kill()
        self.process.wait(10)
        if self._master >= 0:
            os.close(self._master)
            self._master = -1


def _family(pid: int) -> list[psutil.Process]:
    """The program, its descendants, and whatever else is in its session, orphans too."""
    found = []
    with contextlib.suppress(psutil.Error):
        found = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    for process in psutil.process_iter():
        with contextlib.suppress(OSError):
            if os.getsid(process.pid) == pid and process not in found:
                found.append(process)
    return found
