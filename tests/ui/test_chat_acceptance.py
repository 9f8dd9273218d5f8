"""The chat as a person sees it: a demo cluster, no key, three sentences, each confirmed from the inbox."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.demo import COMMAND, config_of, rows, run_command
from tests.harness.pty_console import PtyConsole

SECONDS = 90


def say(console: PtyConsole, sentence: str) -> None:
    """Type a sentence and Enter, and wait until it waits in the inbox."""
    console.type(sentence)
    console.wait_for(lambda text: sentence in text, SECONDS, what=f"{sentence!r} in the input")
    console.press("enter")
    console.wait_for("1 to answer: Ctrl+O", SECONDS)


def to_question(console: PtyConsole, request: str) -> None:
    """From the chat to the inbox, and to the question of what waits there."""
    console.press("ctrl+o")
    console.wait_for(lambda text: "Proposed, not sent" in text and request in text, SECONDS, what=request)
    console.press("A")
    console.wait_for("leaves it in the inbox", SECONDS)


def back_in_chat(console: PtyConsole) -> None:
    console.wait_for("Nothing waits for an answer", SECONDS)
    console.press("escape")
    console.wait_for(lambda text: "Proposed, not sent" not in text and "Esc leave" in text, SECONDS, what="the chat")


def until_row(config: Path, what: str, holds: Callable[[dict[str, object]], bool], console: PtyConsole) -> None:
    """Wait until the cluster itself says so."""
    console.wait_for(lambda _: any(holds(row) for row in rows(what, config)), SECONDS, what=f"{what} of the cluster")


def intents() -> list[dict[str, object]]:
    """Everything that was sent from the chat, by the audit log."""
    lines = [json.loads(line) for line in run_command("audit", "tail", "-n", "200", "--json").stdout.splitlines()]
    return [line for line in lines if line["kind"] == "intent" and line["origin"] == "chat"]


@pytest.mark.timeout(600)
def test_three_sentences_reach_the_cluster_and_the_record(state_dir: Path) -> None:
    with PtyConsole([COMMAND, "demo"], columns=120, lines=40) as console:
        console.wait_for("node3", SECONDS)
        config = config_of(console.process.pid)
        made = run_command("submit", "--yes", "--json", "--queue", "long", "--", "sleep", "600", config=config)
        assert made.returncode == 0, made.stderr
        job = str(json.loads(made.stdout)["outcomes"][0]["created"]).rpartition("/")[2]

        console.press("c")
        console.wait_for("Scope  only my jobs, any queue, any cluster", SECONDS)

        say(console, f"cancel job {job}")
        to_question(console, f"demo/{job}")
        console.wait_for("y confirms", SECONDS)
        console.press("y")
        until_row(config, "jobs", lambda row: row["id"] == job and row["status"] == "cancelled", console)
        back_in_chat(console)

        say(console, "run sleep 30 on 2 cores in queue short")
        to_question(console, "POST /xce/v1/jobs")
        console.wait_for("y confirms", SECONDS)
        console.press("y")
        back_in_chat(console)
        until_row(
            config, "jobs", lambda row: (row["queue"], row["cores"], row["name"]) == ("short", 2, "sleep"), console
        )

        say(console, "把 node-2 的配额设为 2")  # the cluster calls it node2
        to_question(console, "no limit -> 2")
        console.wait_for("Type the name (node2), then Enter twice", SECONDS)
        console.pump(0.5)
        console.type("node2")
        console.wait_for(lambda text: re.search(r"Confirm\s+node2", text), SECONDS, what="the answer")
        console.press("enter")
        console.pump(0.5)
        console.press("enter")
        until_row(config, "nodes", lambda row: (row["name"], row["slots_quota"]) == ("node2", 2), console)
        back_in_chat(console)
    found = intents()
    assert [line["action"] for line in found] == ["cancel", "submit", "set_node_quota"]
    assert {line["decision"] for line in found} == {"confirmed by dialog"}
    assert run_command("audit", "verify").returncode == 0
