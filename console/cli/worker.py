"""``pilothouse worker``: the worker of an embedded cluster."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace


def configure(parser: ArgumentParser) -> None:
    from adapters.local.options import configure_worker

    configure_worker(parser)


def run(args: Namespace) -> int:
    from adapters.local.options import run_worker

    return run_worker(args)
