"""Turns an exception into an exit code and a sentence; knows which ones are to be expected."""

from __future__ import annotations

import os
import sys
from typing import Any

from console.cli import exits

CODES = {"unreachable": exits.UNREACHABLE, "unknown": exits.UNKNOWN, "config": exits.USAGE}


def exit_code(error: BaseException) -> int | None:
    """Say what happened on standard error and return the exit code; None for an error of our own making.

    Modules that define errors are not imported for this: an error of a module that is not loaded cannot have come.
    """
    if isinstance(error, KeyboardInterrupt):
        return exits.INTERRUPTED
    if isinstance(error, BrokenPipeError):
        _close_stdout()
        return exits.BROKEN_PIPE
    if isinstance(error, exits.CommandFailed):
        exits.say(error.message, error.hint)
        return error.code
    if isinstance(error, _class("adapters.base", "AdapterError")):
        known: Any = error
        exits.say(known.message, known.hint, known.title)
        return CODES.get(known.code, exits.FAILED)
    return None


def _class(module: str, name: str) -> tuple[type[BaseException], ...]:
    """A class of a module that is loaded; nothing where it is not."""
    found = getattr(sys.modules.get(module), name, None)
    return (found,) if isinstance(found, type) else ()


def _close_stdout() -> None:
    """The reader of our output is gone: what is still buffered must not raise again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
