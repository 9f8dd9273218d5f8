"""The question before a write, on a real terminal."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from adapters.intents import CancelJob, Change, HttpRequest, Plan, Step, Target
from adapters.model import Ref
from console.cli.ask import MOST_TARGETS, plan_lines
from tests.harness.pty_console import PtyConsole

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import asyncio
from console.cli.ask import answered_yes
from console.gate import Confirm, Prepared
from tests.cli.test_ask import a_plan

print("ready")
input()
answer = asyncio.run(answered_yes(Prepared(a_plan(1), Confirm({confirm}))))
print("answer:", repr(answer))
"""


def a_plan(count: int, **fields: object) -> Plan:
    refs = tuple(Ref("demo", "job", str(number)) for number in range(1, count + 1))
    steps = tuple(
        Step(
            HttpRequest("POST", f"/xce/v1/jobs/{ref.id}/control", (("Idempotency-Key", "x"),), b'{"action":"kill"}'),
            (Target(ref, owner="ada", state="running", label="train"),),
        )
        for ref in refs
    )
    return Plan(CancelJob(cluster="demo", refs=refs), steps, **fields)  # type: ignore[arg-type]


def asked(confirm: str) -> PtyConsole:
    console = PtyConsole([sys.executable, "-c", SCRIPT.format(confirm=confirm)], cwd=ROOT)
    console.wait_for("ready")
    return console


@pytest.mark.parametrize(
    ("confirm", "typed", "answer"),
    [
        ('"key"', "y\r", "'y'"),
        ('"key"', "yes\r", "'y'"),
        ('"key"', "n\r", "None"),
        ('"key"', "\r", "None"),
        ('"key"', "\x04", "None"),
        ('"type", "3", "3 targets", "the number of targets"', "3\r", "'3'"),
        ('"type", "3", "3 targets", "the number of targets"', "y\r", "None"),
        ('"type", "3", "3 targets", "the number of targets"', "33\r", "None"),
    ],
)
def test_only_the_right_answer_is_a_yes(confirm: str, typed: str, answer: str) -> None:
    with asked(confirm) as console:
        console.press("enter")
        console.wait_for("[y/N]" if "key" in confirm else "Type the number of targets to go on:")
        console.type(typed)
        console.wait_for(f"answer: {answer}")


def test_what_was_typed_ahead_is_dropped() -> None:
    """A `y` that was typed, or pasted, before the question could be read does not answer it."""
    with asked('"key"') as console:
        console.type("\ry\r")
        console.wait_for("[y/N]")
        console.type("n\r")
        console.wait_for("answer: None")


def test_ctrl_c_at_the_question_is_no_answer() -> None:
    with asked('"key"') as console:
        console.press("enter")
        console.wait_for("[y/N]")
        console.press("ctrl+c")
        console.wait_for("KeyboardInterrupt")
        assert "answer:" not in console.text


def test_the_plan_shows_everything_that_is_agreed_to() -> None:
    plan = a_plan(
        2,
        changes=(Change(Ref("demo", "job", "1"), "status", "running", "cancelled"),),
        warnings=("It runs since 3 days.",),
        undo="Submit it again.",
    )
    text = "\n".join(plan_lines(plan, ("one has finished",)))
    for part in (
        "Cancel 1, 2",
        "demo/1 train (running, of ada)",
        "demo/2",
        "status: running -> cancelled",
        "POST /xce/v1/jobs/1/control",
        "POST /xce/v1/jobs/2/control",
        "Idempotency-Key: x",
        '{"action":"kill"}',
        "It runs since 3 days.",
        "Submit it again.",
        "one has finished",
    ):
        assert part in text


def test_the_plan_counts_what_it_does_not_list_but_shows_every_request() -> None:
    lines = plan_lines(a_plan(MOST_TARGETS + 5))
    assert f"  and 5 more targets: {MOST_TARGETS + 5} in all" in lines
    assert sum("POST /xce" in line for line in lines) == MOST_TARGETS + 5


def test_hostile_text_in_a_plan_is_made_visible() -> None:
    ref = Ref("demo", "job", "1")
    target = Target(ref, owner="a\x1b[2Jda", state="running", label="\u202ejob")
    request = HttpRequest("POST", "/x", (), b"a\nb\x1b]52;c;x\x07")
    plan = Plan(CancelJob(cluster="demo", refs=(ref,)), (Step(request, (target,)),), warnings=("\x9b2J",))
    text = "\n".join(plan_lines(plan))
    assert not any(char < " " and char != "\n" for char in text)
    assert "\x9b" not in text and "\u202e" not in text
