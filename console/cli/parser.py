"""Reads the command line as far as the subcommand, imports that subcommand's module, and reads the rest with it."""

from __future__ import annotations

import sys
from argparse import REMAINDER, SUPPRESS, ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from console import __version__
from console.cli import SUBCOMMANDS, Subcommand
from console.cli.console import add_autopilot
from console.cli.exits import MEANINGS
from console.cli.options import global_defaults, global_options

DESCRIPTION = "A terminal operations console for job schedulers. Without a command: the console."
WITH_CHAT = ("console", "demo")
"""Commands that open a chat, which autopilot is for."""


def _table_of_commands() -> str:
    lines = []
    for group in dict.fromkeys(row.group for row in SUBCOMMANDS):
        lines.append(f"{group}:")
        lines += [f"  {row.name:<10} {row.help}" for row in SUBCOMMANDS if row.group == group]
    lines += ["", "`pilothouse COMMAND --help` tells more.", "", "exit codes:"]
    return "\n".join(lines + [f"  {code:<4} {meaning}" for code, meaning in MEANINGS])


def main_parser() -> ArgumentParser:
    """The parser of everything up to the subcommand; what follows it is left in `rest`."""
    parser = ArgumentParser(
        prog="pilothouse",
        usage="pilothouse [options] [command ...]",
        description=DESCRIPTION,
        epilog=_table_of_commands(),
        parents=[global_options()],
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_autopilot(parser)
    parser.add_argument("--version", action="version", version=f"pilothouse {__version__}")
    parser.add_argument("command", nargs="?", metavar="command", help=SUPPRESS)
    parser.add_argument("rest", nargs=REMAINDER, help=SUPPRESS)
    return parser


def find_subcommand(name: str, parser: ArgumentParser) -> Subcommand:
    """The row of that name; exits with the usage and the nearest name where there is none."""
    rows = {row.name: row for row in SUBCOMMANDS}
    if name not in rows:
        from difflib import get_close_matches

        near = get_close_matches(name, rows, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        parser.error(f"there is no command {name!r}.{hint} `pilothouse --help` lists them.")
    return rows[name]


def parse(argv: Sequence[str]) -> tuple[ModuleType, Namespace]:
    """The subcommand's module and its arguments. Exits (SystemExit 2) on wrong usage, as argparse does."""
    parser = main_parser()
    args = parser.parse_args(list(argv), namespace=global_defaults())
    row = find_subcommand(args.command or "console", parser)
    if hasattr(args, "autopilot") and row.name not in WITH_CHAT:
        parser.error(f"--autopilot is for the console, not for {row.name}.")
    module = import_module(row.module)
    summary = row.help[0].upper() + row.help[1:] + "."
    sub = ArgumentParser(
        prog=f"pilothouse {row.name}",
        description=getattr(module, "DESCRIPTION", summary),
        parents=[global_options()],
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.configure(sub)
    rest = args.rest
    del args.command, args.rest
    return module, sub.parse_args(rest, namespace=args)


def run(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code; what was to be expected never shows a traceback."""
    from console.cli import failures

    module, args = parse(argv)
    try:
        code: int = module.run(args)
        sys.stdout.flush()
        return code
    except (Exception, KeyboardInterrupt) as error:
        known = failures.exit_code(error)
        if known is None:
            raise
        return known
