"""``pilothouse`` and ``pilothouse console``: the console in this terminal."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from console.cli.exits import USAGE, CommandFailed

# Textual reads these into constants when it is first imported. Over ssh every frame costs bytes; nobody needs motion.
DEFAULTS = {"TEXTUAL_ANIMATIONS": "none", "TEXTUAL_SMOOTH_SCROLL": "0", "ESCDELAY": "50"}


def configure(parser: ArgumentParser) -> None:
    """It takes no arguments of its own."""


def run(args: Namespace) -> int:
    return run_console(args.config, cluster=args.cluster, read_only=args.read_only)


def run_console(config: Path | str | None, *, cluster: str | None = None, read_only: bool = False) -> int:
    """Run the console on a configuration file until the person quits; returns the exit code.

    Raises CommandFailed without a terminal and ConfigError for a configuration that cannot be used.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CommandFailed("the console needs a terminal", "`pilothouse --help` lists what works without one.", USAGE)
    from console.config import load

    settings = load(config, read_only=read_only)
    for name, value in {**DEFAULTS, "TEXTUAL_FPS": str(settings.fps)}.items():
        os.environ.setdefault(name, value)
    from console.app import run_app

    return run_app(settings, cluster=cluster)
