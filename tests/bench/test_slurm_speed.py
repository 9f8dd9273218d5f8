"""Slurm's lists at 10,000 and 50,000 jobs: the adapter's own time over the command's, stalls of the loop, memory.

The command is a stand-in that prints a list of the size and shape of a real one (240 bytes a job); what is measured
is everything behind its last byte: reading, rows, the snapshot, and the second, unchanged and slightly changed list.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
import tracemalloc
from pathlib import Path

import pytest

from adapters.base import Interest
from adapters.model import Job
from adapters.polling import CallMeter, diff
from adapters.slurm import SlurmOptions, SlurmReader
from adapters.slurm.jobs import JOB_FIELDS
from adapters.slurm.lists import JobMemory
from adapters.slurm.nodes import NODE_FIELDS
from adapters.slurm.table import Tokens
from adapters.slurm.watch import CommandSource, Feed

pytestmark = pytest.mark.bench
PROGRAM = r"""
import re, sys
name = sys.argv[1]
if "-V" in sys.argv:
    print("slurm 22.05.8")
    sys.exit()
if "show" in sys.argv:
    print("No reservations in the system")
    sys.exit()
field, record = re.findall(r"~[0-9a-f]{16}~", sys.argv[-1])[0], re.findall(r"[\^][0-9a-f]{16}[\^]", sys.argv[-1])[0]
with open(f"{sys.argv[2]}/{name}.txt") as file:
    sys.stdout.write(file.read().replace("\0", field).replace("\1", record))
"""


def write_list(folder: Path, jobs: int, changed: int = 0) -> None:
    """A list of `jobs` jobs of which the first `changed` run."""
    lines = []
    for n in range(1, jobs + 1):
        known = {
            "JobID": str(n), "JobArrayID": str(n), "ArrayJobID": str(n), "ArrayTaskID": "N/A",
            "UserName": f"user{n % 300}",
            "Account": f"account{n % 40}", "Partition": "batch", "State": "RUNNING" if n <= changed else "PENDING",
            "Reason": "Priority", "NumNodes": "1", "NumCPUs": "4", "tres-alloc": "cpu=4,mem=16G,node=1,billing=4",
            "TimeLimit": "1-00:00:00", "SubmitTime": str(1796000000 + n), "StartTime": "N/A", "EndTime": "N/A",
            "PriorityLong": str(n % 9000), "QOS": "normal", "RestartCnt": "0", "Name": f"simulation-{n}.sh",
            "Comment": "(null)", "Feature": "(null)", "Reservation": "(null)", "Dependency": "(null)", "exit_code": "0",
        }  # fmt: skip
        lines.append("\0".join(known.get(name, "N/A") for name in JOB_FIELDS) + "\1\n")
    (folder / "squeue.txt").write_text("".join(lines))


@pytest.fixture
def reader(tmp_path: Path) -> SlurmReader:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    for name in ("squeue", "sinfo", "scontrol"):
        (tmp_path / name).write_text(f'#!/bin/sh\nexec {sys.executable} -S -E {program} {name} {tmp_path} "$@"\n')
        (tmp_path / name).chmod(0o755)
    known = {
        "NodeList": "n1",
        "PartitionName": "batch",
        "Partition": "batch*",
        "Available": "up",
        "CPUsState": "4/4/0/8",
    }
    (tmp_path / "sinfo.txt").write_text("\0".join(known.get(name, "N/A") for name in NODE_FIELDS) + "\1\n")
    options = SlurmOptions("bench", bin_dir=str(tmp_path), base={"PATH": "/usr/bin:/bin"}, read_timeout=60)
    return SlurmReader(options, CallMeter(limit=None))


class Ticker:
    """The longest time in which the loop did nothing else."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def run(self) -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.002)
            self.longest = max(self.longest, time.monotonic() - before)


@pytest.mark.parametrize("jobs", [10_000, 50_000])
async def test_time_behind_the_command_stalls_and_memory(reader: SlurmReader, tmp_path: Path, jobs: int) -> None:
    write_list(tmp_path, jobs)
    start = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        str(tmp_path / "squeue"), "~0123456789abcdef~^0123456789abcdef^", stdout=asyncio.subprocess.PIPE
    )
    await process.communicate()
    command = time.monotonic() - start
    feed = Feed(CommandSource(reader.calls, reader.facts))
    await feed.nodes(Interest())
    ticker = Ticker()
    ticking = asyncio.create_task(ticker.run())
    gc.collect()
    try:
        await asyncio.sleep(0.1)
        ticker.longest = 0.0
        start, cpu = time.monotonic(), time.process_time()
        first = await feed.jobs(Interest())
        whole, cpu = time.monotonic() - start, time.process_time() - cpu
        start = time.monotonic()
        first = await feed.jobs(Interest())
        same = time.monotonic() - start
        stall = ticker.longest
        write_list(tmp_path, jobs, changed=50)
        await asyncio.sleep(0.1)
        ticker.longest = stall  # what the bench itself did meanwhile does not count
        second = await feed.jobs(Interest())
    finally:
        ticking.cancel()
    old, new = ({(type(row), row.id): row for row in fetched.rows} for fetched in (first, second))
    start = time.monotonic()
    upserts, removals = diff(old, new)  # type: ignore[arg-type]
    compared = time.monotonic() - start
    per_job = _bytes_held(tmp_path) / jobs
    print(
        f"\n{jobs} jobs: command {command:.2f} s, first list {whole:.2f} s ({cpu:.2f} s CPU of ours), "
        f"unchanged list {same:.2f} s, diff {compared * 1000:.0f} ms, "
        f"longest stall {ticker.longest * 1000:.0f} ms, {per_job:.0f} bytes a job"
    )
    assert sum(isinstance(row, Job) for row in first.rows) == jobs
    assert sum(isinstance(row, Job) for row in upserts) == 50 and removals == []
    assert per_job < 2500, "50,000 jobs must stay below 200 MB with everything else of the console"
    assert upserts_are_cheap(old, new), "what has not changed is the same object"


def upserts_are_cheap(old: dict[tuple[type, str], object], new: dict[tuple[type, str], object]) -> bool:
    return sum(row is not new.get(key) for key, row in old.items()) <= 52


def _bytes_held(folder: Path) -> int:
    """Memory of the rows of the list and of what is remembered beside them."""
    memory = JobMemory("bench")
    tokens = Tokens("~f~", "^r^")
    text = (folder / "squeue.txt").read_text().replace("\0", tokens.field).replace("\1", tokens.record)
    tracemalloc.start()
    try:
        rows = memory.rows(tokens.records(text.encode(), "squeue"))
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert rows
    return held
