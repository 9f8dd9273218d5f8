"""``pilothouse demo``: an embedded cluster that runs small jobs in a temporary folder, and the console on it."""

from __future__ import annotations

import json
import signal
import sys
from argparse import ArgumentParser, Namespace
from types import FrameType

from console.cli.console import add_autopilot, wish_of

WORKERS, SLOTS = 3, 8


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--headless", action="store_true",
                        help="no console: one line of JSON when ready, then run until SIGINT or SIGTERM")  # fmt: skip
    add_autopilot(parser)


class _Told(Exception):
    """SIGINT or SIGTERM has come."""


def _raise(number: int, frame: FrameType | None) -> None:
    raise _Told


def run(args: Namespace) -> int:
    from adapters.local.problem import StartError

    before = {number: signal.signal(number, _raise) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        return _run(args)
    except _Told:
        return 0
    except StartError as error:
        print(f"pilothouse demo: {error}", file=sys.stderr)
        return 1
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _run(args: Namespace) -> int:
    wish = wish_of(args)
    from adapters.local.launch import launch
    from adapters.local.workload import Workload

    with launch(WORKERS, SLOTS, serve_options=("--heartbeat", "2", "--grace", "3"), wait=False) as cluster, \
            Workload(cluster.url, cluster.admin_key) as workload:  # fmt: skip
        if args.headless:
            place = {"url": cluster.url, "config": str(cluster.config), "admin_key_file": str(cluster.admin_key_file)}
            print(json.dumps(place), flush=True)
            while workload.running:
                signal.pause()
            return 1
        from console.cli.console import run_console

        return run_console(cluster.config, read_only=args.read_only, autopilot=wish)
