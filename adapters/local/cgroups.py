"""Memory limits by cgroup v2, where this worker was given a part of the tree; else the supervisor measures.

Delegation: https://docs.kernel.org/admin-guide/cgroup-v2.html#delegation, and systemd's ``Delegate=yes``. A group with
controllers for its children may hold no processes itself, so that the worker moves into a child of its own.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

OWN = "worker"


def own_group(proc: Path = Path("/proc/self")) -> Path | None:
    """The folder of the cgroup v2 that this process is in; None where there is none."""
    try:
        mounts = (proc / "mountinfo").read_text("utf-8", "surrogateescape")
        groups = (proc / "cgroup").read_text("utf-8", "surrogateescape")
    except OSError:
        return None
    mount = re.search(r"^\S+ \S+ \S+ (\S+) (\S+) .* - cgroup2 ", mounts, re.MULTILINE)
    group = re.search(r"^0::(/.*)$", groups, re.MULTILINE)
    if mount is None or group is None:
        return None
    inside = os.path.relpath(group[1], mount[1])
    return None if inside.startswith("..") else Path(mount[2]) / inside


def delegated(group: Path | None) -> Path | None:
    """Make `group` ready for groups of jobs with memory limits. None where it is not ours to use; then nothing has
    changed."""
    if group is None:
        return None
    own = group / OWN
    try:
        if "memory" not in (group / "cgroup.controllers").read_text().split():
            return None
        if group.name == OWN and "memory" in (group.parent / "cgroup.subtree_control").read_text().split():
            return group.parent  # a worker before us has moved there, and we were started by it
        own.mkdir(exist_ok=True)
        (own / "cgroup.procs").write_text(str(os.getpid()))
        (group / "cgroup.subtree_control").write_text("+memory")
        return group
    except OSError:
        with contextlib.suppress(OSError):
            (group / "cgroup.procs").write_text(str(os.getpid()))
            own.rmdir()
        return None


def make_group(root: Path, lease: str, limit: int) -> Path:
    """A group for one job that the kernel holds to `limit` bytes, swap included; at the limit the whole job ends."""
    group = root / f"job-{lease}"
    group.mkdir(exist_ok=True)
    for name, value in (("memory.max", str(limit)), ("memory.swap.max", "0"), ("memory.oom.group", "1")):
        with contextlib.suppress(FileNotFoundError):  # no swap accounting on this kernel
            (group / name).write_text(value)
    return group


def remove_group(root: Path, lease: str) -> None:
    """After the job's end; a group that still holds something stays."""
    with contextlib.suppress(OSError):
        (root / f"job-{lease}").rmdir()
