"""How fast the terminal takes what is written to it, and how much less to write when it is slow.

A key is answered soon on a slow line only if little is under way when it is pressed: in our own queue, which is
counted, and in the kernel's buffers and on the line, which can only be reckoned by the speed seen so far. So paintings
that nobody asked for wait until the last one must have arrived, and then leave the line idle for at least as long.
"""

from __future__ import annotations

SLOW = 50_000.0  # bytes a second below which the terminal counts as slow
FAST = 500_000.0  # above this no care is needed
LEAST = 8_000.0  # bytes a second that are believed: a terminal that was stopped for a minute is not slow for ever
BLOCKED = 0.005  # seconds in one write from which it had to wait for the terminal
GROWTH = 1.1  # how much quicker the terminal is believed to be after GROW_AFTER seconds without having to wait
GROW_AFTER = 5.0
PATIENCE = 0.1  # seconds that a key may wait; what keeps the line busy for longer comes a quarter of the time at most
LONGEST = 2.5  # seconds the line is taken to be busy, and left idle after that, at most
MOST_QUEUED = 2048  # bytes that may wait in our queue before nothing more is painted until they have left


class Link:
    """Counts what is queued and written, and learns the speed from writes that had to wait.

    The interface's thread calls `queued` and `due`, the one that writes calls `wrote`: each changes its own counts.
    """

    def __init__(self) -> None:
        self._rate: float | None = None  # bytes a second; None: so fast that it does not matter
        self._queued = 0
        self._written = 0
        self._since = 0  # bytes written since one of them had to wait
        self._free = 0.0  # when what was written must have arrived
        self._next = 0.0
        self._learned = 0.0
        self._painted = 0  # bytes queued at the last painting

    @property
    def slow(self) -> bool:
        return self._rate is not None and self._rate < SLOW

    @property
    def backlog(self) -> int:
        """Bytes in our queue."""
        return max(0, self._queued - self._written)

    @property
    def full(self) -> bool:
        """More waits in our queue than a key should have to wait for."""
        return self.backlog > MOST_QUEUED

    def queued(self, count: int) -> None:
        """So many bytes were put into the queue."""
        self._queued += count

    def wrote(self, count: int, seconds: float, now: float) -> None:
        """So many bytes were written by now, and it took so long."""
        self._written += count
        self._since += count
        if seconds >= BLOCKED:  # the kernel makes room for many pieces at once (14 kB of a pty), so all of them count
            seen = max(LEAST, self._since / seconds)
            self._since = 0
            self._rate = seen if self._rate is None else (self._rate + seen) / 2
            self._learned = now
        elif self._rate is not None and now - self._learned >= GROW_AFTER:
            self._rate *= GROWTH
            self._learned = now
        if self._rate is not None and self._rate > FAST:
            self._rate = None
        if self._rate is not None:
            self._free = min(max(self._free, now) + count / self._rate, now + LONGEST)

    def due(self, now: float, gap: float) -> bool:
        """Whether it is time to paint what nobody waits for; such paintings are at least `gap` seconds apart."""
        if now < self._next:
            return False
        rate = self._rate
        if rate is not None:
            busy = (self._queued - self._painted) / rate
            idle = min(LONGEST, busy if busy < PATIENCE else 3 * busy)
            if self.backlog or now < self._free + idle:
                return False
        self._painted, self._next = self._queued, now + gap
        return True
