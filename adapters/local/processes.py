"""Processes and their groups, as the supervisor of a job needs to see them: standard library only, loaded in a
fresh interpreter for every job, therefore without pathlib and the like."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from typing import Any, NamedTuple

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LINUX = sys.platform == "linux"
LIBC = ctypes.CDLL(None, use_errno=True) if LINUX else None


def prctl(option: int, value: int) -> None:
    """Linux only; elsewhere the pipe alone tells that the parent is dead."""
    if LIBC is not None:
        LIBC.prctl(option, value, 0, 0, 0)


def write_json(path: str, value: Any, *, sync: bool = True) -> None:
    """Whole or not at all; on disk when it returns, or with `sync` False safe from our own death only."""
    partial = path + ".new"
    with open(partial, "w") as file:
        json.dump(value, file)
        if sync:
            file.flush()
            os.fsync(file.fileno())
    os.replace(partial, path)


def job_processes(parent: int, pgid: int) -> list[tuple[int, str, int]]:
    """[(pid, state letter, resident bytes)] of the job: everything below the supervisor, which adopts what is
    orphaned below it; where the system has no /proc, the processes of the group."""
    if not LINUX:
        return _from_ps(pgid)
    found, page, seen = [], resource.getpagesize(), [parent]
    while seen:
        for pid in children(seen.pop()):
            fields = _stat(pid)
            if fields is not None:
                seen.append(pid)
                found.append((pid, fields[0].decode(), int(fields[21]) * page))
    return found


def _from_ps(pgid: int) -> list[tuple[int, str, int]]:
    found = []
    for line in os.popen("/bin/ps -axo pid=,pgid=,stat=,rss=").read().splitlines():
        pid, group, state, rss = line.split()[:4]
        if int(group) == pgid:
            found.append((int(pid), state[0], int(rss) * 1024))
    return found


def _stat(pid: int) -> list[bytes] | None:
    """The fields of /proc/PID/stat after the command's name, which may hold anything; None where there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return None


def birth(pid: int) -> int | None:
    """The start time of a process in clock ticks, which tells it from a later one with its number; None unknown."""
    fields = _stat(pid)
    return int(fields[19]) if fields is not None else None


def process_state(pid: int) -> str | None:
    """The letter of a process's state, None where there is none."""
    fields = _stat(pid)
    return fields[0].decode() if fields is not None else None


def children(pid: int) -> list[int]:
    """Direct children, of whichever thread."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                found += [int(number) for number in file.read().split()]
    except OSError:
        pass
    return found


def signal_group(pgid: int, number: int) -> bool:
    """Whether there was a group to signal."""
    try:
        os.killpg(pgid, number)
        return True
    except (ProcessLookupError, PermissionError):
        return False


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass


class Over(NamedTuple):
    """How a child ended: an exit code or a signal; and what it used, where it is reaped already."""

    exit_code: int | None
    signal: int | None
    usage: resource.struct_rusage | None = None


def look(pid: int) -> Over | None:
    """How a child ended, without reaping it where the system can do that (macOS cannot before Python 3.13)."""
    if hasattr(os, "waitid"):
        over = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if over is None:
            return None
        exited = over.si_code == os.CLD_EXITED
        return Over(over.si_status if exited else None, None if exited else over.si_status)
    found, status, usage = os.wait4(pid, os.WNOHANG)
    if not found:
        return None
    if os.WIFSIGNALED(status):
        return Over(None, os.WTERMSIG(status), usage)
    return Over(os.WEXITSTATUS(status), None, usage)


def reap(pid: int, over: Over) -> resource.struct_rusage:
    """What a child that is over has used; it is gone afterwards."""
    return over.usage if over.usage is not None else os.wait4(pid, 0)[2]


def cgroup_number(folder: str | None, name: str, key: str | None = None) -> int:
    """A number out of a cgroup's file, or of its line `key`; 0 without a cgroup or without the file."""
    if not folder:
        return 0
    try:
        with open(os.path.join(folder, name)) as file:
            text = file.read()
        if key is None:
            return int(text)
        return int(dict(line.split() for line in text.splitlines())[key])
    except (OSError, ValueError, KeyError):
        return 0
