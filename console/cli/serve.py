"""``pilothouse serve``: the server of an embedded cluster."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace


def configure(parser: ArgumentParser) -> None:
    from adapters.local.options import configure_serve

    configure_serve(parser)


def run(args: Namespace) -> int:
    from adapters.local.options import run_serve

    return run_serve(args)
