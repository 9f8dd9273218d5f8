"""The terminal driver: what is read from standard input and written to standard output, and how both are given back."""

from __future__ import annotations

import asyncio
import os
import select
import selectors
import signal
import sys
import time
import weakref
from codecs import getincrementaldecoder
from contextlib import suppress
from typing import IO, Any, cast

from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

from console.ascii import ascii_only, knows_ascii_only
from console.keyboard import ESC_DELAY, Keyboard
from console.link import Link

PIECE = 1024  # bytes written at once: how long each took says how fast the terminal is
LAST_WORDS = 2.0  # seconds that the terminal has to take what was written when the console leaves


class Terminal:
    """Standard output as the toolkit's writing thread sees it: once the terminal is gone, output goes nowhere.

    A write to a terminal that was closed raises. That would end the thread, its queue would fill up, and the console
    would wait for ever to put its last words into it. Nothing is buffered here: a thread that hangs in a buffer's write
    would keep the interpreter from ending.
    """

    def __init__(self, file: IO[str], link: Link | None = None, *, ascii: bool = False) -> None:
        self._file = file
        self._link = link
        self._ascii = ascii
        self._own = _without_waiting(file)
        if self._own is not None:
            weakref.finalize(self, os.close, self._own)
        self.gone = False

    def write(self, text: str) -> int:
        data = encoded(text, self._ascii)
        for start in range(0, len(data), PIECE):
            self._write(data[start : start + PIECE])
        return len(text)

    def _write(self, data: bytes) -> None:
        begun, waited = time.monotonic(), 0.0
        rest = memoryview(data)
        while rest and not self.gone:
            try:
                rest = rest[os.write(self._file.fileno() if self._own is None else self._own, rest) :]
            except BlockingIOError:
                waited += self._wait()
            except (OSError, ValueError):
                self.gone = True
        if self._link is not None:
            now = time.monotonic()
            self._link.wrote(len(data), now - begun if self._own is None else waited, now)

    def _wait(self) -> float:
        """Until the terminal takes more, or is gone; the seconds that took."""
        begun, poll = time.monotonic(), select.poll()
        poll.register(self._file.fileno() if self._own is None else self._own, select.POLLOUT)
        poll.poll()
        return time.monotonic() - begun

    def flush(self) -> None:
        """Nothing is held back."""

    def fileno(self) -> int:
        return self._file.fileno()

    def isatty(self) -> bool:
        return self._file.isatty()


def _without_waiting(file: IO[str]) -> int | None:
    """The same terminal opened once more, with writes that do not wait for it; None where that cannot be had.

    Only so is it known what the terminal takes too long for. How long a write took does not tell: on a busy machine,
    or while another of our threads computes, it comes back late from the quickest terminal. The descriptor that was
    given to us is left alone: the shell and whatever else shares it expect to wait.
    """
    try:
        name = os.ttyname(file.fileno())
        own = os.open(name, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except (OSError, ValueError):
        return None
    if os.fstat(own).st_rdev == os.fstat(file.fileno()).st_rdev:
        return own
    os.close(own)
    return None


def encoded(text: str, ascii: bool) -> bytes:
    """What is sent for a text."""
    return ascii_only(text).encode("ascii") if ascii else text.encode("utf-8", "replace")


class ConsoleDriver(LinuxDriver):
    """As the toolkit's, but for what comes in pieces, what is written slowly, and how it stops and goes on.

    The toolkit writes to standard error: ``pilothouse 2>log`` would send the screen to the file.
    """

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        assert sys.__stdout__ is not None  # the command checks for a terminal first
        self._link: Link | None = getattr(app, "link", None)
        self._ascii = knows_ascii_only()
        self._terminal = Terminal(sys.__stdout__, self._link, ascii=self._ascii)
        self._file = cast("Any", self._terminal)
        self._away = False  # the terminal belongs to somebody else

    @property
    def terminal_gone(self) -> bool:
        """The terminal was closed without a hang-up reaching us."""
        if self._terminal.gone:
            return True
        try:
            return not os.isatty(self._terminal.fileno()) or os.tcgetpgrp(self._terminal.fileno()) < 0
        except OSError:
            return True

    # -- out --------------------------------------------------------------------------------------------------------

    def write(self, data: str) -> None:
        if self._away:  # the thread that writes has ended, and the screen is not ours
            return
        if self._link is not None:
            self._link.queued(len(encoded(data, self._ascii)))
        super().write(data)

    def close(self) -> None:
        """End the thread that writes; a terminal that takes nothing any more keeps nobody from leaving."""
        thread = self._writer_thread
        if thread is not None and thread.is_alive():
            with suppress(Exception):
                thread._queue.put(None, timeout=LAST_WORDS)
            thread.join(LAST_WORDS)

    # -- in ---------------------------------------------------------------------------------------------------------

    def run_input_thread(self) -> None:
        """As in the base class, with a Keyboard between what is read and what is parsed."""
        selector = selectors.DefaultSelector()
        selector.register(self.fileno, selectors.EVENT_READ)
        decode = getincrementaldecoder("utf-8")("replace").decode
        parser, keyboard = XTermParser(self._debug), Keyboard()

        def take(items: list[Any]) -> None:
            for item in items:
                for event in parser.feed(item) if isinstance(item, str) else (item,):
                    self.process_message(event)

        try:
            while not self.exit_event.is_set():
                if selector.select(ESC_DELAY / 2 if keyboard.waiting else 0.1):
                    read = os.read(self.fileno, 4096)
                    if not read:
                        break  # hung up
                    take(keyboard.feed(decode(read), time.monotonic()))
                take(keyboard.tick(time.monotonic()))
                take(list(parser.tick()))
        except OSError:
            pass  # the terminal is gone
        finally:
            selector.close()

    # -- aside and back ---------------------------------------------------------------------------------------------

    def suspend_application_mode(self) -> None:
        super().suspend_application_mode()
        self._away = True

    def resume_application_mode(self) -> None:
        self._away = False
        super().resume_application_mode()

    def start_application_mode(self) -> None:
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if self._writer_thread is None or not self._writer_thread.is_alive():
            self._away = True  # it was resumed in the background and stopped again

    def listen(self) -> None:
        """Stop and go on with the shell's job control. To be called in the event loop, in the main thread.

        Handlers of the loop and not of the interpreter: those run between any two instructions, also while the queue of
        what is to be written is locked, which they need.
        """
        loop = asyncio.get_running_loop()
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(signal.SIGTSTP, self.stop)
            loop.add_signal_handler(signal.SIGCONT, self.go_on)

    def stop(self) -> bool:
        """Give the terminal back and stop, with everything else of our job, until the shell says `fg`.

        False where there is no shell to go back to: the system then stops nobody, and we go on at once.
        """
        loop = asyncio.get_running_loop()
        ours = self._auto_restart  # else another program has the terminal, and both of us stop
        if ours:
            self.suspend_application_mode()
        continued: list[int] = []
        loop.remove_signal_handler(signal.SIGTSTP)
        loop.remove_signal_handler(signal.SIGCONT)
        signal.signal(signal.SIGCONT, lambda number, frame: continued.append(number))
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        try:
            # All of the job: a `make` that has started us would keep the shell waiting.
            os.kill(0 if ours else os.getpid(), signal.SIGTSTP)
            time.sleep(0.01)  # here it stops, and here it goes on
        finally:
            self.listen()
            if ours:
                self._come_back()
        return bool(continued)

    def go_on(self) -> None:
        """Somebody stopped us in a way that cannot be noticed, and has let us go on: the shell had the terminal."""
        if not self._auto_restart:
            return
        if not self._away:
            self.suspend_application_mode()
        self._come_back()

    def _come_back(self) -> None:
        self.resume_application_mode()
        self._app.refresh(layout=True)
