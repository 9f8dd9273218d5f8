"""From a forked child to the job's program: its group, files, user and limits. Standard library only."""

from __future__ import annotations

import os
import signal
from typing import Any

from adapters.local.processes import PR_SET_PDEATHSIG, prctl


def become_job(task: dict[str, Any], supervisor: int) -> None:
    """In the child: turn into the job. Returns only by raising OSError and the like."""
    os.setpgid(0, 0)
    _default_signals()
    if task.get("cgroup"):
        with open(os.path.join(task["cgroup"], "cgroup.procs"), "w") as file:
            file.write("0")
    _files(task)
    become_user(task)
    os.umask(task["umask"])
    # after the change of user, which would undo it
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:
        os._exit(127)
    os.chdir(task["cwd"])
    os.execve(task["argv"][0], task["argv"], task["env"])


def _default_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        try:
            signal.signal(number, signal.SIG_DFL)
        except (OSError, ValueError):
            pass  # of the C library's own
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _files(task: dict[str, Any]) -> None:
    """Standard input from nowhere, output and errors straight into their files, owned by the job's user."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    files = [os.open(os.devnull, os.O_RDONLY)]
    for path in (task["stdout"], task["stderr"]):
        number = os.open(path, flags, 0o600)
        if task["uid"] is not None:
            os.fchown(number, task["uid"], task["gid"])
        files.append(number)
    for target, number in enumerate(files):
        os.dup2(number, target)


def become_user(task: dict[str, Any]) -> None:
    """The submitting user with all groups, where the worker is root and the user is another one."""
    if task["uid"] is not None:
        os.initgroups(task["user"], task["gid"])
        os.setgid(task["gid"])
        os.setuid(task["uid"])


def deliver(task: dict[str, Any]) -> None:
    """Copy the output to where the submission wanted it, as the job's user; what fails is told in its errors."""
    for source, target in ((task["stdout"], task["output"]), (task["stderr"], task["error"])):
        if target:
            pid = os.fork()
            if pid == 0:
                os._exit(_copy(task, source, target))
            os.waitpid(pid, 0)


def _copy(task: dict[str, Any], source: str, target: str) -> int:
    try:
        with open(source, "rb") as data, open(task["stderr"], "a") as errors:
            try:
                become_user(task)
                os.chdir(task["cwd"])
                with open(target, "wb") as file:
                    while piece := data.read(1 << 20):
                        file.write(piece)
                return 0
            except OSError as error:
                errors.write(f"\npilothouse: the output could not be written to {target}: {error.strerror}\n")
    except OSError:
        pass
    return 1
