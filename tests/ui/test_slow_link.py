"""On a line of 20 kB/s, with 1,000 changes a second: what a key leads to is not behind a queue of paintings.

Nothing here looks at a clock: what is measured is how many bytes came between a key and what it led to. At 20 kB/s
2,000 bytes are the tenth of a second in which a key shall be answered.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.harness.slow_console import SlowConsole

ROOT = Path(__file__).parents[2]
STORM = [sys.executable, "-m", "tests.harness.storm", "300"]
RATE = 20_000
SOON = 2_000  # bytes that come in a tenth of a second
COLUMNS, LINES = 160, 50


@pytest.fixture
def console(state_dir: object) -> Iterator[SlowConsole]:
    """The console in the terminal's own colours, once it has learned the speed of the line.

    A machine that is too busy to fill the line does not learn it; then it has written 100 kB without having to.
    """
    env = {"COLORTERM": "", "TERM": "xterm"}
    with SlowConsole(STORM, rate=RATE, columns=COLUMNS, lines=LINES, env=env, cwd=ROOT) as console:
        console.wait_for(lambda text: "slow link" in text or console.bytes_out > 100_000, 120)
        console.wait_for(lambda text: cursor(console) is not None, 60)
        yield console


def cursor(console: SlowConsole) -> int | None:
    """The line of the screen with the table's cursor."""
    lines = range(console.screen.lines)
    return next((y for y in lines if console.screen.buffer[y][5].bg == "blue"), None)


def bytes_until(console: SlowConsole, key: str, done: Callable[[], bool]) -> int:
    """Press a key, and count what comes until it has led to something."""
    before = console.bytes_out
    console.press(key)
    console.wait_for(lambda text: done(), 30, f"the answer to {key}")
    return console.bytes_out - before


def test_a_key_is_answered_soon_in_a_storm_of_changes(console: SlowConsole) -> None:
    counts = []
    for n in range(11):
        console.pump(0.2 + (n * 0.37) % 1.0)  # at any moment of its painting
        at = cursor(console)
        counts.append(bytes_until(console, "jk"[n % 2], lambda at=at: cursor(console) not in (at, None)))  # type: ignore[misc]
    assert statistics.median(counts) <= SOON, sorted(counts)


def test_keys_held_down_do_not_go_on_after_they_are_let_go(console: SlowConsole) -> None:
    """A hundred steps of the cursor would be 40 kB if each were painted."""
    start = cursor(console)
    before = console.bytes_out
    for _ in range(100):
        console.press("j")
    console.wait_for(lambda text: "00199" in text and cursor(console) not in (start, None), 60)
    assert console.bytes_out - before <= 30_000


def test_a_log_that_never_stops_leaves_room_for_keys(console: SlowConsole) -> None:
    console.press("l")
    console.wait_for("a program that talks a lot", 60)
    console.pump(3)
    counts = []
    for n in range(9):
        console.pump(0.2 + (n * 0.37) % 1.0)
        word = "not following" if n % 2 == 0 else "lines, following"
        counts.append(bytes_until(console, "f", lambda word=word: word in console.text))  # type: ignore[misc]
    assert statistics.median(counts) <= 2 * SOON, sorted(counts)  # going back to the end paints the page


def test_a_quick_terminal_gets_every_painting(state_dir: object) -> None:
    """The same storm, and a terminal that takes all: nothing is held back, and nobody speaks of a slow link."""
    with SlowConsole(STORM, rate=10_000_000, columns=COLUMNS, lines=LINES, env={"COLORTERM": ""}, cwd=ROOT) as console:
        console.wait_for(lambda text: "job-299-" in text, 60)
        seen: set[str] = set()
        while len(seen) < 10:
            console.wait_for(lambda text: "job-299-" in text, 30)
            seen.add(console.text.split("job-299-", 1)[1].split()[0])
        assert "slow link" not in console.text
