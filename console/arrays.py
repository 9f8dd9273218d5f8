"""Indices of job arrays as they are typed: ``0-99``, ``1-9:2,20``, ``0-99%10`` (ten at once)."""

from __future__ import annotations

import re

_PART = re.compile(r"^(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?$")


def elements(array: str) -> int:
    """How many elements the indices name. Raises ValueError with a sentence for what is no range."""
    total = 0
    for part in array.split("%")[0].split(","):
        found = _PART.match(part)
        if found is None:
            raise ValueError(f"{part!r} is not a range of indices.")
        first, last, step = int(found[1]), int(found[2] or found[1]), int(found[3] or 1)
        total += max(0, (last - first) // max(1, step) + 1)
    return total
