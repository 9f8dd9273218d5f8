"""The last lines of a log, read from its end: a log of years costs no more than one of a day."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from console.audit.chain import decode
from console.audit.files import open_private

_BLOCK = 256 * 1024
MOST_BYTES = 32 * 1024 * 1024


def last_records(log: Path, count: int, most_bytes: int = MOST_BYTES) -> list[dict[str, Any]]:
    """The last `count` records, oldest first, of at most the last `most_bytes`. No log: none. Raises AuditError.

    A line without its end is none yet: its writer is still at it, or was killed.
    """
    if count <= 0:
        return []
    try:
        fd = open_private(log, os.O_RDONLY)
    except FileNotFoundError:
        return []
    with os.fdopen(fd, "rb") as file:
        end = at = file.seek(0, os.SEEK_END)
        blocks: list[bytes] = []
        seen = 0
        while at > 0 and seen <= count and end - at < most_bytes:
            step = min(_BLOCK, at)
            at = file.seek(at - step)
            blocks.append(file.read(step))
            seen += blocks[-1].count(b"\n")
    lines = b"".join(reversed(blocks)).split(b"\n")[:-1]
    records = [record for line in (lines if at == 0 else lines[1:]) if (record := decode(line)) is not None]
    return records[-count:]
