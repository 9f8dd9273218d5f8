"""``python -m adapters.local serve|worker``: the same as the subcommands of `pilothouse`, with nothing else loaded."""

from __future__ import annotations

import argparse
import sys

from adapters.local import options


def main() -> int:
    parser = argparse.ArgumentParser(prog="pilothouse")
    commands = parser.add_subparsers(dest="command", required=True)
    options.configure_serve(commands.add_parser("serve"))
    options.configure_worker(commands.add_parser("worker"))
    args = parser.parse_args()
    return options.run_serve(args) if args.command == "serve" else options.run_worker(args)


if __name__ == "__main__":
    sys.exit(main())
