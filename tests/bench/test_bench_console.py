"""Budgets of the running console, measured through a terminal: bytes and ratios fail, seconds are printed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.bench.feeds import Feed, rounds, storm
from tests.harness.demo import COMMAND
from tests.harness.pty_console import PtyConsole

pytestmark = [pytest.mark.bench, pytest.mark.timeout(300)]

WINDOW = 8.0
MEGABYTE = 1_000_000


@contextmanager
def console_on(feed: Path, tmp_path: Path, columns: int = 160, lines: int = 50) -> Iterator[PtyConsole]:
    config = tmp_path / "config.toml"
    config.write_text(f'version = 1\n[clusters.bench]\ntype = "replay"\nfile = "{feed}"\n')
    env = {"PILOTHOUSE_STATE_DIR": str(tmp_path / "state")}
    with PtyConsole([COMMAND, "--config", str(config)], columns=columns, lines=lines, env=env) as console:
        yield console


def loaded(console: PtyConsole, jobs: int) -> float:
    """Wait until the newest job is on screen; seconds since the start."""
    console.wait_for(lambda text: f" {jobs} " in text and f"Jobs {jobs}" in text.replace(",", ""), 120)
    return time.monotonic() - console.started


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
    feed = Feed(tmp_path / "feed.jsonl", 100_000, live=False)
    feed.write(rounds(feed, start=40, count=3, seconds=6))
    with console_on(feed.path, tmp_path) as console:
        loaded(console, 100_000)
        pages = []
        for _ in range(4):
            console.quiet(1)
            before = console.bytes_out
            console.press("pagedown")
            console.quiet(0.5)
            pages.append(console.bytes_out - before)
        console.press("g")
        console.wait_for("marker-0", 120)
        costs = []
        for number in (1, 2, 3):
            console.quiet(0.5)
            before = console.bytes_out
            console.wait_for(f"marker-{number}", 60)
            console.quiet(0.5)
            costs.append(console.bytes_out - before)
        print(
            f"\n1,000 changes off screen and one changed cell: {costs} bytes (0 + 400); pages: {pages} bytes (20,000)"
        )
        assert min(costs) <= 400
        assert sorted(pages)[len(pages) // 2] <= 20_000


def test_a_thousand_changes_a_second_at_100_000_jobs(tmp_path: Path) -> None:
    feed = Feed(tmp_path / "feed.jsonl", 100_000, live=False)
    feed.write(storm(feed, start=40, seconds=10))
    with console_on(feed.path, tmp_path) as console:
        loaded(console, 100_000)
        console.press("g")
        console.wait_for("storm-begins", 120)
        console.quiet(0.3)
        cpu, count, began = console.cpu_seconds, console.bytes_out, time.monotonic()
        console.wait_for("storm-ends", 60)
        took = time.monotonic() - began
        share = (console.cpu_seconds - cpu) / took
        rate = (console.bytes_out - count) / took
        print(f"\n1,000 changes/s for {took:.0f} s: {share:.1%} of a core (5 %), {rate:.0f} bytes/s")
        assert share < 0.05
