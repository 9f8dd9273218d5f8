"""Budgets of the running console, measured through a terminal: bytes and ratios fail, seconds are printed."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.bench.feeds import Feed
from tests.harness.demo import COMMAND
from tests.harness.pty_console import PtyConsole

pytestmark = [pytest.mark.bench, pytest.mark.timeout(300)]

WINDOW = 8.0
MEGABYTE = 1_000_000
ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def console_on(feed: Path, tmp_path: Path, columns: int = 160, lines: int = 50) -> Iterator[PtyConsole]:
    config = tmp_path / "config.toml"
    config.write_text(f'version = 1\n[clusters.bench]\ntype = "replay"\nfile = "{feed}"\n')
    env = {"PILOTHOUSE_STATE_DIR": str(tmp_path / "state")}
    with PtyConsole([COMMAND, "--config", str(config)], columns=columns, lines=lines, env=env) as console:
        yield console


def loaded(console: PtyConsole, jobs: int) -> float:
    """Wait until all are counted and the newest one, on top, is on screen; seconds since the start."""
    top = re.compile(rf"(?:succeeded|running|pending) +{jobs} ")
    console.wait_for(lambda text: f"Jobs {jobs}" in text.replace(",", "") and top.search(text), 120, "all jobs")
    return time.monotonic() - console.started


@contextmanager
def driven_console(jobs: int, tmp_path: Path) -> Iterator[tuple[PtyConsole, Callable[[str], object]]]:
    """The console on `tests.bench.program`, loaded, its cursor on top; and what says a word to the backend."""
    pipe = tmp_path / "words"
    os.mkfifo(pipe)
    argv = [sys.executable, "-m", "tests.bench.program", str(jobs), str(pipe)]
    env = {"PILOTHOUSE_STATE_DIR": str(tmp_path / "state")}
    with PtyConsole(argv, columns=160, lines=50, env=env, cwd=ROOT) as console:
        loaded(console, jobs)
        console.quiet(1.5, 60)
        yield console, lambda words: pipe.open("w").write(f"{words}\n")


@pytest.mark.parametrize(("jobs", "memory", "seconds"), [(200, 80, 1.5), (20_000, 160, 3.0), (100_000, 250, None)])
def test_start_idle_and_memory(tmp_path: Path, jobs: int, memory: int, seconds: float | None) -> None:
    feed = Feed(tmp_path / "feed.jsonl", jobs, live=False).write()
    with console_on(feed, tmp_path) as console:
        at = loaded(console, jobs)
        console.quiet(2, 60)
        idle = []
        for _ in range(3):
            cpu = console.cpu_seconds
            idle.append((console.pump(WINDOW), (console.cpu_seconds - cpu) / WINDOW))
        quietest, share = min(count for count, _ in idle), min(share for _, share in idle)
        print(
            f"\n{jobs} jobs: first output {console.first_output or 0:.2f} s (0.6), data {at:.2f} s ({seconds}), "
            f"idle {quietest} bytes (0) and {share:.2%} CPU (1 %), {console.rss_bytes / MEGABYTE:.0f} MB ({memory})"
        )
        assert quietest == 0
        assert share < 0.01
        assert console.rss_bytes < memory * MEGABYTE


def test_bytes_of_changes_and_pages_at_100_000_jobs(tmp_path: Path) -> None:
    with driven_console(100_000, tmp_path) as (console, say):

        def cost(*words: str) -> int:
            """Bytes that are written until a marker that is sent after those words is on screen."""
            before = console.bytes_out
            for word in words:
                say(word)
            marker = f"marker-{before}"
            say(f"marker {marker}")
            console.wait_for(marker, 60)
            console.quiet(0.5)
            return console.bytes_out - before

        cells = sorted(cost() for _ in range(5))
        far = sorted(cost("far") for _ in range(5))
        pages = sorted(page(console) for _ in range(5))
        print(
            f"\na changed cell: {cells} bytes (400); 1,000 changes off screen before it: {far}; pages: {pages} (20,000)"
        )
        assert cells[2] <= 400
        assert far[0] <= cells[-1]
        assert pages[2] <= 20_000


def page(console: PtyConsole) -> int:
    before = console.bytes_out
    console.press("pagedown")
    console.quiet(0.5)
    return console.bytes_out - before


def test_a_thousand_changes_a_second_at_100_000_jobs(tmp_path: Path) -> None:
    """The budget is for changes anywhere; with one in ten of them on the screen it is printed."""
    with driven_console(100_000, tmp_path) as (console, say):
        shares: dict[str, list[float]] = {"storm": [], "busy": []}
        for word in ("storm", "busy") * 3:
            say(f"{word} 6")
            console.wait_for("storm-begins", 60)
            cpu, began = console.cpu_seconds, time.monotonic()
            console.wait_for("storm-over", 60)
            shares[word].append((console.cpu_seconds - cpu) / (time.monotonic() - began))
        anywhere, seen = ([f"{share:.1%}" for share in shares[word]] for word in ("storm", "busy"))
        print(f"\n1,000 changes/s: {anywhere} of a core (5 %); with a tenth of them on the screen {seen}")
        assert min(shares["storm"]) < 0.05
