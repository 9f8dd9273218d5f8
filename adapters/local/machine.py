"""What a worker says of its machine: hardware as LSF's host fields, load as its load indices.

What this system does not tell is left out, never zero. Sizes are MB of 1,000,000 bytes.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

MB = 1_000_000


def _proc(name: str) -> str:
    try:
        return Path("/proc", name).read_text("utf-8", "replace")
    except OSError:
        return ""


def _meminfo() -> dict[str, int]:
    """/proc/meminfo in bytes."""
    found = re.findall(r"^(\w+):\s+(\d+) kB", _proc("meminfo"), re.MULTILINE)
    return {name: int(size) * 1024 for name, size in found}


def total_memory() -> int | None:
    """Bytes of memory, None where the system does not tell."""
    with contextlib.suppress(OSError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None


def facts() -> dict[str, Any]:
    """The machine's fields of a host row."""
    memory, info = total_memory(), _meminfo()
    model = re.search(r"^model name\s*:\s*(.+)$", _proc("cpuinfo"), re.MULTILINE)
    with contextlib.suppress(OSError):
        tmp: int | None = shutil.disk_usage(tempfile.gettempdir()).total // MB
    cores = os.cpu_count()
    found: dict[str, Any] = {
        "hostType": f"{platform.system().upper()}-{platform.machine()}",
        "hostModel": model[1].strip() if model else platform.processor() or platform.machine(),
        "cpuFactor": 1.0,
        "maxCpus": cores,
        "cores": cores,
        "maxMem": memory // MB if memory else None,
        "maxSwap": info["SwapTotal"] // MB if "SwapTotal" in info else None,
        "maxTmp": tmp,
        "isServer": True,
    }
    return {name: value for name, value in found.items() if value is not None}


class LoadMeter:
    """Load indices; rates are measured between two calls of `read`."""

    def __init__(self) -> None:
        self._before: tuple[float, dict[str, float]] | None = None
        self._queue: float | None = None

    def read(self) -> dict[str, float]:
        """r15s r1m r15m ut pg swp mem tmp io, those that can be known."""
        now, counters = time.monotonic(), self._counters()
        found: dict[str, float] = {}
        with contextlib.suppress(OSError):
            one, _, fifteen = os.getloadavg()
            found |= {"r1m": round(one, 2), "r15m": round(fifteen, 2)}
        info = _meminfo()
        for name, key in (("mem", "MemAvailable"), ("swp", "SwapFree")):
            if key in info:
                found[name] = info[key] // MB
        with contextlib.suppress(OSError):
            found["tmp"] = shutil.disk_usage(tempfile.gettempdir()).free // MB
        if self._before is not None and now > self._before[0]:
            found |= self._rates(now - self._before[0], self._before[1], counters)
        self._before = (now, counters)
        return found

    def _counters(self) -> dict[str, float]:
        found: dict[str, float] = {}
        cpu = re.match(r"cpu\s+([\d ]+)", _proc("stat"))
        if cpu:
            ticks = [float(n) for n in cpu[1].split()]
            found |= {"busy": sum(ticks) - ticks[3] - ticks[4], "ticks": sum(ticks)}
        for name in ("pswpin", "pswpout", "pgpgin", "pgpgout"):
            value = re.search(rf"^{name} (\d+)$", _proc("vmstat"), re.MULTILINE)
            if value:
                found[name] = float(value[1])
        return found

    def _rates(self, seconds: float, old: dict[str, float], new: dict[str, float]) -> dict[str, float]:
        found: dict[str, float] = {}
        if "ticks" in old and new.get("ticks", 0) > old["ticks"]:
            found["ut"] = round((new["busy"] - old["busy"]) / (new["ticks"] - old["ticks"]), 3)
        for name, parts in (("pg", ("pswpin", "pswpout")), ("io", ("pgpgin", "pgpgout"))):
            if all(part in old and part in new for part in parts):
                found[name] = round(sum(new[part] - old[part] for part in parts) / seconds, 1)
        running = re.match(r"\S+ \S+ \S+ (\d+)/", _proc("loadavg"))
        if running:
            share = min(1.0, seconds / 15.0)
            fresh = max(0.0, float(running[1]) - 1.0)
            self._queue = fresh if self._queue is None else self._queue * (1 - share) + fresh * share
            found["r15s"] = round(self._queue, 2)
        return found
