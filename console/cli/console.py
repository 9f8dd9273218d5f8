"""``pilothouse`` and ``pilothouse console``: the console in this terminal."""

from __future__ import annotations

import os
import sys
from argparse import SUPPRESS, ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from console.cli.exits import USAGE, CommandFailed

if TYPE_CHECKING:
    from console.config import Config
    from console.grants import Wish

# Textual reads these into constants when it is first imported. Over ssh every frame costs bytes; nobody needs motion.
DEFAULTS = {"TEXTUAL_ANIMATIONS": "none", "TEXTUAL_SMOOTH_SCROLL": "0", "ESCDELAY": "50"}


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--record", type=Path, metavar="FILE", help="write what is shown to a recording, for `replay`")
    parser.add_argument("--anonymise", action="store_true", help="leave names of people, jobs and machines out of it")
    add_autopilot(parser)


def add_autopilot(parser: ArgumentParser) -> None:
    """The option, which may also stand before the command."""
    parser.add_argument(
        "--autopilot", metavar="LIMITS", default=SUPPRESS,
        help='answer the chat beforehand: "verbs=submit,hold actions=10 core_hours=50 minutes=60"',
    )  # fmt: skip


def run(args: Namespace) -> int:
    return run_console(
        args.config, cluster=args.cluster, read_only=args.read_only, record=args.record, anonymous=args.anonymise,
        autopilot=wish_of(args),
    )  # fmt: skip


def wish_of(args: Namespace) -> Wish | None:
    """What `--autopilot` allows. Raises CommandFailed, with the part that is wrong."""
    text = getattr(args, "autopilot", None)
    if text is None:
        return None
    from console.grants import WishError, parse

    try:
        return parse(text)
    except WishError as error:
        hint = 'Such as: --autopilot "verbs=submit,hold actions=10 core_hours=50 minutes=60"'
        raise CommandFailed(f"--autopilot: {error}", hint, USAGE) from error


def run_console(
    config: Path | str | None,
    *,
    cluster: str | None = None,
    read_only: bool = False,
    record: Path | None = None,
    anonymous: bool = False,
    autopilot: Wish | None = None,
) -> int:
    """Run the console on a configuration file until the person quits; returns the exit code.

    Raises CommandFailed without a terminal and ConfigError for a configuration that cannot be used.
    """
    _need_a_terminal()
    from console.cli.opening import settings

    found = settings(config, read_only=read_only)
    return run_config(found, cluster=cluster, record=record, anonymous=anonymous, autopilot=autopilot)


def run_config(
    settings: Config, *, cluster: str | None = None, record: Path | None = None, anonymous: bool = False,
    autopilot: Wish | None = None,
) -> int:  # fmt: skip
    """Run the console on settings. Raises CommandFailed without a terminal, or where autopilot names no cluster."""
    _need_a_terminal()
    for name in sorted((autopilot.clusters or frozenset()) - set(settings.clusters) if autopilot else ()):
        there = ", ".join(settings.clusters) or "none"
        raise CommandFailed(f"--autopilot: There is no cluster {name!r}; there is {there}.", code=USAGE)
    for name, value in {**DEFAULTS, "TEXTUAL_FPS": str(settings.fps)}.items():
        os.environ.setdefault(name, value)
    from console.app import run_app

    return run_app(settings, cluster=cluster, record=record, anonymous=anonymous, autopilot=autopilot)


def _need_a_terminal() -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CommandFailed("the console needs a terminal", "`pilothouse --help` lists what works without one.", USAGE)
