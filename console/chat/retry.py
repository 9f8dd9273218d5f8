"""How long to wait before a request is made again: growing, capped, few times; the person sees it and can stop it."""

from __future__ import annotations

from dataclasses import dataclass

from console.chat.trouble import NoConnection, Trouble


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long a request is tried again.

    Args:
        most: times, for an endpoint that answers that it is busy or that broke off.
        unreachable: times, for one that cannot be reached at all.
        first: seconds before the first repetition; each next wait is twice as long.
        cap: the longest wait, seconds, whatever the endpoint asks for.
    """

    most: int = 5
    unreachable: int = 2
    first: float = 1.0
    cap: float = 60.0

    def wait(self, trouble: Trouble, attempt: int) -> float | None:
        """Seconds to wait before repetition number `attempt` (from 1); None where it is not tried again."""
        most = self.unreachable if isinstance(trouble, NoConnection) else self.most
        if not trouble.retry or attempt > most:
            return None
        return float(min(self.cap, max(self.first * 2 ** (attempt - 1), trouble.after or 0.0)))
