"""The slice, as a person sees it: a quota set from the keyboard, on a demo cluster that really runs jobs."""

from __future__ import annotations

import re
from pathlib import Path

import psutil
import pytest

from tests.harness.demo import COMMAND, config_of, rows, run_command
from tests.harness.pty_console import PtyConsole


def slots_of(name: str, text: str) -> str:
    """The slots column of a node in the nodes pane."""
    found = re.search(rf"(\d+/\d+)\s+{name}\b", text)
    return found[1] if found else ""


@pytest.mark.timeout(240)
def test_a_quota_from_the_keyboard_drains_the_node_and_kills_nothing(state_dir: Path) -> None:
    with PtyConsole([COMMAND, "demo"], columns=120, lines=40) as console:
        console.wait_for(lambda text: "node3" in text and slots_of("node1", text) not in ("", "0/8", "1/8", "2/8"))
        config = config_of(console.process.pid)
        before = {job["id"] for job in rows("jobs", config, "--node", "node1", "--status", "running")}
        assert before

        console.press("3", "e")
        console.wait_for("New quota")
        console.type("2")
        console.press("enter")
        shown = console.wait_for(lambda text: "POST /api/admin/nodes" in text and "y confirms" in text)
        assert "no limit -> 2" in shown and '{"admin_max_slots":2}' in shown
        console.press("y")
        console.wait_for("2/2/8", seconds=100)

        jobs = [job for job in rows("jobs", config) if job["id"] in before]
        assert len(jobs) == len(before)
        for job in jobs:
            assert job["status"] in ("running", "succeeded", "failed")
            assert "ended_by" not in job["extensions"], job
            assert job["extensions"].get("attempt", 1) == 1, job
        node = next(node for node in rows("nodes", config) if node["name"] == "node1")
        assert (node["slots_quota"], node["slots_total"]) == (2, 8)

        family = psutil.Process(console.process.pid).children(recursive=True)
        assert family
        console.press("escape")
        console.wait_for(lambda text: "New quota" not in text)
        console.press("q")
        assert console.wait_exit(40) == 0
        assert not config.parent.exists()
        assert [process for process in family if process.is_running() and process.status() != "zombie"] == []

    verified = run_command("audit", "verify")
    assert verified.returncode == 0 and verified.stdout.startswith("holds"), verified.stdout + verified.stderr
    exported = run_command("audit", "tail", "--json").stdout
    assert '"decision": "confirmed by dialog"' in exported
    assert '"outcome": "accepted"' in exported
