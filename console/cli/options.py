"""The options that every subcommand takes, before or behind its name."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, Namespace


def global_options() -> ArgumentParser:
    """A parent parser. It sets no defaults, so that an option before the name is not undone behind it."""
    parser = ArgumentParser(add_help=False, argument_default=SUPPRESS, allow_abbrev=False)
    group = parser.add_argument_group("options of every command")
    group.add_argument("--config", metavar="FILE", help="configuration file instead of the user's own")
    group.add_argument("--cluster", metavar="NAME", help="the cluster to use instead of the default one")
    group.add_argument("--read-only", action="store_true", help="refuse every change, whatever the configuration says")
    group.add_argument("--json", action="store_true", help="JSON for programs; one object a line for lists")
    group.add_argument("--yes", action="store_true", help="agree to a change beforehand; recorded as unattended")
    return parser


def global_defaults() -> Namespace:
    return Namespace(config=None, cluster=None, read_only=False, json=False, yes=False)
