"""`--autopilot` on the command line: before or behind the command, strict, and only where there is a chat."""

from __future__ import annotations

from argparse import Namespace

import pytest

from console.cli.console import run_config, wish_of
from console.cli.exits import USAGE, CommandFailed
from console.cli.parser import parse
from console.config import Config

GOOD = "verbs=submit,hold actions=10 core_hours=50 minutes=60"


@pytest.mark.parametrize(
    "argv",
    [
        ["--autopilot", GOOD],
        ["console", "--autopilot", GOOD],
        ["--autopilot", GOOD, "console"],
        ["demo", f"--autopilot={GOOD}"],
    ],
)
def test_it_may_stand_before_or_behind_the_command(argv: list[str]) -> None:
    _, args = parse(argv)
    wish = wish_of(args)
    assert wish is not None and (wish.actions, wish.minutes) == (10, 60)


def test_without_it_there_is_none() -> None:
    assert wish_of(parse(["console"])[1]) is None


def test_other_commands_do_not_take_it(capsys: pytest.CaptureFixture[str]) -> None:
    for argv in (["--autopilot", GOOD, "jobs"], ["jobs", "--autopilot", GOOD]):
        with pytest.raises(SystemExit) as caught:
            parse(argv)
        assert caught.value.code == USAGE
    assert "--autopilot is for the console, not for jobs." in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "verbs=drain actions=1 core_hours=1 minutes=1", f"{GOOD} owners=all"])
def test_what_is_wrong_is_a_usage_error_that_names_it(text: str) -> None:
    with pytest.raises(CommandFailed, match=r"^--autopilot: ") as caught:
        wish_of(Namespace(autopilot=text))
    assert caught.value.code == USAGE and "verbs=submit,hold" in caught.value.hint


def test_a_cluster_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.cli.console._need_a_terminal", lambda: None)
    wish = wish_of(Namespace(autopilot=f"{GOOD} clusters=hpc"))
    with pytest.raises(CommandFailed, match="There is no cluster 'hpc'"):
        run_config(Config.model_validate({"version": 1}), autopilot=wish)
