"""Runs one job and outlives its worker just long enough to end it: a program of its own, standard library only.

    python run.py task.json

It starts the job as a process group of its own within the worker's session (in a session of its own the job's group
would be orphaned, and SIGTSTP would not stop it), waits for it, and leaves `result.json` in the task's folder. The
worker sends it lines of JSON on a pipe; when the pipe ends, the worker is dead and the job is ended.

    {"signal": 20, "order": 3}      send a signal to the job's group
    {"end": "cancel", "order": 3}   SIGTERM, after `grace` seconds SIGKILL
    {"run_limit": 60}               from the start of the job, in seconds; null lifts it

It answers on standard output with {"state": running | suspended, "order": n}.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import time
from typing import Any

from adapters.local import jobstart, processes

LOST = "lost"
SAMPLE = 1.0  # seconds between two looks at memory; changes of state wake us by SIGCHLD
LIMITS = {"run": "Ended at its run limit", "memory": "Ended at its memory limit"}


def stopped(states: list[str]) -> bool:
    """Whether a job of these living processes stands still.

    A shell that forks by vfork(2) waits in D for its child; a stop that meets the child before its exec leaves the
    parent there until the job goes on, so D beside a stopped process counts as stopped.
    """
    return any(state in "Tt" for state in states) and all(state in "TtD" for state in states)


class Supervision:
    """One job from its start to its result."""

    def __init__(self, task: dict[str, Any]) -> None:
        self.task = task
        self.folder: str = task["folder"]
        self.control: int | None = task["control_fd"]
        self.buffer = b""
        self.order = 0
        self.end: str | None = None  # why the job is being ended: cancel, requeue, lost, run, memory
        self.kill_at: float | None = None
        self.peak = 0
        self.state = "running"
        self.told = ("running", 0)
        self.begun = time.monotonic()
        self.sampled = 0.0
        self.pid = 0
        self.wake, self.wake_write = os.pipe()

    # -- starting

    def catch_signals(self) -> None:
        """Children wake us; the signals that end a worker do not end us before the job is over."""
        for end in (self.wake, self.wake_write):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self.wake_write, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)

    def start(self) -> str | None:
        """Fork the job, which waits until its group is on disk, so that nothing runs that could not be found again.

        What keeps it from starting comes back through a pipe that exec closes.
        """
        read, write = os.pipe()
        go_read, go_write = os.pipe()
        us = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(read)
            os.close(go_write)
            if not os.read(go_read, 1):
                os._exit(127)
            try:
                jobstart.become_job(self.task, us)
            except BaseException as error:
                os.write(write, (str(error) or type(error).__name__).encode("utf-8", "replace")[:1000])
            os._exit(127)
        os.close(write)
        try:
            os.setpgid(self.pid, self.pid)
        except OSError:
            pass  # the child was quicker
        started = {"pid": self.pid, "birth": processes.birth(self.pid), "supervisor": us,
                   "supervisor_birth": processes.birth(us)}  # fmt: skip
        processes.write_json(os.path.join(self.folder, "started.json"), started, sync=False)
        os.write(go_write, b"1")
        for end in (go_read, go_write):
            os.close(end)
        with os.fdopen(read, "rb") as pipe:
            problem = pipe.read()
        return problem.decode("utf-8", "replace") or None

    # -- waiting

    def run(self) -> dict[str, Any]:
        """Start the job, wait for its end, return the result."""
        self.catch_signals()
        problem = self.start()
        if problem is not None:
            os.waitpid(self.pid, 0)
            return {"state": "exit", "exit_code": 127, "reason": f"It could not be started: {problem}",
                    "ended_at": time.time()}  # fmt: skip
        # looked at without being reaped: should we be killed before the result is written, the worker inherits the
        # zombie and reads its exit code there
        while (over := processes.look(self.pid)) is None:
            self.wait(self.due())
            self.watch()
        return self.result(over)

    def due(self) -> float:
        """Seconds until something has to be looked at."""
        now = time.monotonic()
        times = [self.sampled + SAMPLE]
        if self.kill_at is not None:
            times.append(self.kill_at)
        if self.task["run_limit"] and self.end is None:
            times.append(self.begun + self.task["run_limit"])
        return max(0.0, min(times) - now)

    def wait(self, seconds: float) -> None:
        watched = [self.wake] + ([self.control] if self.control is not None else [])
        ready, _, _ = select.select(watched, [], [], seconds)
        if self.wake in ready:
            try:
                os.read(self.wake, 4096)
            except BlockingIOError:
                pass
        if self.control is not None and self.control in ready:
            self.listen(self.control)

    def listen(self, control: int) -> None:
        data = os.read(control, 65536)
        if not data:
            os.close(control)
            self.control = None
            self.finish(LOST, min(2.0, self.task["grace"]))
            return
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        for line in lines:
            self.obey(json.loads(line))

    def obey(self, order: dict[str, Any]) -> None:
        if "run_limit" in order:
            self.task["run_limit"] = order["run_limit"]
        if "signal" in order:
            processes.signal_group(self.pid, order["signal"])
        if "end" in order:
            self.finish(order["end"], order.get("grace", self.task["grace"]))
        if order.get("order") is not None:
            self.order = max(self.order, order["order"])

    def finish(self, why: str, grace: float) -> None:
        """Begin to end the job: TERM, and CONT so that a stopped one hears it; KILL after the grace.

        A requeue or loss in time overrules nothing that came before it, but a person's cancel stays a cancel.
        """
        self.end = self.end or why
        processes.signal_group(self.pid, signal.SIGTERM if grace > 0 else signal.SIGKILL)
        processes.signal_group(self.pid, signal.SIGCONT)
        at = time.monotonic() + grace
        self.kill_at = at if self.kill_at is None else min(self.kill_at, at)

    def watch(self) -> None:
        """Limits and states. Times are of the monotonic clock: a step of the wall clock ends no job."""
        now = time.monotonic()
        if self.kill_at is not None and now >= self.kill_at:
            processes.signal_group(self.pid, signal.SIGKILL)
            self.kill_at = now + 1.0
        if self.task["run_limit"] and self.end is None and now - self.begun >= self.task["run_limit"]:
            self.finish("run", self.task["grace"])
        self.sample()
        if (self.state, self.order) != self.told:
            self.told = (self.state, self.order)
            self.tell({"state": self.state, "order": self.order})

    def sample(self) -> None:
        """Look at the job's processes: what they use, whether they are stopped."""
        self.sampled = time.monotonic()
        found = processes.job_processes(os.getpid(), self.pid)
        memory = sum(size for _, _, size in found)
        self.peak = max(self.peak, memory)
        limit = self.task["memory_bytes"]
        if limit and memory > limit and not self.task.get("cgroup") and self.end is None:
            self.finish("memory", 0.0)
        alive = [state for _, state, _ in found if state != "Z"]
        if alive:
            self.state = "suspended" if stopped(alive) else "running"

    def tell(self, said: dict[str, Any]) -> None:
        """To the worker, if it still lives."""
        try:
            os.write(1, json.dumps(said).encode() + b"\n")
        except OSError:
            pass

    # -- the end

    def result(self, over: processes.Over) -> dict[str, Any]:
        """Leave the bare result at once, then end the rest of the job and complete it with what was used."""
        found = self.how_it_ended(over)
        processes.write_json(os.path.join(self.folder, "result.json"), found, sync=False)
        usage = processes.reap(self.pid, over)
        self.sweep()
        reaped = resource.getrusage(resource.RUSAGE_CHILDREN)
        own = usage.ru_maxrss * (1024 if processes.LINUX else 1)
        peak = max(self.peak, own, processes.cgroup_number(self.task.get("cgroup"), "memory.peak"))
        if found["state"] != LOST:
            found |= {"cpu_seconds": round(reaped.ru_utime + reaped.ru_stime, 4), "max_memory_bytes": peak}
        jobstart.deliver(self.task)
        return found

    def how_it_ended(self, over: processes.Over) -> dict[str, Any]:
        code = over.exit_code
        if self.end == LOST and code != 0:
            return {"state": LOST, "reason": "its worker ended it", "order": self.order}
        found: dict[str, Any] = {
            "state": "done" if code == 0 else "exit", "exit_code": code, "order": self.order, "ended_at": time.time(),
            "signal": over.signal, "limit_by": self.task["limit_by"],
        }  # fmt: skip
        limit = self.end if self.end in LIMITS else None
        if limit is None and processes.cgroup_number(self.task.get("cgroup"), "memory.events", "oom_kill"):
            limit = "memory"
        return found | ({"limit": limit, "reason": LIMITS[limit], "state": "exit"} if limit is not None else {})

    def sweep(self) -> None:
        """End what the job has left behind: its group, and what it handed to us by its end."""
        for _ in range(500):
            processes.signal_group(self.pid, signal.SIGKILL)
            for pid, state, _ in processes.job_processes(os.getpid(), self.pid):
                if state != "Z":
                    processes.kill(pid)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return
            time.sleep(0.01)


def main(path: str) -> int:
    """Run the task in the file, leave the result; without a worker, tell the server."""
    with open(path) as file:
        task = json.load(file)
    processes.prctl(processes.PR_SET_CHILD_SUBREAPER, 1)
    supervision = Supervision(task)
    result = supervision.run()
    processes.write_json(os.path.join(task["folder"], "result.json"), result)
    if supervision.control is None:
        report_orphaned(task, result)
    return 0


def report_orphaned(task: dict[str, Any], result: dict[str, Any]) -> None:
    """The worker is dead: tell the server what came of the job, for a while; the file stays for the next worker."""
    import urllib.error
    import urllib.request

    report = task["report"]
    body = json.dumps({**result, "task_id": task["task_id"], "lease": task["lease"]}).encode()
    headers = {"Authorization": report["token"], "Content-Type": "application/json"}
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    until = time.monotonic() + report["seconds"]
    while time.monotonic() < until and os.path.exists(task["folder"]):
        request = urllib.request.Request(report["url"], body, headers)
        try:
            opener.open(request, timeout=5).close()
            return
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code != 429:
                return
        except OSError:
            pass
        time.sleep(0.5)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
