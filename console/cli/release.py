"""``pilothouse release ID ...``: let held jobs start again."""

from __future__ import annotations

from argparse import Namespace

from adapters.intents import ReleaseJob
from console.cli.on_jobs import act, configure

__all__ = ["configure", "run"]


def run(args: Namespace) -> int:
    return act(args, ReleaseJob)
