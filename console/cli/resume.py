"""``pilothouse resume ID ...``: let suspended jobs run on."""

from __future__ import annotations

from argparse import Namespace

from adapters.intents import ResumeJob
from console.cli.on_jobs import act, configure

__all__ = ["configure", "run"]


def run(args: Namespace) -> int:
    return act(args, ResumeJob)
