"""LSF's lists of hosts and GPUs: ``node01:node01``, ``2*node01:node02``, ``node-1:0,1;node-2:0,1``."""

from __future__ import annotations

import re

_PART = re.compile(r"^(?:(\d+)\*)?(\S+)$")


def slots_by_host(text: str | None) -> dict[str, int]:
    """Host (or condensed host group) -> slots, in LSF's order.

    A host is named once a slot, or once with its number in front (LSB_SHORT_HOSTLIST). A name cut to a width ends
    in nothing that says so, hence widths are never asked for.
    """
    found: dict[str, int] = {}
    for part in (text or "").replace(":", " ").replace("<", " ").replace(">", " ").split():
        match = _PART.match(part)
        if match and match[2] != "-":
            found[match[2]] = found.get(match[2], 0) + int(match[1] or 1)
    return found


def gpus_by_host(text: str | None) -> dict[str, tuple[str, ...]]:
    """Host -> the distinct GPUs of a job there (``gpu_alloc`` repeats an id once a task)."""
    found: dict[str, tuple[str, ...]] = {}
    for part in (text or "").split(";"):
        host, colon, ids = part.strip().rpartition(":")
        if colon and host:
            found[host] = tuple(dict.fromkeys(one for one in ids.split(",") if one))
    return found
