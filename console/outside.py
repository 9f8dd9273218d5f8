"""Other programs in the console's terminal: a pager, an editor. The console steps aside and comes back."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import sys
import termios
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from textual.app import App, SuspendNotSupported

GRACE = 3.0  # seconds for a program to end by itself when the console is told to go
# What a full-screen program may have left behind when it was killed: mouse reports, pasting marks, keypad and other
# screen on; cursor hidden; colours. The order matters: first all that belongs to the other screen.
_SANE = b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?1l\x1b>\x1b[?1049l\x1b[?25h\x1b[0m"


class CannotRun(Exception):
    """A program could not be started here; says why in a few words."""


def words(command: str) -> list[str]:
    """A command from the environment as an argv; no shell reads it. Raises CannotRun."""
    try:
        argv = shlex.split(command)
    except ValueError as error:
        raise CannotRun(f"{command!r} cannot be read: {error}") from error
    if not argv:
        raise CannotRun("the command is empty")
    return argv


def pager(environ: Mapping[str, str] = os.environ) -> list[str]:
    """The person's pager: PAGER, else less, else more. Raises CannotRun."""
    if environ.get("PAGER", "").strip():
        return words(environ["PAGER"])
    return [next((name for name in ("less", "more") if shutil.which(name)), "less")]


def editor(environ: Mapping[str, str] = os.environ) -> list[str]:
    """The person's editor: VISUAL, then EDITOR, then vi (POSIX names that one). Raises CannotRun."""
    for name in ("VISUAL", "EDITOR"):
        if environ.get(name, "").strip():
            return words(environ[name])
    return ["vi"]


async def run_outside(app: App[Any], argv: Sequence[str], text: bytes | None = None) -> int:
    """Run a program in our terminal until it ends; returns its exit code (negative: the signal that ended it).

    `text` goes to its standard input. The application paints nothing and reads no key until then, but lives on: data
    comes in and what is being sent is sent. Cancelled, it ends the program first. Raises CannotRun.
    """
    ended: int | CannotRun
    try:
        with app.suspend(), _left_as_found(), _deaf():
            try:
                ended = await _run(argv, text)
            except CannotRun as error:  # one that leaves `suspend` would keep it from coming back
                ended = error
    except SuspendNotSupported as error:
        raise CannotRun("no other program can run here") from error
    app.refresh(layout=True)
    if isinstance(ended, CannotRun):
        raise ended
    return ended


async def _run(argv: Sequence[str], text: bytes | None) -> int:
    try:
        stdin = asyncio.subprocess.PIPE if text is not None else None
        process = await asyncio.create_subprocess_exec(*argv, stdin=stdin)
    except OSError as error:
        raise CannotRun(f"{argv[0]}: {error.strerror}") from error
    try:
        await process.communicate(text)  # a program that does not read all of it is no failure
    finally:
        if process.returncode is None:
            await asyncio.shield(_end(process))
    return process.returncode if process.returncode is not None else 0


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ask the program to end, and make it."""
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGCONT)  # one that is stopped would not hear the rest
        process.terminate()
    try:
        async with asyncio.timeout(GRACE):
            await process.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


@contextmanager
def _left_as_found() -> Iterator[None]:
    """The terminal's settings as they were, however the program ended."""
    terminal = sys.__stdin__.fileno() if sys.__stdin__ is not None else -1
    try:
        before = termios.tcgetattr(terminal)
    except (termios.error, ValueError, OSError):
        yield
        return
    ended = False
    try:
        yield
        ended = True
    finally:
        with suppress(termios.error, OSError):
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        if not ended and sys.__stdout__ is not None:
            with suppress(OSError, ValueError):
                os.write(sys.__stdout__.fileno(), _SANE)


@contextmanager
def _deaf() -> Iterator[None]:
    """Ctrl+C and Ctrl+\\ go to every program of the terminal: while another one has it, they are not for us.

    A handler and not "ignore": that would be inherited.
    """
    before = {}
    for number in (signal.SIGINT, signal.SIGQUIT):
        with suppress(ValueError):  # not in the main thread: tests
            before[number] = signal.signal(number, lambda *_: None)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@asynccontextmanager
async def private_copy(name: str, text: bytes) -> AsyncIterator[Path]:
    """A file of our own with this text, that nobody else can read; removed at the end with its folder.

    Raises CannotRun where there is no room for it.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    folder: Path | None = None
    try:
        home = runtime if runtime and os.access(runtime, os.W_OK) else None
        folder = Path(mkdtemp(prefix="pilothouse-", dir=home))  # 0700
        file = folder / name
        await asyncio.to_thread(file.write_bytes, text)
        file.chmod(0o600)
    except OSError as error:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        raise CannotRun(f"no copy can be made: {error.strerror}") from error
    try:
        yield file
    finally:
        shutil.rmtree(folder, ignore_errors=True)
