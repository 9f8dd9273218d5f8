"""What tests need to know about a running `pilothouse demo`: its files, and the command line on it."""

from __future__ import annotations

import json
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

COMMAND = str(Path(sysconfig.get_path("scripts")) / "pilothouse")


def config_of(pid: int) -> Path:
    """The configuration of the demo that runs as process `pid`, from the arguments of its server."""
    for child in psutil.Process(pid).children(recursive=True):
        argv = child.cmdline()
        if "serve" in argv and "--data" in argv:
            return Path(argv[argv.index("--data") + 1]).parent / "config.toml"
    raise AssertionError(f"process {pid} has no server")


def run_command(*argv: str, config: Path | None = None, seconds: float = 60) -> subprocess.CompletedProcess[str]:
    """Run the real command; its output as text."""
    options: Sequence[str] = ["--config", str(config)] if config else []
    return subprocess.run(
        [COMMAND, *options, *argv], capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL
    )


def rows(what: str, config: Path, *more: str) -> list[dict[str, Any]]:
    """A list as the command line gives it to programs."""
    done = run_command(what, "--json", *more, config=config)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]
