"""Runs one job and outlives its worker just long enough to end it: a program of its own, standard library only.

    python -I -S supervisor.py < task.json

It starts the job as a process group of its own within the worker's session (in a session of its own the job's group
would be orphaned, and SIGTSTP would not stop it), waits for it, and leaves `result.json` in the task's folder. The
worker talks to it by lines of JSON on a pipe; when the pipe ends, the worker is dead and the job is ended.

    {"signal": 15, "order": 3}      send a signal to the job's group
    {"end": "cancel", "order": 3}   SIGTERM, after `grace` seconds SIGKILL
    {"run_limit": 60}               from the start of the job, in seconds; null lifts it
"""

import ctypes
import json
import os
import resource
import select
import signal
import sys
import time

LOST = "lost"
SAMPLE = 0.5  # seconds between two looks at memory and state
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LINUX = sys.platform == "linux"
LIBC = ctypes.CDLL(None, use_errno=True) if LINUX else None


def prctl(option, value):
    """Linux only; elsewhere the pipe alone tells that the parent is dead."""
    if LIBC is not None:
        LIBC.prctl(option, value, 0, 0, 0)


def write_json(path, value):
    """Whole or not at all, on disk when it returns."""
    partial = path + ".new"
    with open(partial, "w") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


def group_processes(pgid):
    """[(pid, state, resident bytes, parent)] of the group's processes."""
    found = []
    if not LINUX:
        lines = os.popen("/bin/ps -axo pid=,pgid=,stat=,rss=").read().splitlines()
        for pid, group, state, rss in (line.split()[:4] for line in lines if len(line.split()) >= 4):
            if int(group) == pgid:
                found.append((int(pid), state[0], int(rss) * 1024))
        return found
    page = resource.getpagesize()
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == pgid:
            found.append((int(name), fields[0].decode(), int(fields[21]) * page))
    return found


def signal_group(pgid, number):
    try:
        os.killpg(pgid, number)
        return True
    except (ProcessLookupError, PermissionError):
        return False


class Supervision:
    """One job from its start to its result."""

    def __init__(self, task):
        self.task = task
        self.folder = task["folder"]
        self.control = task["control_fd"]
        self.buffer = b""
        self.order = 0
        self.end = None  # why the job is being ended: cancel, lost, run, memory
        self.kill_at = None
        self.peak = 0
        self.state = "running"
        self.begun = time.monotonic()
        self.suspended = 0.0
        self.pid = 0
        self.wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC) if LINUX else os.pipe()
        if not LINUX:
            os.set_blocking(wake_write, False)
            os.set_blocking(self.wake_read, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)

    # -- starting

    def start(self):
        """Fork the job. What keeps it from starting is reported through a pipe that exec closes."""
        read, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(read)
            try:
                self.become_job()
            except BaseException as error:
                text = f"{type(error).__name__}: {error}" if not isinstance(error, OSError) else f"{error}"
                os.write(write, text.encode("utf-8", "replace")[:1000])
            os._exit(127)
        os.close(write)
        try:
            os.setpgid(self.pid, self.pid)
        except OSError:
            pass  # the child was quicker
        write_json(os.path.join(self.folder, "started.json"), {"pid": self.pid, "birth": birth(self.pid)})
        with os.fdopen(read, "rb") as pipe:
            problem = pipe.read()
        return problem.decode("utf-8", "replace") or None

    def become_job(self):
        """In the child: its own group, its files, its user, its limits; then exec."""
        task = self.task
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        for number in range(1, signal.NSIG):
            if number not in (signal.SIGKILL, signal.SIGSTOP) and signal.getsignal(number) is not None:
                try:
                    signal.signal(number, signal.SIG_DFL)
                except (OSError, ValueError):
                    pass
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        if task.get("cgroup"):
            with open(os.path.join(task["cgroup"], "cgroup.procs"), "w") as file:
                file.write("0")
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        files = [os.open(os.devnull, os.O_RDONLY)]
        for path in (task["stdout"], task["stderr"]):
            number = os.open(path, flags, 0o600)
            if task.get("uid") is not None:
                os.fchown(number, task["uid"], task["gid"])
            files.append(number)
        # the process that writes to the reporting pipe keeps it until exec: pipes are close-on-exec
        for target, number in enumerate(files):
            os.dup2(number, target)
        if task.get("uid") is not None:
            os.initgroups(task["user"], task["gid"])
            os.setgid(task["gid"])
            os.setuid(task["uid"])
        os.umask(0o077 if task.get("umask") is None else task["umask"])
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != self.task["supervisor"]:
            os._exit(127)
        os.chdir(task["cwd"])
        os.execve(task["argv"][0], task["argv"], task["env"])

    # -- waiting

    def run(self):
        """Start the job, wait for its end, return the result."""
        self.task["supervisor"] = os.getpid()
        problem = self.start()
        if problem is not None:
            os.waitpid(self.pid, 0)
            return {"state": "exit", "exit_code": 127, "reason": f"It could not be started: {problem}",
                    "ended_at": time.time()}  # fmt: skip
        while True:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                return self.result(status, usage)
            self.wait(self.due())
            self.watch()

    def due(self):
        """Seconds until something has to be looked at."""
        now = time.monotonic()
        times = [now + SAMPLE]
        if self.kill_at is not None:
            times.append(self.kill_at)
        if self.task["run_limit"] and self.end is None:
            times.append(self.begun + self.task["run_limit"])
        return max(0.0, min(times) - now)

    def wait(self, seconds):
        watched = [self.wake_read] + ([self.control] if self.control is not None else [])
        ready, _, _ = select.select(watched, [], [], seconds)
        if self.wake_read in ready:
            try:
                os.read(self.wake_read, 4096)
            except BlockingIOError:
                pass
        if self.control in ready:
            self.listen()

    def listen(self):
        data = os.read(self.control, 65536)
        if not data:
            os.close(self.control)
            self.control = None
            self.finish(LOST, grace=min(2.0, self.task["grace"]))
            return
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        for line in lines:
            self.obey(json.loads(line))

    def obey(self, order):
        if "run_limit" in order:
            self.task["run_limit"] = order["run_limit"]
        if "signal" in order:
            signal_group(self.pid, order["signal"])
        if "end" in order:
            self.finish(order["end"], order.get("grace", self.task["grace"]))
        if order.get("order") is not None:
            self.order = max(self.order, order["order"])
            self.note()

    def finish(self, why, grace):
        """Begin to end the job: TERM, and CONT so that a stopped one hears it; KILL after the grace."""
        self.end = self.end or why
        signal_group(self.pid, signal.SIGTERM if grace > 0 else signal.SIGKILL)
        signal_group(self.pid, signal.SIGCONT)
        if self.kill_at is None or grace <= 0:
            self.kill_at = time.monotonic() + grace

    def watch(self):
        """Limits and states. Times are of the monotonic clock: a step of the wall clock ends no job."""
        now = time.monotonic()
        if self.kill_at is not None and now >= self.kill_at:
            signal_group(self.pid, signal.SIGKILL)
            self.kill_at = now + 1.0
        if self.task["run_limit"] and self.end is None and now - self.begun >= self.task["run_limit"]:
            self.finish("run", self.task["grace"])
        processes = group_processes(self.pid)
        memory = sum(p[2] for p in processes)
        self.peak = max(self.peak, memory)
        limit = self.task.get("memory_bytes")
        if limit and memory > limit and not self.task.get("cgroup") and self.end is None:
            self.finish("memory", grace=0)
        stopped = bool(processes) and all(p[1] in "TtZ" for p in processes)
        state = "suspended" if stopped else "running"
        if state != self.state:
            self.state = state
            self.note()

    def note(self):
        """Tell the worker, if it still lives: state and the last order carried out."""
        try:
            os.write(1, json.dumps({"state": self.state, "order": self.order}).encode() + b"\n")
        except OSError:
            pass

    # -- the end

    def result(self, status, usage):
        ended = time.time()
        self.sweep()
        code, number = (None, os.WTERMSIG(status)) if os.WIFSIGNALED(status) else (os.WEXITSTATUS(status), None)
        reaped = resource.getrusage(resource.RUSAGE_CHILDREN)
        peak = max(self.peak, usage.ru_maxrss * (1024 if LINUX else 1), self.cgroup_peak())
        result = {
            "state": "done" if code == 0 else "exit", "exit_code": code, "signal": number, "order": self.order,
            "cpu_seconds": round(reaped.ru_utime + reaped.ru_stime, 4), "max_memory_bytes": peak, "ended_at": ended,
            "limit_by": self.task.get("limit_by"),
        }  # fmt: skip
        if self.end in ("run", "memory"):
            result["limit"] = self.end
            result["reason"] = {"run": "Ended at its run limit", "memory": "Ended at its memory limit"}[self.end]
        elif self.out_of_memory():
            result["limit"], result["reason"] = "memory", "Ended at its memory limit"
        elif self.end == LOST and code != 0:
            result = {"state": LOST, "reason": "its worker died and it was ended", "order": self.order}
        self.deliver()
        return result

    def sweep(self):
        """End what the job has left behind in its group, or handed to us by its end."""
        for _ in range(100):
            signal_group(self.pid, signal.SIGKILL)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return
            left = group_processes(self.pid)
            if not left and not self.task.get("cgroup"):
                for child in children(os.getpid()):
                    try:
                        os.kill(child, signal.SIGKILL)
                    except OSError:
                        pass
            time.sleep(0.01)

    def out_of_memory(self):
        if not self.task.get("cgroup"):
            return False
        try:
            with open(os.path.join(self.task["cgroup"], "memory.events")) as file:
                counts = dict(line.split() for line in file)
        except OSError:
            return False
        return int(counts.get("oom_kill", 0)) > 0

    def cgroup_peak(self):
        if not self.task.get("cgroup"):
            return 0
        try:
            with open(os.path.join(self.task["cgroup"], "memory.peak")) as file:
                return int(file.read())
        except (OSError, ValueError):
            return 0

    def deliver(self):
        """Copy the output to where the submission wanted it, as the job's user."""
        wanted = [(self.task["stdout"], self.task.get("output")), (self.task["stderr"], self.task.get("error"))]
        for source, target in wanted:
            if not target:
                continue
            pid = os.fork()
            if pid == 0:
                os._exit(self.copy_as_user(source, target))
            os.waitpid(pid, 0)

    def copy_as_user(self, source, target):
        try:
            with open(source, "rb") as data:
                if self.task.get("uid") is not None:
                    os.initgroups(self.task["user"], self.task["gid"])
                    os.setgid(self.task["gid"])
                    os.setuid(self.task["uid"])
                os.chdir(self.task["cwd"])
                with open(target, "wb") as file:
                    while piece := data.read(1 << 20):
                        file.write(piece)
            return 0
        except OSError as error:
            try:
                with open(self.task["stderr"], "a") as file:
                    file.write(f"\npilothouse: the output could not be written to {target}: {error.strerror}\n")
            except OSError:
                pass
            return 1


def birth(pid):
    """The start time of a process in clock ticks, which tells it from a later one with its number; None unknown."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except OSError:
        return None


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(number) for number in file.read().split()]
    except OSError:
        return []


def main():
    """Read the task from the file named, run it, leave the result."""
    with open(sys.argv[1]) as file:
        task = json.load(file)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    supervision = Supervision(task)
    result = supervision.run()
    write_json(os.path.join(task["folder"], "result.json"), result)
    if supervision.control is None and task.get("report"):
        report_orphaned(task, result)
    return 0


def report_orphaned(task, result):
    """The worker is dead: tell the server what came of the job, for a while; the file stays for the next worker."""
    import urllib.error
    import urllib.request

    report = task["report"]
    body = json.dumps({**result, "task_id": task["task_id"], "lease": task["lease"]}).encode()
    headers = {"Authorization": report["token"], "Content-Type": "application/json"}
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    until = time.monotonic() + report["seconds"]
    while time.monotonic() < until:
        request = urllib.request.Request(report["url"], body, headers)
        try:
            opener.open(request, timeout=5).close()
            return
        except urllib.error.HTTPError as error:
            if error.code < 500:
                return
        except OSError:
            pass
        time.sleep(0.5)


if __name__ == "__main__":
    sys.exit(main())
