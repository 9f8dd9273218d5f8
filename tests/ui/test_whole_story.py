"""A morning of an operator on the demo, on a real terminal and without the mouse: what failed and why, again, away with
three, a node out of service, other colours, a list to take along; and all of it on record."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from tests.harness.demo import COMMAND, config_of, rows, run_command
from tests.harness.pty_console import PtyConsole

LONG = 150  # seconds to wait for jobs of the demo, on a machine that does other things too


def _line(console: PtyConsole, text: str) -> None:
    """A line of the command line: typed once the list is open."""
    console.press(":")
    console.wait_for("a command, or: cancel ID")
    console.type(text)
    console.wait_for(lambda shown: text.split()[-1] in shown)
    console.press("enter")
    console.wait_for(lambda shown: "a command, or: cancel ID" not in shown)


def _filter(console: PtyConsole, text: str) -> None:
    """A filter where there is none."""
    console.press("/")
    console.wait_for("filter: text, or field:value")
    console.type(text)
    console.wait_for(f" {text} ")
    console.press("enter")
    console.wait_for(lambda shown: f"filter {text[:16]}" in shown and f" {text} " not in shown.splitlines()[-3])


def _no_filter(console: PtyConsole) -> None:
    """Esc, one level at a time, until none is left."""
    while "filter owner" in console.text:
        console.press("escape")
        console.pump(1.0)


def _yes(console: PtyConsole) -> None:
    console.wait_for("y confirms")
    console.press("y")


def _typed(console: PtyConsole, answer: str) -> None:
    """Answer the question that is open by typing, then Enter twice, not in one burst."""
    console.wait_for(f"({answer}), then Enter twice")
    console.pump(0.5)
    console.type(answer)
    console.wait_for(lambda shown: re.search(rf"Confirm\s+{re.escape(answer)}", shown))
    console.press("enter")
    console.pump(0.5)
    console.press("enter")


def _sleepers(config: Path, count: int) -> list[str]:
    """Jobs that would run for ten minutes, on their way."""
    made = []
    for n in range(count):
        done = run_command("submit", "--yes", "--json", "--name", f"zz-idle-{n}", "--", "sleep", "600", config=config)
        assert done.returncode == 0, done.stderr
        made.append(json.loads(done.stdout)["outcomes"][0]["created"].partition("/")[2])
    return made


@pytest.mark.timeout(480)
def test_a_morning_of_an_operator(state_dir: Path, tmp_path: Path) -> None:
    with PtyConsole([COMMAND, "demo"], columns=120, lines=40, cwd=tmp_path) as console:
        console.wait_for(lambda text: "node3" in text and "demo live" in text, seconds=60)
        config = config_of(console.process.pid)
        me = next(job["owner"] for job in rows("jobs", config))

        # The failed jobs of one user, and why the first of those named qc failed.
        _filter(console, f"owner:{me} state:failed name:qc")
        shown = console.wait_for(lambda text: re.search(r"F\s+failed\s+\d+.*qc-", text), seconds=LONG)
        failed = re.search(r"F\s+failed\s+(\d+)", shown)
        assert failed
        console.press("w")
        console.wait_for(
            lambda text: "input.cif: no such file" in text and "A file or folder it needs is not there" in text,
            seconds=60,
        )
        console.press("escape")

        # It is submitted again.
        console.wait_for(lambda text: " Why  " not in text and "filter owner:" in text)
        console.press("A")
        console.wait_for(f"Submit {failed[1]} again")
        console.press("ctrl+s")
        console.wait_for("POST /xce/v1/jobs")
        _yes(console)
        console.wait_for(lambda text: "y confirms" not in text and " again " not in text)

        # Three are cancelled in one operation; one of them is ended by somebody else before the answer is given.
        _no_filter(console)
        idle = _sleepers(config, 3)
        _filter(console, "name:zz-idle")
        console.wait_for(lambda text: all(id in text for id in idle) and "1 Jobs 3/" in text, seconds=60)
        console.press("*")
        console.wait_for("(3 marked)")
        console.press("K")
        console.wait_for("the number of targets (3)")
        assert run_command("cancel", "--yes", idle[1], config=config).returncode == 0
        _typed(console, "3")
        console.wait_for(lambda text: "is finished by now and left out" in text and "2 accepted" in text, seconds=60)
        console.press("escape")
        console.wait_for(lambda text: " Sent " not in text)

        # A node goes out of service, the colours change, the list is taken along.
        _line(console, "drain node2 disk is failing")
        console.wait_for("/disable")
        console.wait_for("y confirms")
        console.press("y")
        console.wait_for(lambda text: re.search(r"D\s+drain\s+\S+\s+node2", text), seconds=60)
        _line(console, "theme pilothouse-harbour")
        _line(console, "export idle.csv")
        console.wait_for("3 rows written to")
        with (tmp_path / "idle.csv").open() as file:
            assert [row["id"] for row in csv.DictReader(file)] == sorted(idle, reverse=True)

        # All of it is in the command log and on record.
        console.press("o")
        console.wait_for(lambda text: all(word in text for word in ("Drain node2", "Cancel ", "Submit qc-")))
        console.press("escape")
        console.wait_for(lambda text: " Sent " not in text)
        console.press("v")
        console.wait_for(lambda text: all(word in text for word in ("Audit log", "drain", "cancel", "submit")))
        console.press("v")
        console.wait_for("The log holds:", seconds=30)
        console.press("escape")
        console.wait_for(lambda text: "Audit log" not in text)
        console.press("q")
        assert console.wait_exit(60) == 0

    records = [json.loads(line) for line in run_command("audit", "tail", "-n", "200", "--json").stdout.splitlines()]
    by_hand = [r for r in records if r["kind"] == "intent" and r.get("decision") == "confirmed by dialog"]
    assert [r["action"] for r in by_hand] == ["submit", "cancel", "cancel", "drain"]
    assert json.loads((state_dir / "console.json").read_text())["theme"]["name"] == "pilothouse-harbour"
