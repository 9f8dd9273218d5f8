"""A job on a worker: its folder, its supervisor, and what becomes of it."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import json
import os
import pwd
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adapters.local import cgroups, processes

INHERITED = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR")
ORPHAN_REPORTS = 90.0  # seconds in which a supervisor without a worker tries to tell the server


class Unrunnable(Exception):
    """This worker cannot run that job; the message says why."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a worker keeps things: folders of tasks, the supervisor's program, the server's logs folder."""

    tasks: Path
    program: Path
    logs: Path
    grace: float
    report_url: str
    cgroups: Path | None = None


@dataclass(slots=True)
class Run:
    """One run, from its claim to its accepted report."""

    task: dict[str, Any]
    folder: Path
    order: int = 0
    state: str = "running"
    process: asyncio.subprocess.Process | None = None
    control: int | None = None
    run_limit: Any = None
    gpus: list[int] = field(default_factory=list)

    @property
    def lease(self) -> str:
        return str(self.task["lease"])

    @property
    def slots(self) -> int:
        return int(self.task["cores"])

    def held(self) -> dict[str, Any]:
        """What the heartbeat says of it."""
        return {"task_id": self.task["task_id"], "lease": self.lease, "order": self.order, "run_limit": self.run_limit}

    def tell(self, order: dict[str, Any]) -> None:
        """Send an order to the supervisor; one that is gone already has left its result."""
        if self.control is not None:
            with contextlib.suppress(OSError):
                os.write(self.control, json.dumps(order).encode() + b"\n")

    def obey(self, order: dict[str, Any]) -> None:
        """Carry out an order of the server."""
        verb, value, number = order["verb"], order.get("value"), order.get("order")
        if number is not None:
            self.order = max(self.order, int(number))
        if verb == "limit":
            self.run_limit = value
            self.tell({"run_limit": value})
        elif verb == "drop":
            self.tell({"end": "lost", "grace": 0})
        elif verb == "requeue":
            self.tell({"end": "requeue", "order": number})
        elif verb == "kill" and value in ("15", "9"):
            self.tell({"end": "cancel", "order": number} | ({"grace": 0} if value == "9" else {}))
        elif verb == "kill":
            self.tell({"signal": int(str(value)), "order": number})
        elif verb in ("stop", "cont"):
            self.tell({"signal": int(signal.SIGTSTP if verb == "stop" else signal.SIGCONT), "order": number})


def account(user: str) -> dict[str, Any]:
    """uid, gid and home of the job's user. Raises Unrunnable where this worker may not become that user."""
    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        raise Unrunnable(f"there is no user {user!r} on this machine") from None
    if os.geteuid() != 0 and entry.pw_uid != os.geteuid():
        raise Unrunnable(f"this worker runs jobs of {getpass.getuser()} only, not of {user}")
    switch = entry.pw_uid != os.geteuid()
    return {
        "user": user, "uid": entry.pw_uid if switch else None, "gid": entry.pw_gid, "home": entry.pw_dir,
        "shell": entry.pw_shell or "/bin/sh",
    }  # fmt: skip


def environment(task: dict[str, Any], who: dict[str, Any], gpus: list[int]) -> dict[str, str]:
    """The job's environment: little of the worker's, what the submission gave, what the job is."""
    own = {name: os.environ[name] for name in INHERITED if name in os.environ}
    number = str(task["task_id"])
    job = {
        "HOME": who["home"], "USER": who["user"], "LOGNAME": who["user"], "SHELL": who["shell"],
        "LSB_JOBID": str(task["array_id"] or number), "LSB_JOBINDEX": str(task["array_index"] or 0),
        "LSB_JOBNAME": task["name"], "LSB_QUEUE": task["queue"], "PILOTHOUSE_JOBID": number,
        "PILOTHOUSE_ATTEMPT": str(task["attempt"]), "PILOTHOUSE_LEASE": task["lease"],
    }  # fmt: skip
    if gpus:
        job["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, gpus))
    asked: dict[str, str] = task["env"]
    return {"PATH": "/usr/local/bin:/usr/bin:/bin"} | own | job | asked | {"PILOTHOUSE_LEASE": task["lease"]}


def log_file(place: Place, task: dict[str, Any], end: str) -> str:
    return str(place.logs / str(task["task_id"] // 1000) / f"{task['task_id']}.{end}")


def _expand(path: str | None, task: dict[str, Any]) -> str | None:
    """%J and %I of LSF: the job's number and its index."""
    if path is None:
        return None
    return path.replace("%J", str(task["array_id"] or task["task_id"])).replace("%I", str(task["array_index"] or 0))


def prepare(place: Place, run: Run, token: str) -> Path:
    """Write the task file for the supervisor. Raises Unrunnable or OSError."""
    task, folder = run.task, run.folder
    folder.mkdir(mode=0o700)
    who = account(task["user"])
    out = Path(log_file(place, task, "out"))
    out.parent.mkdir(mode=0o711, exist_ok=True)
    for path in (out, Path(log_file(place, task, "err"))):
        path.unlink(missing_ok=True)
    memory = task["mem_mb"] * 1_000_000 if task["mem_mb"] else None
    group = str(cgroups.make_group(place.cgroups, run.lease, memory)) if place.cgroups and memory else None
    limit_by = None if not memory else "cgroup" if group else "measured"
    control_read, run.control = os.pipe()
    run.run_limit = task["run_limit"]
    order = {
        "task_id": task["task_id"], "lease": run.lease, "folder": str(folder), "control_fd": control_read,
        "argv": _argv(task["command"], run, who), "env": environment(task, who, run.gpus),
        "cwd": task["cwd"] or who["home"], "user": who["user"], "uid": who["uid"], "gid": who["gid"],
        "stdout": str(out), "stderr": log_file(place, task, "err"), "output": _expand(task["output"], task),
        "error": _expand(task["error"], task), "run_limit": task["run_limit"], "memory_bytes": memory,
        "grace": place.grace, "umask": 0o022, "limit_by": limit_by, "cgroup": group,
        "report": {"url": place.report_url, "token": token, "seconds": ORPHAN_REPORTS},
    }  # fmt: skip
    path = folder / "task.json"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(order, file)
    return path


def _argv(command: str, run: Run, who: dict[str, Any]) -> list[str]:
    """A batch script is run as a file, so that its first line counts; anything else by the shell."""
    if not command.startswith("#!"):
        return ["/bin/sh", "-c", command]
    path = Path(tempfile.gettempdir(), f"pilothouse-{run.lease}.sh")
    with os.fdopen(
        os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o700), "w", encoding="utf-8"
    ) as file:
        file.write(command if command.endswith("\n") else command + "\n")
        if who["uid"] is not None:
            os.fchown(file.fileno(), who["uid"], who["gid"])
    run.task["script"] = str(path)
    return [str(path)]


async def launch(place: Place, run: Run, token: str) -> None:
    """Start the run's supervisor. Raises Unrunnable or OSError; then nothing has been started."""
    path = prepare(place, run, token)
    control_read = json.loads(path.read_text("utf-8"))["control_fd"]
    try:
        with (run.folder / "supervisor.log").open("wb") as log:
            run.process = await asyncio.create_subprocess_exec(
                sys.executable, "-E", "-s", "-S", str(place.program), str(path), stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE, stderr=log, pass_fds=(control_read,), process_group=0, cwd="/",
            )  # fmt: skip
    finally:
        os.close(control_read)


async def outcome(run: Run) -> dict[str, Any]:
    """Wait for the supervisor and read what it left; without a result the job's group is ended and it is lost."""
    assert run.process is not None
    await run.process.wait()
    found = read_result(run.folder)
    if found is not None:
        return found
    inherited = await asyncio.to_thread(inherit, run)
    await asyncio.to_thread(end_group, run.folder, run.lease)
    return inherited or {"state": "lost", "reason": "its supervisor died and it was ended", "order": run.order}


def inherit(run: Run) -> dict[str, Any] | None:
    """The result of a job whose supervisor died between the job's end and its own result: the job's zombie is ours
    then (see `adopt_orphans`). None where it did not end by itself."""
    started = _started(run.folder)
    if started is None:
        return None
    with contextlib.suppress(ChildProcessError):
        over = processes.look(started["pid"])
        if over is not None and over.exit_code is not None:
            processes.reap(started["pid"], over)
            state = "done" if over.exit_code == 0 else "exit"
            return {"state": state, "exit_code": over.exit_code, "order": run.order, "ended_at": time.time()}
    return None


def adopt_orphans() -> None:
    """What a dead supervisor leaves becomes a child of this process, where the system can do that (Linux)."""
    processes.prctl(processes.PR_SET_CHILD_SUBREAPER, 1)


def zombies() -> list[int]:
    """Children of this process that are over and not waited for."""
    found = ((pid, processes.process_state(pid)) for pid in processes.children(os.getpid()))
    return [pid for pid, state in found if state == "Z"]


def reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def supervised(folder: Path) -> bool:
    """Whether the run's supervisor lives. One that has not come so far as to say who it is counts as living."""
    started = _started(folder)
    if started is None or not processes.LINUX:
        return True
    birth = processes.birth(started["supervisor"])
    return birth is not None and birth == started["supervisor_birth"]


def _started(folder: Path) -> dict[str, Any] | None:
    try:
        value = json.loads((folder / "started.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def read_result(folder: Path) -> dict[str, Any] | None:
    try:
        value = json.loads((folder / "result.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def end_group(folder: Path, lease: str) -> None:
    """Kill whatever of the run is still there: its group, and processes that carry its lease in their environment."""
    started = _started(folder)
    if started is not None and processes.birth(started["pid"]) in (None, started["birth"]):
        # a leader that is gone is no obstacle: a group's number is given to no new process while the group lasts
        processes.signal_group(started["pid"], signal.SIGKILL)
    for pid in processes_of(lease):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    if started is not None:
        with contextlib.suppress(ChildProcessError):  # a zombie, if it was handed to us
            os.waitpid(started["pid"], 0)


def processes_of(lease: str) -> list[int]:
    """Processes with the lease in their environment; Linux only, elsewhere none."""
    mark = f"PILOTHOUSE_LEASE={lease}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def discard(place: Place, run: Run) -> None:
    """Its report is accepted: nothing of it is kept here."""
    if place.cgroups:
        cgroups.remove_group(place.cgroups, run.lease)
    if run.control is not None:
        os.close(run.control)
        run.control = None
    if run.task.get("script"):
        Path(run.task["script"]).unlink(missing_ok=True)
    shutil.rmtree(run.folder, ignore_errors=True)
