"""How figures look on screen: bytes, durations, ages, slots. Unknown is always ``-``, never an invented number."""

from __future__ import annotations

from datetime import datetime

from rich.cells import cell_len, set_cell_size

from adapters.model import Node
from adapters.text import clean

UNKNOWN = "-"


def number(value: int | None) -> str:
    """A count as it is, or ``-``."""
    return UNKNOWN if value is None else str(value)


def size(value: int | None) -> str:
    """Bytes in decimal units with at most three figures: ``4GB``, ``1.5TB``, ``640kB``."""
    if value is None:
        return UNKNOWN
    amount = float(value)
    for unit in ("B", "kB", "MB", "GB", "TB", "PB"):
        if amount < 999.5 or unit == "PB":
            return f"{amount:.0f}{unit}" if amount >= 9.95 or amount == int(amount) else f"{amount:.1f}{unit}"
        amount /= 1000
    raise AssertionError("unreachable")


def duration(seconds: float | None) -> str:
    """A span of time in its two largest units: ``42s``, ``3m05s``, ``2h07m``, ``4d03h``. Negative spans show as 0s."""
    if seconds is None:
        return UNKNOWN
    whole = max(0, int(seconds))
    days, rest = divmod(whole, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, secs = divmod(rest, 60)
    if days:
        return f"{days}d{hours:02d}h"
    if hours:
        return f"{hours}h{minutes:02d}m"
    if minutes:
        return f"{minutes}m{secs:02d}s"
    return f"{secs}s"


def coarse(seconds: float | None) -> str:
    """A span of time for a table, where a figure that moves each second would repaint each second: steps of 5 s below
    a minute, minutes below an hour (``35s``, ``3m``), then as `duration`."""
    if seconds is None:
        return UNKNOWN
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole // 5 * 5}s"
    return f"{whole // 60}m" if whole < 3600 else duration(whole)


def age(since: datetime | None, now: datetime) -> str:
    """How long ago something was, in one unit, so that a quiet screen stays quiet: ``now``, ``12s``, ``4m``, ``2h``."""
    if since is None:
        return UNKNOWN
    seconds = max(0, int((now - since).total_seconds()))
    if seconds < 2:
        return "now"
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 3600:
        return f"{seconds // 60}m"
    if seconds < 86400:
        return f"{seconds // 3600}h"
    return f"{seconds // 86400}d"


def span(start: datetime | None, end: datetime | None) -> float | None:
    """Seconds from `start` to `end`, None where one is unknown."""
    if start is None or end is None:
        return None
    return (end - start).total_seconds()


def used(part: int | None, total: int | None) -> str:
    """``used/total``; ``-`` where neither is known."""
    if part is None and total is None:
        return UNKNOWN
    return f"{number(part)}/{number(total)}"


def slots(node: Node) -> str:
    """The nodes table's slots: ``used/total``, whatever the quota."""
    return used(node.slots_used, node.slots_total)


def slots_with_quota(node: Node) -> str:
    """The node modal's slots: ``used/total``, or ``used/quota/total`` where a quota is set (``12/12/16``)."""
    if node.slots_quota is None:
        return used(node.slots_used, node.slots_total)
    return f"{number(node.slots_used)}/{node.slots_quota}/{number(node.slots_total)}"


def when(moment: datetime | None) -> str:
    """A point in time in the person's own time zone: ``2026-11-30 14:02:03``."""
    return UNKNOWN if moment is None else moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def fit(text: str, width: int, right: bool = False) -> str:
    """`text` in exactly `width` terminal cells: padded, or cut with ``…``. Wide characters are never split.

    Text that is not clean although it should be is cleaned here: the last door before the terminal.
    """
    if width <= 0:
        return ""
    if not text.isprintable():
        text = clean(text)
    length = len(text) if text.isascii() else cell_len(text)
    if length == width:
        return text
    if length < width:
        return " " * (width - length) + text if right else text + " " * (width - length)
    return set_cell_size(text, width - 1) + "…"
