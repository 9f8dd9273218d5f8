"""``pilothouse`` and ``python -m console``: checks where it comes from, then hands over to the command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from console import origin


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; returns the exit code (console/cli/exits.py lists them)."""
    try:
        origin.pin()
    except origin.ForeignPackage as error:
        print(f"pilothouse: {error}\n  Start it from another folder, or unset PYTHONPATH.", file=sys.stderr)
        return 1
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    from console.cli import parser

    return parser.run(sys.argv[1:] if argv is None else argv)


if __name__ == "__main__":
    sys.exit(main())
