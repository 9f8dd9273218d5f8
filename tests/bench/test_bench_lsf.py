"""100,000 jobs of LSF: how long after the command's own time they are in the store, and whether the console stops.

The command is a script that prints a prepared answer. Times are processor seconds, which a busy machine does not
change much: of the process for the load, and of the main thread between two of its turns for what stops the console.
"""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import aclosing
from pathlib import Path

import pytest

from adapters.base import Delta, Interest, InterestCell
from adapters.lsf import open_lsf
from adapters.lsf.tables import DELIMITER, JOBS, Dialect, Tier
from console.feed import Feed
from console.store import Store
from tests.console.waiting import until

pytestmark = pytest.mark.bench
ROWS = 100_000
OWN_TIME = 4.3
"""Seconds that volclava 2.2 took for 100,000 rows of text (tests/data/lsf/README.md)."""
TURN = 0.02


def cell(name: str, row: int) -> str:
    """A plausible value of a field: two jobs of three run."""
    runs = bool(row % 3)
    clock = f"{row % 24:02d}:{row // 7 % 60:02d}:{row % 60:02d} 2026"
    running = {
        "exec_host": f"node{row % 500:03d}:node{row % 500:03d}", "nalloc_slot": "2", "start_time": f"Nov 29 {clock}",
        "finish_time": f"Nov 30 {clock} L", "mem": f"{row % 4000} Mbytes", "max_mem": f"{row % 4000} Mbytes",
    }  # fmt: skip
    always = {
        "jobid": str(row + 1), "jobindex": "0", "stat": "RUN" if runs else "PEND", "user": f"user{row % 50}",
        "queue": "normal", "nreq_slot": "2", "memlimit": "4 Gbytes", "runtimelimit": "1440.0",
        "submit_time": f"Nov 28 {clock}", "pend_reason": "" if runs else "Job dependency condition not satisfied;",
        "proj_name": "default", "job_name": f"job-{row}",
    }  # fmt: skip
    return always.get(name) or (running.get(name, "") if runs else "")


def prepare(folder: Path, tier: Tier) -> dict[str, str]:
    """A `bjobs` that prints the rows for all users and has none of this one's own; returns its environment."""
    dialect = Dialect(JOBS, tier=tier)
    if tier == "A":
        records = [{name.upper(): cell(name, row) for name in dialect.fields} for row in range(ROWS)]
        answer = json.dumps({"COMMAND": "bjobs", "JOBS": ROWS, "RECORDS": records}, indent=2)
    else:
        columns = dialect.columns()
        lines = [DELIMITER.join(cell(name, row) or "-" for name in columns) for row in range(ROWS)]
        answer = "\n".join([DELIMITER.join(name.upper() for name in columns), *lines]) + "\n"
    (folder / "answer").write_text(answer)
    bin = folder / "bin"
    bin.mkdir()
    refuses = "" if tier == "A" else 'case "$*" in *-json*) echo "illegal option -- json" >&2; exit 255;; esac\n'
    script = f'#!/bin/sh\n{refuses}case "$*" in *"-u all"*) exec cat {folder}/answer;; esac\n'
    (bin / "bjobs").write_text(script + 'echo "No unfinished job found" >&2; exit 255\n')
    (bin / "bjobs").chmod(0o755)
    return {"PATH": f"{bin}:/usr/bin:/bin"}


class Turns:
    """The longest time, in processor seconds of the main thread, between two turns of the event loop."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def run(self) -> None:
        before = time.thread_time()
        while True:
            await asyncio.sleep(TURN)
            now = time.thread_time()
            self.longest, before = max(self.longest, now - before), now


@pytest.mark.parametrize("tier", ["A", "B"])
async def test_the_watch_reads_100_000_jobs_without_stopping_the_console(tmp_path: Path, tier: Tier) -> None:
    reader, _ = open_lsf("lsf", environment=prepare(tmp_path, tier), user="nobody")
    turns = Turns()
    ticking = asyncio.create_task(turns.run())
    cpu = time.process_time()
    async with aclosing(reader.watch(InterestCell(Interest(kinds=frozenset({"job"}))))) as items:  # type: ignore[type-var]
        async for item in items:
            if isinstance(item, Delta) and len(item.upserts) == ROWS:
                break
    cpu = time.process_time() - cpu
    ticking.cancel()
    print(f"\ntier {tier}: read in {cpu:.2f} s, longest turn {turns.longest * 1000:.0f} ms (100)")
    assert turns.longest < 0.1


@pytest.mark.parametrize("tier", ["A", "B"])
async def test_100_000_jobs_are_in_the_store_soon_after_the_command_has_ended(tmp_path: Path, tier: Tier) -> None:
    """Within 1.5 times the command's own time and a second, of which the command takes one time itself."""
    reader, _ = open_lsf("lsf", environment=prepare(tmp_path, tier), user="nobody")
    store = Store()
    cpu = time.process_time()
    feed = asyncio.create_task(Feed(reader, InterestCell(Interest(kinds=frozenset({"job"}))), store).run())
    await until(lambda: store.count("job") == ROWS and store.state("lsf", "job").loaded, 120.0)
    cpu = time.process_time() - cpu
    feed.cancel()
    await asyncio.gather(feed, return_exceptions=True)
    allowed = 0.5 * OWN_TIME + 1
    print(f"\ntier {tier}: in the store {cpu:.2f} s after the command's own {OWN_TIME} s; allowed {allowed:.2f} s")
    assert cpu <= allowed
