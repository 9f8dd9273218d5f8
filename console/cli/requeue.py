"""``pilothouse requeue ID ...``: put jobs back into their queue, to run again from the start."""

from __future__ import annotations

from argparse import Namespace

from adapters.intents import RequeueJob
from console.cli.on_jobs import act, configure

__all__ = ["configure", "run"]


def run(args: Namespace) -> int:
    return act(args, RequeueJob)
