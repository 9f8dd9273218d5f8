"""What each of the double's commands runs."""

from __future__ import annotations

import base64
import json
import os
import pwd
import stat
import sys
from pathlib import Path

from tests.doubles.lsf import modes, queries, writes
from tests.doubles.lsf.world import changing, mode

_SHOWN = ("LSB_", "LSF_", "LC_", "LANG")


def _append(path: Path, entry: dict[str, object]) -> None:
    """One line, in one write, so that commands that run at once do not mix theirs."""
    with path.open("ab", buffering=0) as file:
        file.write(json.dumps(entry).encode() + b"\n")


def _stdin() -> str | None:
    """Standard input where a file or a pipe was given; LSF's commands get a closed one otherwise."""
    kind = os.fstat(0).st_mode
    return sys.stdin.read() if stat.S_ISREG(kind) or stat.S_ISFIFO(kind) else None


def main(command: str, argv: list[str], folder: str) -> int:
    """Answer like LSF's `command`; returns its exit code."""
    home = Path(folder)
    how = mode(home)
    me = os.environ.get("LSF_DOUBLE_USER") or pwd.getpwuid(os.getuid()).pw_name
    if (write := getattr(writes, command, None)) is not None:
        text = _stdin()
        encoded = base64.b64encode(text.encode()).decode() if text is not None else None
        _append(home / "received.jsonl", {"argv": [command, *argv], "stdin": encoded})
        if (rc := modes.before(command, argv, how, home)) is not None:
            return rc
        if how.get("deny"):
            return queries.complain(f"Job <{argv[-1]}>: User permission denied")
        with changing(home) as world:
            if how.get("mute") or how.get("garble"):
                sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - ends with the process
            rc = int(write(world, argv, me, text))
        ended = modes.after_write(how, home)
        return rc if ended is None else ended
    shown = {name: value for name, value in os.environ.items() if name.startswith(_SHOWN)}
    _append(home / "asked.jsonl", {"argv": [command, *argv], "environment": shown})
    if (rc := modes.before(command, argv, how, home)) is not None:
        return rc
    with changing(home) as world:
        pass
    rc = int(getattr(queries, command)(world, argv, how, me))
    sys.stdout.flush()
    modes.after(how)
    return rc
