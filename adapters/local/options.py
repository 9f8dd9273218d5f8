"""The command lines of server and worker: one table of arguments each, for `pilothouse` and for this package alone."""

from __future__ import annotations

import argparse
import os
from pathlib import Path


def positive(text: str) -> float:
    """Seconds, above zero."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above zero")
    return value


def number(least: int, most: int):  # type: ignore[no-untyped-def]
    def read(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number between {least} and {most}")
        return int(text)

    return read


def configure_serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder of the database, keys and logs")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=number(0, 65535), default=7433, help="0 for any free one (default: %(default)s)")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    for name, default, what in (
        ("heartbeat", 5.0, "seconds between heartbeats of workers"),
        ("down-after", 20.0, "a node is down after so many seconds without one"),
        ("lease", 60.0, "its jobs are given out again after so many seconds"),
        ("grace", 10.0, "seconds between SIGTERM and SIGKILL when a job is ended"),
        ("keep-finished", 24 * 3600.0, "seconds that finished jobs stay in the list"),
    ):
        parser.add_argument(f"--{name}", type=positive, default=default, metavar="S", help=f"{what} ({default:g})")
    parser.add_argument("--ready-fd", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--parent-fd", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--sweep", type=Path, help=argparse.SUPPRESS)


def run_serve(args: argparse.Namespace) -> int:
    from adapters.local.server import Serve, run
    from adapters.local.settings import Settings

    settings = Settings(
        heartbeat=args.heartbeat, down_after=args.down_after, lease=args.lease, grace=args.grace,
        finished_kept=args.keep_finished,
    )  # fmt: skip
    data = args.data.absolute()
    return run(Serve(data, args.host, args.port, settings, args.ready_fd, args.parent_fd, args.sweep, args.quiet))


def configure_worker(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--url", required=True, help="the server, such as http://127.0.0.1:7433")
    parser.add_argument("--name", required=True, help="the node's name")
    parser.add_argument("--token-file", type=Path, required=True, metavar="FILE",
                        help="the node's token, or the join token of the cluster")  # fmt: skip
    parser.add_argument("--slots", type=number(0, 100_000), metavar="N",
                        help="slots to give out (default: DCTS_MAX_SLOTS in the environment, or cores)")  # fmt: skip
    parser.add_argument("--gpus", type=number(0, 64), default=0, metavar="N", help="GPUs to give out (default: 0)")
    parser.add_argument("--state", type=Path, metavar="DIR", help="folder for tasks and the node's token")
    parser.add_argument("--finish", action="store_true", help="on SIGTERM let running jobs end instead of handing back")
    parser.add_argument("--stop-grace", type=positive, metavar="S", help=argparse.SUPPRESS)
    parser.add_argument("--parent-fd", type=int, help=argparse.SUPPRESS)


def slots_of(args: argparse.Namespace) -> int:
    """--slots, or DCTS_MAX_SLOTS, or the cores of this machine. Raises ValueError for a variable that is no number."""
    if args.slots is not None:
        return int(args.slots)
    text = os.environ.get("DCTS_MAX_SLOTS")
    if text is None:
        return os.cpu_count() or 1
    if not text.isdecimal():
        raise ValueError(f"DCTS_MAX_SLOTS is {text!r}, which is no number of slots")
    return int(text)


def run_worker(args: argparse.Namespace) -> int:
    import sys

    from adapters.local.worker import Work, run

    try:
        slots = slots_of(args)
    except ValueError as error:
        print(f"pilothouse worker: {error}", file=sys.stderr)
        return 2
    state = (args.state or _default_state(args.name)).absolute()  # supervisors run in another folder
    return run(Work(args.url, args.name, args.token_file, state, slots, args.gpus, args.finish, args.stop_grace,
                    args.parent_fd))  # fmt: skip


def _default_state(name: str) -> Path:
    from platformdirs import user_state_path

    return user_state_path("pilothouse") / "workers" / name.replace("/", "_")
