"""Subcommands that have actions of their own, such as ``audit verify``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Any

from console.cli.options import global_options

Action = Callable[[Namespace], int]


def action_adder(parser: ArgumentParser) -> Callable[[str, str, Action], ArgumentParser]:
    """A function ``add(name, help, run)`` that returns the parser of one action; one of them must be chosen."""
    actions: Any = parser.add_subparsers(metavar="ACTION", required=True, dest="action")

    def add(name: str, help: str, run: Action) -> ArgumentParser:
        summary = help[0].upper() + help[1:] + "."
        added: ArgumentParser = actions.add_parser(
            name, help=help, description=summary, parents=[global_options()], allow_abbrev=False
        )
        added.set_defaults(run_action=run)
        return added

    return add


def run_action(args: Namespace) -> int:
    """Run the action that was chosen."""
    action: Action = args.run_action
    return action(args)
