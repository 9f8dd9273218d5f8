"""A double of Slurm's commands that answers with what real ones answered. It is no scheduler: a command line that was
not recorded ends with exit code 97 and says so, and nothing it is told changes anything.

`install` makes a folder to put on the PATH; `tests/rigs/slurm/record.py` makes the recordings.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

COMMANDS = ("squeue", "sinfo", "sbatch", "scancel", "scontrol", "sacct", "sacctmgr", "sprio", "sshare", "sdiag")
_TOKEN = re.compile(r"~[0-9a-f]{16}~|\^[0-9a-f]{16}\^")
_TIME = re.compile(r"^uts\d+$")
NAMES = {"~": "<<FIELD>>", "^": "<<RECORD>>"}


def normal(argv: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """A command line with its random separators and times named, and what each separator was."""
    found: dict[str, str] = {}

    def name(match: re.Match[str]) -> str:
        found[NAMES[match[0][0]]] = match[0]
        return NAMES[match[0][0]]

    return [_TIME.sub("uts<<TIME>>", _TOKEN.sub(name, part)) for part in argv], found


def install(folder: Path, recordings: Path) -> Path:
    """A folder of commands that answer from `recordings`, a file that `record.py` has written."""
    folder.mkdir(parents=True, exist_ok=True)
    for command in COMMANDS:
        script = folder / command
        program = Path(__file__).parent / "replay.py"
        script.write_text(f'#!/bin/sh\nexec {sys.executable} -S {program} {recordings} {command} "$@"\n')
        script.chmod(0o755)
    return folder
