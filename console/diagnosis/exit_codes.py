"""Exit codes and signals in words. A code above 128 is by convention 128 + signal, as shells report it."""

from __future__ import annotations

import signal as signals

from adapters.model import Job

_WORDS = {
    1: "hang-up", 2: "interrupt", 4: "illegal instruction", 6: "abort", 7: "bus error", 8: "arithmetic error",
    9: "kill", 10: "user signal 1", 11: "segmentation fault", 12: "user signal 2", 15: "termination",
    24: "CPU time limit",
}  # fmt: skip


def signal_of(job: Job) -> int | None:
    """The signal that ended the job: the backend's own word, else read from an exit code of 128 + signal."""
    value = job.extensions.get("signal")
    if isinstance(value, str):
        name = value.upper().removeprefix("SIG")
        value = signals.Signals[f"SIG{name}"].value if f"SIG{name}" in signals.Signals.__members__ else None
    if isinstance(value, int) and value > 0:
        return value
    code = job.exit_code
    return code - 128 if code is not None and 128 < code <= 128 + 64 else None


def signal_in_words(number: int) -> str:
    """``SIGKILL (kill)``."""
    try:
        name = signals.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    return f"{name} ({_WORDS[number]})" if number in _WORDS else name


def exit_in_words(job: Job) -> str:
    """How it ended, as the rest of a sentence that begins with "It"."""
    number = signal_of(job)
    if number is not None:
        return f"was ended by {signal_in_words(number)}"
    if job.exit_code is None:
        return f"ended as {job.status}"
    if job.exit_code == 0:
        return "exited with 0"
    named = {126: " (command cannot be executed)", 127: " (command not found)"}.get(job.exit_code, "")
    return f"exited with {job.exit_code}{named}"
