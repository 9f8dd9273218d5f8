"""The driver on a terminal that goes away: output is dropped, and the thread that writes never dies with the rest."""

from __future__ import annotations

import os
import pty
import threading
import time
from typing import IO, Any, cast

import pytest
from textual.drivers._writer_thread import MAX_QUEUED_WRITES, WriterThread

from console.driver import Terminal
from console.link import BLOCKED, Link


def test_the_last_words_to_a_closed_terminal_do_not_block() -> None:
    """Left alone, the toolkit's thread ends at the first failed write and `stop` waits for ever."""
    ours, theirs = pty.openpty()
    file = os.fdopen(theirs, "w")
    terminal = Terminal(file)
    thread = WriterThread(cast("IO[str]", terminal))
    thread.start()
    thread.write("hello")
    assert os.read(ours, 5) == b"hello"
    os.close(ours)
    for _ in range(3 * MAX_QUEUED_WRITES):
        thread.write("x" * 200)
    thread.stop()
    assert not thread.is_alive()
    assert terminal.gone


def test_an_open_terminal_gets_everything() -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as file:
        terminal = Terminal(file)
        assert terminal.isatty()
        assert terminal.write("abc") == 3
        terminal.flush()
        assert os.read(ours, 3) == b"abc"
        assert not terminal.gone
    os.close(ours)


def test_a_busy_machine_is_not_taken_for_a_slow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each write comes back late, though the terminal took it at once."""
    ours, theirs = pty.openpty()
    real = os.write

    def late(fd: int, data: Any) -> int:
        count = real(fd, data)
        time.sleep(4 * BLOCKED)
        return count

    link = Link()
    with os.fdopen(theirs, "w") as file:
        terminal = Terminal(file, link)
        monkeypatch.setattr(os, "write", late)
        for _ in range(5):
            terminal.write("x" * 40)
        assert not link.slow
    os.close(ours)


def test_a_terminal_that_takes_nothing_for_a_while_is_slow_and_loses_nothing() -> None:
    ours, theirs = pty.openpty()
    link, text, got = Link(), "x" * 200_000, 0
    with os.fdopen(theirs, "w") as file:
        terminal = Terminal(file, link)
        thread = threading.Thread(target=terminal.write, args=(text,), daemon=True)
        thread.start()
        while got < len(text):
            time.sleep(2 * BLOCKED)  # the line's speed, at most
            got += len(os.read(ours, 256))
            if link.slow:
                break
        assert link.slow
        while got < len(text):
            got += len(os.read(ours, 65536))
        thread.join(15)
        assert not thread.is_alive() and os.get_blocking(theirs)
    os.close(ours)
