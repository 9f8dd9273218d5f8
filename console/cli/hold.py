"""``pilothouse hold ID ...``: keep pending jobs from starting."""

from __future__ import annotations

from argparse import Namespace

from adapters.intents import HoldJob
from console.cli.on_jobs import act, configure

__all__ = ["configure", "run"]


def run(args: Namespace) -> int:
    return act(args, HoldJob)
