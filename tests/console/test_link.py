"""Less is painted while the terminal is slow."""

from __future__ import annotations

import random

from console.link import BLOCKED, FAST, GROW_AFTER, LEAST, LONGEST, MOST_QUEUED, SLOW, Link

GAP = 0.25  # exact in binary


class SlowTerminal:
    """A double of a terminal on a line of so many bytes a second, with a buffer in the kernel, in simulated time.

    Of the buffer a good part is freed in one go, as Linux does it for a pty (14 kB of 20 kB were measured).
    """

    FREED = 0.7

    def __init__(self, link: Link, rate: float, buffer: int = 8192) -> None:
        self.link = link
        self.now = 0.0
        self._rate = rate
        self._buffer = buffer
        self._filled = 0.0
        self._held = 0.0  # what the kernel still counts as taken
        self.sent = 0

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self._filled = max(0.0, self._filled - seconds * self._rate)
        if self._held - self._filled >= self.FREED * self._buffer or not self._filled:
            self._held = self._filled

    def write(self, count: int) -> None:
        """Write as the driver does: piece by piece, each taking as long as there is no room for it."""
        self.link.queued(count)
        self.sent += count
        while count > 0:
            piece = min(1024, count)
            blocked = 0.0
            if self._held + piece > self._buffer:  # until enough has gone to be freed
                goal = max(0.0, self._held - self.FREED * self._buffer)
                blocked = max(0.0, (self._filled - goal) / self._rate) + 1e-9
            self.wait(blocked)
            self._filled += piece
            self._held += piece
            self.link.wrote(piece, blocked, self.now)
            count -= piece

    @property
    def behind(self) -> float:
        """Seconds until what was written has arrived."""
        return self._filled / self._rate


def test_a_quick_terminal_is_painted_at_every_gap() -> None:
    link = Link()
    for n in range(100):
        assert link.due(n * GAP, GAP)
        assert not link.due(n * GAP + GAP / 2, GAP)
        link.queued(10_000)
        link.wrote(10_000, 0.0001, n * GAP)
    assert not link.slow and not link.backlog


def test_a_slow_line_stays_free_for_what_keys_lead_to_most_of_the_time() -> None:
    """20 kB/s, and 10 kB to paint at every chance: what was painted is nearly always there before the next begins."""
    link, behind, painted = Link(), [], 0
    terminal = SlowTerminal(link, rate=20_000)
    while terminal.now < 120:
        behind.append(terminal.behind)
        if link.due(terminal.now, GAP):
            terminal.write(10_000)
            painted += 1
        terminal.wait(0.05)
    assert link.slow
    assert painted >= 50  # still about every other second
    after = sorted(behind[200:])
    assert after[len(after) // 2] < 0.1  # a key pressed at any moment mostly waits for nothing
    assert terminal.sent / terminal.now < 0.8 * 20_000


def test_small_changes_are_painted_often_on_a_slow_line_too() -> None:
    link, painted = Link(), 0
    terminal = SlowTerminal(link, rate=20_000)
    terminal.write(30_000)  # the first screen
    assert link.slow
    terminal.wait(2 * LONGEST)
    start = terminal.now
    while terminal.now < start + 10:
        if link.due(terminal.now, GAP):
            terminal.write(400)
            painted += 1
        terminal.wait(0.01)
    assert painted >= 35  # of 40 chances


def test_a_terminal_that_was_stopped_for_a_minute_is_quick_again_soon() -> None:
    link = Link()
    link.queued(1000)
    link.wrote(1000, 60.0, 60.0)
    assert link.slow
    now = 60.0
    for _ in range(60):
        now += GROW_AFTER
        link.queued(1000)
        link.wrote(1000, 0.0001, now)
    assert not link.slow


def test_it_never_waits_for_long() -> None:
    """However little the terminal takes: what is believed of it is bounded."""
    link = Link()
    assert link.due(0.0, GAP)
    link.queued(1_000_000)
    link.wrote(1_000_000, 1000.0, 1000.0)
    assert not link.due(1000.0, GAP)
    assert link.due(1000.0 + 2 * LONGEST, GAP)


def test_nothing_is_painted_while_the_terminal_takes_nothing() -> None:
    link = Link()
    link.queued(5000)
    link.wrote(1024, 1.0, 1.0)
    assert link.backlog == 5000 - 1024 and link.full
    assert not link.due(10_000.0, GAP)
    link.wrote(5000 - 1024 - MOST_QUEUED, 0.0, 1.0)
    assert not link.full


def test_a_hiccup_of_the_machine_is_no_slow_line() -> None:
    """Under load one write in twenty takes some milliseconds."""
    link, chance = Link(), random.Random(1)
    for n in range(1000):
        link.queued(1024)
        link.wrote(1024, 2 * BLOCKED if chance.random() < 0.05 else 0.0001, n * 0.1)
    assert not link.slow
    assert LEAST < SLOW < FAST
