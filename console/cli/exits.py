"""Exit codes of the command line, and how a failure that was to be expected becomes one line and a code."""

from __future__ import annotations

import sys

DONE = 0
FAILED = 1
USAGE = 2
UNREACHABLE = 3
UNKNOWN = 4
INTERRUPTED = 130
BROKEN_PIPE = 141

MEANINGS: tuple[tuple[int, str], ...] = (
    (DONE, "done"),
    (FAILED, "refused, declined or failed"),
    (USAGE, "wrong usage or configuration"),
    (UNREACHABLE, "the cluster was not reached; nothing was sent"),
    (UNKNOWN, "a change was sent and its outcome is not known"),
    (INTERRUPTED, "interrupted by Ctrl-C"),
)


class CommandFailed(Exception):
    """An expected failure of a subcommand itself: a sentence, what to do about it, and the exit code."""

    def __init__(self, message: str, hint: str = "", code: int = FAILED) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code


def say(message: str, hint: str = "", title: str = "") -> None:
    """Write a failure to standard error: one sentence, and a line that says what to do."""
    from adapters.text import clean_lines

    head = f"pilothouse: {title + ': ' if title else ''}"
    lines = clean_lines(message) or [""]
    print(head + lines[0], *lines[1:], sep="\n  ", file=sys.stderr)
    for line in clean_lines(hint) if hint else []:
        print(f"  {line}", file=sys.stderr)
