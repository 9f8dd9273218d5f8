"""The command line as far as the subcommand."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path

import pytest

from console.cli import SUBCOMMANDS, Subcommand
from console.cli.exits import MEANINGS, CommandFailed
from console.cli.failures import exit_code
from console.cli.options import global_options
from console.cli.parser import main_parser, parse

HEAVY = ("textual", "rich", "httpx", "pydantic", "anthropic", "mcp", "starlette", "uvicorn", "asyncio")


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom console.__main__ import main\n"
        "try: main(['--help'])\nexcept SystemExit as end: print(end.code)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=os.environ)
    assert done.stdout.splitlines()[-2:] == ["0", "[]"], done.stderr


def test_the_help_names_every_command_and_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main_parser().parse_args(["--help"])
    told = capsys.readouterr().out
    assert end.value.code == 0
    for row in SUBCOMMANDS:
        assert f"  {row.name:<10} {row.help}" in told
    for code, meaning in MEANINGS:
        assert f"{code:<4} {meaning}" in told


@pytest.mark.parametrize("row", SUBCOMMANDS, ids=lambda row: row.name)
def test_every_module_has_its_two_functions(row: Subcommand) -> None:
    module = importlib.import_module(row.module)
    parser = ArgumentParser(parents=[global_options()])
    module.configure(parser)
    assert callable(module.run)
    assert parser.format_help()


@pytest.mark.parametrize(
    "argv",
    [
        ["--json", "--cluster", "a", "jobs", "--mine"],
        ["jobs", "--mine", "--json", "--cluster", "a"],
        ["--cluster", "a", "jobs", "--json", "--mine"],
        ["--cluster", "b", "jobs", "--cluster", "a", "--json", "--mine"],
    ],
)
def test_global_options_before_or_behind_the_command(argv: list[str]) -> None:
    _, args = parse(argv)
    assert (args.json, args.cluster, args.mine, args.yes, args.config) == (True, "a", True, False, None)


def test_without_a_command_it_is_the_console() -> None:
    module, _ = parse(["--read-only"])
    assert Path(module.__file__ or "").name == "console.py"


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["jbos"], "Did you mean 'jobs'?"),
        (["--nonsense"], "--nonsense"),
        (["jobs", "--nonsense"], "--nonsense"),
        (["jobs", "--status", "gone"], "gone"),
        (["quota", "node-1"], "N|none"),
        (["quota", "node-1", "-3"], "-3"),
        (["quota", "node-1", "two"], "'two' is not a whole number"),
        (["drain", "node-1"], "--reason"),
        (["submit", "--memory", "4", "--", "x"], "no unit"),
        (["submit", "--walltime", "90", "--", "x"], "no unit"),
        (["submit", "--memory", "4G", "--", "x"], "decimal or binary"),
        (["logs", "1", "--tail", "-1"], "--tail"),
    ],
)
def test_wrong_usage_exits_2_and_says_what(argv: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        parse(argv)
    assert end.value.code == 2
    assert told in capsys.readouterr().err


def test_a_command_after_two_dashes_keeps_its_own_options() -> None:
    from console.cli.submit import job_spec

    _, args = parse(["submit", "--name", "x", "--cores", "2", "--", "run", "--json", "--name", "y", "--"])
    spec = job_spec(args, "/home/alice")
    assert spec.command == ("run", "--json", "--name", "y", "--")
    assert (spec.name, spec.cores, args.json) == ("x", 2, False)


def test_failures_become_sentences_and_codes(capsys: pytest.CaptureFixture[str]) -> None:
    from adapters.base import Forbidden, UnknownOutcome, Unreachable

    assert exit_code(CommandFailed("no\x1b[2J", "do this", 2)) == 2
    assert exit_code(Unreachable("nobody there", "start it")) == 3
    assert exit_code(UnknownOutcome("no answer")) == 4
    assert exit_code(Forbidden("not yours")) == 1
    assert exit_code(KeyboardInterrupt()) == 130
    assert exit_code(ZeroDivisionError()) is None
    told = capsys.readouterr().err
    assert "Cannot reach the cluster: nobody there\n  start it" in told
    assert "\x1b" not in told
