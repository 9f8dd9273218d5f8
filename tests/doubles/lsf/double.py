"""Installs the double's commands in a folder and is its remote control for tests."""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from adapters.plan import Command
from tests.doubles.lsf.world import changing, new_job, new_world

COMMANDS = (
    "bjobs", "bqueues", "bhosts", "lsload", "lshosts", "lsid", "bpeek", "bhist", "bacct", "bsub", "bkill", "bstop",
    "bresume", "bmod", "bswitch", "btop", "bbot", "brequeue", "bchkpnt", "badmin", "bconf", "brsvadd", "brsvdel",
    "brsvs",
)  # fmt: skip
_PROGRAM = """#!{python} -S
import sys
sys.path.insert(0, {root!r})
from tests.doubles.lsf.program import main
raise SystemExit(main({command!r}, sys.argv[1:], {folder!r}))
"""


class LsfDouble:
    """A folder with a `bin` of LSF commands and their state.

    Args:
        folder: empty; belongs to the double.
        dialect: what the commands know: ``ibm`` (10.1 of any fix pack: -o and -json), ``ibm9`` (-o with a delimiter),
            ``classic`` (legacy tables only), ``clone`` (as the recorded compatible scheduler: bjobs -o … -json alone).
        without: commands that are not installed.
    """

    def __init__(self, folder: Path, dialect: str = "ibm", without: Sequence[str] = ()) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True)
        root = str(Path(__file__).resolve().parents[3])
        for command in COMMANDS:
            if command in without:
                continue
            path = self.bin / command
            path.write_text(
                _PROGRAM.format(python=sys.executable, root=root, command=command, folder=str(folder)), "utf-8"
            )
            path.chmod(0o755)
        (folder / "world.json").write_text(json.dumps(new_world()))
        (folder / "lsf.conf").write_text("LSF_LIVE_CONFDIR=/live\nLSF_UNIT_FOR_LIMITS=MB\n")
        self.dialect = dialect

    @property
    def environment(self) -> dict[str, str]:
        """The environment in which the commands are found; the rest of it is this process's."""
        path = os.pathsep.join([str(self.bin), os.environ.get("PATH", os.defpath)])
        return os.environ | {"PATH": path, "LSF_ENVDIR": str(self.folder), "LSF_DOUBLE_DIALECT": self.dialect}

    @contextmanager
    def world(self) -> Iterator[dict[str, Any]]:
        """The state, to look at and to change behind LSF's back."""
        with changing(self.folder) as world:
            yield world

    def job(self, **fields: Any) -> int:
        """Add a job (with `index` an element of an array) and return its base id."""
        with self.world() as world:
            job = new_job(world, **fields)
            world["jobs"].append(job)
            world["next"] = max(world["next"], job["id"]) + 1
            return int(job["id"])

    def set_mode(self, **mode: Any) -> None:
        """Misbehave: see tests/doubles/lsf/modes.py. Without arguments: behave."""
        path = self.folder / "mode.json"
        fresh = path.with_suffix(".tmp")
        fresh.write_text(json.dumps(mode))
        fresh.replace(path)

    @contextmanager
    def mode(self, **mode: Any) -> Iterator[None]:
        self.set_mode(**mode)
        try:
            yield
        finally:
            self.set_mode()

    def received(self) -> list[Command]:
        """Every mutating command so far, oldest first."""
        return [
            Command(tuple(entry["argv"]), base64.b64decode(entry["stdin"]) if entry["stdin"] is not None else None)
            for entry in self._log("received.jsonl")
        ]

    def asked(self) -> list[list[str]]:
        """Every query so far, oldest first."""
        return [entry["argv"] for entry in self._log("asked.jsonl")]

    def environments(self) -> list[dict[str, str]]:
        """The LSB_, LSF_ and locale variables that each query saw."""
        return [entry["environment"] for entry in self._log("asked.jsonl")]

    def _log(self, name: str) -> list[dict[str, Any]]:
        path = self.folder / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
