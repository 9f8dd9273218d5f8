"""How often one key may ask."""

from __future__ import annotations

from collections.abc import Callable

from adapters.local.problem import Problem

BURST = 4.0
FORGET = 10_000


class Throttle:
    """A token bucket a key: `rate` requests a second on average, four times that in a burst."""

    def __init__(self, rate: float, clock: Callable[[], float]) -> None:
        self._rate = rate
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, key: str) -> None:
        """Raises Problem 429 where the key has used up what it may."""
        now = self._clock()
        left, at = self._buckets.get(key, (self._rate * BURST, now))
        left = min(self._rate * BURST, left + (now - at) * self._rate)
        if left < 1.0:
            raise Problem(429, f"more than {self._rate:.0f} requests a second: slow down")
        if len(self._buckets) > FORGET:
            self._buckets.clear()
        self._buckets[key] = (left - 1.0, now)
