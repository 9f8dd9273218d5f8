"""How often one key may ask, and how many jobs of one user may wait."""

from __future__ import annotations

from collections.abc import Callable

from adapters.local.database import Tx
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


class PendingLimit:
    """Holds the number of waiting jobs of each user below `most`.

    Counting them at each submission would make a long queue longer to submit to. An upper bound is kept instead: the
    last count, and one more for each submission since; they are counted again only when the bound is reached.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._bounds: dict[str, int] = {}

    def check(self, tx: Tx, user: str) -> None:
        """Called with each submission, within its write. Raises Problem 429."""
        bound = self._bounds.get(user)
        if bound is None or bound >= self._most:
            row = tx.one("SELECT count(*) FROM jobs WHERE user = ? AND ended IS NULL", user)
            bound = row[0] if row is not None else 0
            self._bounds[user] = bound
        if bound >= self._most:
            raise Problem(429, f"{user} has {bound} jobs that are not over, which is the limit")
        self._bounds[user] = bound + 1
