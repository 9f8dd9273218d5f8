"""Processes that belong to a folder: they carry it in their arguments."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path


def strays(folder: Path) -> list[int]:
    """Servers, workers and supervisors that carry the folder in their arguments; nobody else who looks into it."""
    mark = os.fsencode(str(folder) + os.sep)
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            line = (entry / "cmdline").read_bytes()
            ours = b"adapters.local" in line or b"/program/run.py" in line
            if ours and mark in line and entry.name != str(os.getpid()):
                found.append(int(entry.name))
    return found


def end_strays(folder: Path, deadline: float) -> None:
    """Wait for supervisors to end their jobs, then kill what is left."""
    while strays(folder) and time.monotonic() < deadline:
        time.sleep(0.05)
    for pid in strays(folder):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
