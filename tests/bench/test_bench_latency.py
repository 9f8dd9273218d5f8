"""How long an event takes from the server to the screen, on a real embedded cluster: printed, in milliseconds."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.harness.demo import COMMAND
from tests.harness.pty_console import PtyConsole

if TYPE_CHECKING:
    from adapters.local.launch import EmbeddedCluster

pytestmark = [pytest.mark.bench, pytest.mark.timeout(300)]
EVENTS = 30


def test_an_event_is_on_screen_soon(embedded_cluster: EmbeddedCluster, tmp_path: Path) -> None:
    """Every held job that is submitted appears; the budget is 300 ms for the slowest one in twenty."""
    env = {"PILOTHOUSE_STATE_DIR": str(tmp_path / "state")}
    argv = [COMMAND, "--config", str(embedded_cluster.config)]
    headers = {"authorization": embedded_cluster.admin_key}
    with (
        PtyConsole(argv, columns=160, lines=50, env=env) as console,
        httpx.Client(base_url=embedded_cluster.url, headers=headers) as server,
    ):
        console.wait_for("node1", 60)
        took = []
        for number in range(EVENTS):
            console.press("g")  # the cursor keeps its row, and new rows come above it
            console.quiet(0.2)
            job = {"jobname": f"event-{number:03}", "command": "true", "resreq": "", "hold": True}
            began = time.monotonic()
            made = server.post("/xce/v1/jobs", json=job).json()["data"]["jobid"]
            console.wait_for(f"event-{number:03}", 20)
            took.append((time.monotonic() - began) * 1000)
            server.post(f"/xce/v1/jobs/{made}/control", json={"action": "kill"}).raise_for_status()
    p95 = sorted(took)[int(len(took) * 0.95) - 1]
    print(f"\nsubmission to screen: median {statistics.median(took):.0f} ms, p95 {p95:.0f} ms (300), {EVENTS} events")
