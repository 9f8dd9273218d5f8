"""The driver on a terminal that goes away: output is dropped, and the thread that writes never dies with the rest."""

from __future__ import annotations

import os
import pty
from typing import IO, cast

from textual.drivers._writer_thread import MAX_QUEUED_WRITES, WriterThread

from console.driver import Terminal


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
