"""``pilothouse suspend ID ...``: stop running jobs where they are."""

from __future__ import annotations

from argparse import Namespace

from adapters.intents import SuspendJob
from console.cli.on_jobs import act, configure

__all__ = ["configure", "run"]


def run(args: Namespace) -> int:
    return act(args, SuspendJob)
