"""``pilothouse replay FILE``: the console on a recording. Nothing can be written to it."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path

from console.cli.amounts import duration

DESCRIPTION = """The console on a recording that `pilothouse console --record FILE` made: for reviews and reports.
It looks and answers as it did then; every write is refused."""


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = -1.0
    if not 0 <= speed <= 10_000:
        raise ArgumentTypeError(f"{text!r} is not a speed: a number from 0 (stand still) to 10000.")
    return speed


def _at(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else duration(text)


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="the recording")
    parser.add_argument("--speed", type=_speed, default=1.0, metavar="N", help="times as fast; 0 stands still")
    parser.add_argument("--at", type=_at, default=0, metavar="TIME", help="begin there, such as 90s or 5m")


def run(args: Namespace) -> int:
    from console.cli.console import run_config
    from console.config import Config

    profile = {"type": "replay", "file": str(args.file.absolute()), "speed": args.speed, "at": float(args.at)}
    settings = {"version": 1, "read_only": True, "clusters": {"replay": profile}}
    return run_config(Config.model_validate(settings))
