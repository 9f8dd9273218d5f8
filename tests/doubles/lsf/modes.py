"""How the double misbehaves. A mode is a JSON object; several keys may be set at once.

mbatchd_down   b* commands say so every moment and never end (recorded: m_mbddown_*)
lim_down       b* commands say so and never end, lsid and lsload fail at once (recorded: m_limdown_*)
slow           seconds before an answer
rate_limited   "concurrent query limit exceeded" and exit code 255
busy           "Please wait" lines on stdout before the answer (recorded: bjobs_default_with_busy_lines)
noisy          a shell's greeting before and a mail notice after the answer
invalid_json   JSON answers end in the middle
refused        names of -o fields that are not known; `unnamed` true: the complaint does not name them
deny           writes: "User permission denied"
mute           writes are done, then the command does not end
garble         writes are done, then "Communication time out"
answers        argv joined by blanks -> {stdout, stderr, rc}: recorded answers, instead of the state machine
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from tests.doubles.lsf.world import mode as current

WAIT_LIMIT = 120.0
"""Seconds after which a command that "never ends" does, so that no test leaves one behind."""
LIM = ("lsid", "lsload", "lshosts")


def _never(line: str, folder: Path) -> int:
    """Complain and do not end: until killed, the mode is another, or the limit is over."""
    deadline, was = time.monotonic() + WAIT_LIMIT, current(folder)
    while time.monotonic() < deadline and current(folder) == was:
        print(line, file=sys.stderr, flush=True)
        time.sleep(0.2)
    return 124


def before(command: str, argv: list[str], mode: dict[str, Any], folder: Path) -> int | None:
    """What happens instead of an answer; None for an answer."""
    if mode.get("slow"):
        time.sleep(float(mode["slow"]))
    recorded = mode.get("answers", {}).get(" ".join([command, *argv]))
    if recorded is not None:
        sys.stdout.write(recorded.get("stdout", ""))
        sys.stderr.write(recorded.get("stderr", ""))
        return int(recorded.get("rc", 0))
    if mode.get("lim_down"):
        return _lim_down(command, folder)
    if mode.get("mbatchd_down") and command not in LIM:
        return _never("batch system daemon not responding ... still trying", folder)
    if mode.get("rate_limited") and command in ("bjobs", "bqueues", "bhosts"):
        print("Batch system concurrent query limit exceeded", file=sys.stderr)
        return 255
    if mode.get("busy"):
        print("LSF is processing your request. Please wait ...")
        print("LSF is processing your request. Please wait ...")
    if mode.get("noisy"):
        print("Welcome to cluster [bold]red[/bold]\033[31m!")
    return None


def _lim_down(command: str, folder: Path) -> int:
    if command == "lsid":
        print("IBM Spectrum LSF Standard 10.1.0.15, May 13 2025\n")
        print("ls_getclustername(): LIM is down; try later", file=sys.stderr)
        return 255
    if command in LIM:
        print(f"{command}: LIM is down; try later", file=sys.stderr)
        return 246
    return _never("LSF daemon (LIM) not responding ... still trying", folder)


def after(mode: dict[str, Any]) -> None:
    """What is printed behind an answer."""
    if mode.get("noisy"):
        print("You have new mail in /var/spool/mail/usr")


def after_write(mode: dict[str, Any], folder: Path) -> int | None:
    """What becomes of the answer to a write that has been done; None for its own answer."""
    if mode.get("mute"):
        return _never("LSF is processing your request. Please wait ...", folder)
    if mode.get("garble"):
        print("Failed in an LSF library call: Communication time out", file=sys.stderr)
        return 255
    return None
