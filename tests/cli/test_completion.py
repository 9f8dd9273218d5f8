"""Completion of the command line, in the shells themselves where they are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from console.cli import SUBCOMMANDS
from console.cli.completion import SHELLS
from console.cli.completion_scripts import script
from console.cli.completion_words import places
from tests.harness.demo import COMMAND, run_command
from tests.harness.pty_console import PtyConsole

CONFIG = """version = 1
[clusters.north]
type = "slurm"
[clusters.south-2]
type = "slurm"
"""
CASES = [
    ("pilothouse au", {"audit"}),
    ("pilothouse audit ", {"tail", "verify", "export"}),
    ("pilothouse audit export --format ", {"jsonl", "csv"}),
    ("pilothouse --cluster jobs audit v", {"verify"}),
    ("pilothouse keys create eve --role mcp_", {"mcp_readonly", "mcp_operator"}),
    ("pilothouse completion ", {*SHELLS, "clusters"}),
    ("pilothouse jobs --rea", {"--read-only"}),
]


def shell(name: str) -> str:
    """Its path; skips the test, with the reason, where it is not installed."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed here")
    return found


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "config.toml"
    file.write_text(CONFIG)
    file.chmod(0o600)
    return file


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("completion")
    made = {name: folder / f"pilothouse.{name}" for name in SHELLS}
    for name, file in made.items():
        done = run_command("completion", name)
        assert done.returncode == 0, done.stderr
        file.write_text(done.stdout)
    return made


def environment() -> dict[str, str]:
    """Our own command comes first on the PATH."""
    return {**os.environ, "PATH": f"{Path(COMMAND).parent}:{os.environ['PATH']}"}


def in_bash(scripts: dict[str, Path], line: str) -> set[str]:
    """What bash offers at the end of the line."""
    words = line.split(" ")
    array = " ".join(f"'{word}'" for word in words)
    code = f"source {scripts['bash']}; COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}; _pilothouse;"
    done = subprocess.run(
        [shell("bash"), "--noprofile", "--norc", "-uc", code + ' printf "%s\\n" "${COMPREPLY[@]}"'],
        capture_output=True, text=True, env=environment(), timeout=60,
    )  # fmt: skip
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return set(done.stdout.split())


def in_fish(scripts: dict[str, Path], line: str) -> set[str]:
    done = subprocess.run(
        [shell("fish"), "--no-config", "-c", f"source {scripts['fish']}; complete -C '{line}'"],
        capture_output=True, text=True, env=environment(), timeout=60,
    )  # fmt: skip
    assert done.stderr == "", done.stderr
    return {found.split("\t")[0] for found in done.stdout.splitlines()}


@pytest.mark.parametrize(("line", "offered"), CASES)
def test_in_bash(scripts: dict[str, Path], line: str, offered: set[str]) -> None:
    assert in_bash(scripts, line) == offered


@pytest.mark.parametrize(("line", "offered"), CASES)
def test_in_fish(scripts: dict[str, Path], line: str, offered: set[str]) -> None:
    assert in_fish(scripts, line) == offered


def test_clusters_of_the_configuration_that_is_named(scripts: dict[str, Path], config: Path) -> None:
    assert in_bash(scripts, f"pilothouse --config {config} jobs --cluster ") == {"north", "south-2"}
    assert in_bash(scripts, f"pilothouse --config {config} --cluster so") == {"south-2"}


def test_clusters_in_fish(scripts: dict[str, Path], config: Path) -> None:
    assert in_fish(scripts, f"pilothouse --config {config} jobs --cluster ") == {"north", "south-2"}


def test_files(scripts: dict[str, Path], config: Path) -> None:
    assert in_bash(scripts, f"pilothouse replay {config.parent}/conf") == {str(config)}


def test_every_subcommand_and_option_is_in_every_script() -> None:
    every = places()
    assert {place.path[0] for place in every if place.path} == {row.name for row in SUBCOMMANDS}
    for name in SHELLS:
        text = script(name, every)
        for place in every:
            for word, _ in (*place.words, *place.flags):
                assert word.lstrip("-") in text, f"{name}: {word}"


def test_no_flag_takes_a_value_in_one_place_and_none_in_another() -> None:
    """The scripts skip what stands behind such a flag, wherever it is."""
    takes: dict[str, set[bool]] = defaultdict(set)
    for place in places():
        for option in place.options:
            for flag in option.flags:
                takes[flag].add(option.takes != "nothing")
    assert [flag for flag, kinds in takes.items() if len(kinds) > 1] == []


def test_a_tab_asks_no_scheduler(tmp_path: Path, config: Path) -> None:
    """Not even to find out which ones there are: `sinfo` and the like on the PATH are not run."""
    for command in ("sinfo", "squeue", "lsid", "kubectl"):
        fake = tmp_path / "bin" / command
        fake.parent.mkdir(exist_ok=True)
        fake.write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\n")
        fake.chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    for argv in (["completion", "clusters"], ["--config", str(config), "completion", "clusters"]):
        done = subprocess.run([sys.executable, "-m", "console", *argv], capture_output=True, text=True, env=env)
        assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["north", "south-2"]
    assert not (tmp_path / "asked").exists()


def test_tab_in_a_bash_at_a_terminal(scripts: dict[str, Path]) -> None:
    with PtyConsole(
        [shell("bash"), "--noprofile", "--norc", "-i"], columns=100, lines=30, env=environment()
    ) as console:
        console.type(f"PS1='ready> '; source {scripts['bash']}\r")
        console.wait_for("\nready>")
        console.type("pilothouse aud\t")
        console.wait_for("ready> pilothouse audit")
        console.type("ver\t")
        console.wait_for("ready> pilothouse audit verify")


def test_tab_in_a_zsh_at_a_terminal(scripts: dict[str, Path]) -> None:
    with PtyConsole([shell("zsh"), "-f", "-i"], columns=100, lines=30, env=environment()) as console:
        console.type(f"PS1='ready> '; autoload -U compinit; compinit -u -D; source {scripts['zsh']}; echo SO''URCED\r")
        console.wait_for("SOURCED")
        console.type("pilothouse aud\t")
        console.wait_for("ready> pilothouse audit")
        console.type("ver\t")
        console.wait_for("ready> pilothouse audit verify")
        console.type("\x15pilothouse keys create eve --role mcp_r\t")
        console.wait_for("ready> pilothouse keys create eve --role mcp_readonly")
