"""Which process wrote a line, so that one that is still at work is not taken for one that died."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def this_process() -> dict[str, Any]:
    return {"pid": os.getpid(), "started": _started(os.getpid())}


def still_runs(process: Mapping[str, Any]) -> bool:
    """Whether the process that wrote a line on this host is still there (and the id was not given out again)."""
    pid = process.get("pid")
    if not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return process.get("started") in (None, _started(pid))


def _started(pid: int) -> int | None:
    """Clock ticks from boot to the start of the process (proc(5), stat field 22); None where there is no /proc."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    return int(stat.rpartition(b")")[2].split()[19])
