"""The supervisor's program on its own: how a job is started, signalled, limited and ended, and what is left on disk."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters.local import processes, runs
from adapters.local.program import install_program
from adapters.local.supervisor import stopped
from tests.local.api import until

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")


class Job:
    """A supervisor under test, with the worker's end of its pipe."""

    def __init__(self, folder: Path, program: Path, command: str, **fields: Any) -> None:
        self.folder = folder
        folder.mkdir()
        read, self.control = os.pipe()
        task = {
            "task_id": 1, "lease": "test-lease-" + folder.parent.name, "folder": str(folder), "control_fd": read,
            "argv": ["/bin/sh", "-c", command], "cwd": "/", "user": "x", "uid": None, "gid": None,
            "env": {"PATH": os.environ["PATH"], "PILOTHOUSE_LEASE": "test-lease-" + folder.parent.name},
            "stdout": str(folder / "out"), "stderr": str(folder / "err"), "output": None, "error": None,
            "run_limit": None, "memory_bytes": None, "grace": 0.5, "umask": 0o022, "limit_by": None, "cgroup": None,
            "report": {"url": "http://127.0.0.1:9/none", "token": "x", "seconds": 0.0}, **fields,
        }  # fmt: skip
        (folder / "task.json").write_text(json.dumps(task))
        self.process = subprocess.Popen(
            [sys.executable, "-E", "-s", "-S", str(program), str(folder / "task.json")], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, pass_fds=(read,), process_group=0,
        )  # fmt: skip
        os.close(read)

    def tell(self, **order: Any) -> None:
        os.write(self.control, json.dumps(order).encode() + b"\n")

    def die(self) -> None:
        """What the supervisor sees when its worker dies."""
        os.close(self.control)
        self.control = -1

    @property
    def out(self) -> str:
        path = self.folder / "out"
        return path.read_text() if path.exists() else ""

    @property
    def pid(self) -> int:
        path = self.folder / "started.json"
        until(path.exists)
        return int(json.loads(path.read_text())["pid"])

    def result(self) -> dict[str, Any]:
        self.process.wait(20)
        found: dict[str, Any] = json.loads((self.folder / "result.json").read_text())
        return found

    def close(self) -> None:
        if self.control >= 0:
            os.close(self.control)
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        with contextlib.suppress(FileNotFoundError, ValueError):
            processes.signal_group(json.loads((self.folder / "started.json").read_text())["pid"], signal.SIGKILL)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Job]]:
    program = install_program(tmp_path / "program")
    jobs: list[Job] = []

    def start(command: str, **fields: Any) -> Job:
        jobs.append(Job(tmp_path / f"task{len(jobs)}", program, command, **fields))
        return jobs[-1]

    yield start
    for job in jobs:
        job.close()


Run = Callable[..., Job]


def test_exit_code_output_and_errors(run: Run) -> None:
    job = run("echo out; echo err >&2; exit 3")
    result = job.result()
    assert (result["state"], result["exit_code"], result["signal"]) == ("exit", 3, None)
    assert job.out == "out\n" and (job.folder / "err").read_text() == "err\n"
    assert result["cpu_seconds"] >= 0 and result["max_memory_bytes"] > 0


def test_a_signal_is_told_apart_from_an_exit_code(run: Run) -> None:
    assert (run("kill -SEGV $$").result()["signal"], run("exit 139").result()["exit_code"]) == (11, 139)


def test_done(run: Run) -> None:
    assert run("true").result()["state"] == "done"


def test_what_cannot_be_started_is_said(run: Run) -> None:
    result = run("true", argv=["/nonexistent/program"]).result()
    assert result["exit_code"] == 127 and "No such file" in result["reason"]
    assert "could not be started" in run("true", cwd="/nonexistent").result()["reason"]


def test_stop_is_a_real_stop_and_cont_goes_on(run: Run) -> None:
    job = run("while :; do :; done")
    job.tell(signal=int(signal.SIGTSTP), order=1)
    assert job.process.stdout is not None
    said = []
    while not said or said[-1]["state"] != "suspended":
        said.append(json.loads(job.process.stdout.readline()))
    fields = Path(f"/proc/{job.pid}/stat").read_text().rpartition(")")[2].split()
    assert fields[0] == "T"
    job.tell(signal=int(signal.SIGCONT), order=2)
    while said[-1] != {"state": "running", "order": 2}:
        said.append(json.loads(job.process.stdout.readline()))
    job.tell(end="cancel", order=3)
    assert (job.result()["signal"], job.result()["order"]) == (15, 3)


def test_a_stopped_job_hears_that_it_is_cancelled(run: Run) -> None:
    job = run("trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.05; done")
    until(lambda: job.out)
    job.tell(signal=int(signal.SIGTSTP), order=1)
    assert job.process.stdout is not None
    while json.loads(job.process.stdout.readline())["state"] != "suspended":
        pass
    job.tell(end="cancel", order=2)
    assert job.result()["exit_code"] == 7
    assert job.out == "up\nbye\n"


def test_one_that_ignores_term_is_killed_after_the_grace(run: Run) -> None:
    job = run("trap '' TERM; echo up; while :; do sleep 0.05; done")
    until(lambda: job.out)
    job.tell(end="cancel", order=1)
    assert job.result()["signal"] == 9


def test_the_run_limit_ends_it_and_a_longer_one_lets_it_live(run: Run) -> None:
    result = run("sleep 30", run_limit=1).result()
    assert (result["state"], result["limit"]) == ("exit", "run")
    job = run("sleep 1.2; echo alive", run_limit=1)
    job.tell(run_limit=None)
    assert job.result()["state"] == "done" and job.out == "alive\n"


def test_the_memory_limit_is_of_the_whole_job(run: Run) -> None:
    """Two processes, each below the limit."""
    eat = f"{sys.executable} -S -c 'import time; x = bytearray(80_000_000); time.sleep(30)'"
    result = run(f"{eat} & {eat} & wait", memory_bytes=150_000_000, limit_by="measured").result()
    assert (result["limit"], result["signal"], result["limit_by"]) == ("memory", 9, "measured")
    assert result["max_memory_bytes"] > 150_000_000


def test_what_the_job_leaves_behind_is_ended_with_it(run: Run) -> None:
    """A child in the background, and one that has fled into a session of its own."""
    flee = f"{sys.executable} -S -c 'import os, time; os.setsid(); print(os.getpid(), flush=True); time.sleep(60)'"
    job = run(f"sleep 60 & echo $!; {flee} & sleep 0.5; exit 0")
    assert job.result()["state"] == "done"
    pids = [int(line) for line in job.out.split()]
    assert len(pids) == 2
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), 5)


def test_when_the_worker_dies_the_job_is_ended_and_the_result_is_on_disk(run: Run) -> None:
    job = run("echo up; sleep 60")
    until(lambda: job.out)
    job.die()
    assert job.result()["state"] == "lost"
    assert not Path(f"/proc/{job.pid}").exists()


def test_a_job_that_was_done_when_the_worker_died_stays_done(run: Run) -> None:
    job = run("echo up; trap 'exit 0' TERM; while :; do sleep 0.02; done")
    until(lambda: job.out)
    job.die()
    result = job.result()
    assert (result["state"], result["exit_code"]) == ("done", 0)


def test_when_the_supervisor_is_killed_its_job_dies_too(run: Run) -> None:
    job = run("echo up; exec sleep 60")
    until(lambda: job.out)
    job.process.kill()
    until(
        lambda: not Path(f"/proc/{job.pid}").exists() or Path(f"/proc/{job.pid}/stat").read_text().split()[2] == "Z", 5
    )
    assert not (job.folder / "result.json").exists()


def test_an_exit_code_is_inherited_from_a_supervisor_that_died_before_its_result(run: Run, tmp_path: Path) -> None:
    """The job is over and not reaped, its supervisor is stopped and then killed: we, as its worker, read the zombie."""
    processes.prctl(processes.PR_SET_CHILD_SUBREAPER, 1)
    try:
        job = run("echo up; while [ ! -e go ]; do sleep 0.02; done; exit 6", cwd=str(tmp_path))
        until(lambda: job.out)
        pid = job.pid
        os.kill(job.process.pid, signal.SIGSTOP)
        (tmp_path / "go").touch()
        until(lambda: processes.process_state(pid) == "Z")
        job.process.kill()
        job.process.wait()
        assert runs.read_result(job.folder) is None
        found = until(lambda: runs.inherit(runs.Run({"lease": "x", "cores": 1}, job.folder)))
        assert (found["state"], found["exit_code"]) == ("exit", 6)
    finally:
        processes.prctl(processes.PR_SET_CHILD_SUBREAPER, 0)


@pytest.mark.parametrize("how", ["waitid", "wait4"])
def test_how_a_child_ended_is_read_with_and_without_waitid(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    if how == "wait4":
        monkeypatch.delattr(os, "waitid")
    for command, wanted in (("exit 3", (3, None)), ("kill -9 $$", (None, 9))):
        child = os.posix_spawn("/bin/sh", ["sh", "-c", command], {})
        over = until(lambda child=child: processes.look(child))  # type: ignore[misc]
        assert (over.exit_code, over.signal) == wanted
        assert processes.reap(child, over).ru_maxrss > 0
        with pytest.raises(ChildProcessError):
            os.waitpid(child, 0)


def test_what_a_dead_supervisor_left_is_ended_by_the_worker(run: Run) -> None:
    """Grandchildren do not get the parent's death signal; the group and the lease in the environment find them."""
    job = run("(setsid sleep 60 &) ; sleep 60 & echo up; wait")
    until(lambda: job.out)
    lease = "test-lease-" + job.folder.parent.name
    until(lambda: len(runs.processes_of(lease)) >= 3)
    job.process.kill()
    job.process.wait()
    runs.end_group(job.folder, lease)
    until(lambda: not runs.processes_of(lease), 5)


def test_the_output_is_delivered_to_where_it_was_wanted(run: Run, tmp_path: Path) -> None:
    wanted = tmp_path / "result.txt"
    job = run("echo data", output=str(wanted), error="/nonexistent/err")
    job.result()
    assert wanted.read_text() == "data\n"
    assert "could not be written to /nonexistent/err" in (job.folder / "err").read_text()


def test_an_output_file_that_is_a_link_is_not_written(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("keep")
    link = tmp_path / "link"
    link.symlink_to(target)
    assert run("echo x", stdout=str(link)).result()["exit_code"] == 127
    assert target.read_text() == "keep"


@AS_ROOT
def test_started_by_root_the_job_runs_as_the_submitting_user(run: Run) -> None:
    nobody = pwd.getpwnam("nobody")
    job = run("id -u; id -g; umask", uid=nobody.pw_uid, gid=nobody.pw_gid, user="nobody")
    job.result()
    assert job.out.split() == [str(nobody.pw_uid), str(nobody.pw_gid), "0022"]
    assert (job.folder / "out").stat().st_uid == nobody.pw_uid


def test_a_step_of_the_wall_clock_ends_no_job(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits are measured with the monotonic clock: a task with a limit of an hour survives time.time() being moved."""
    from adapters.local import supervisor

    monkeypatch.setattr(supervisor.time, "time", lambda: 4_000_000_000.0)
    one = supervisor.Supervision(
        {"folder": "/", "control_fd": None, "run_limit": 3600, "grace": 1, "memory_bytes": None}
    )  # fmt: skip
    os.close(one.wake)
    os.close(one.wake_write)
    one.pid = 2**22 + 1  # no process has that number
    one.watch()
    assert one.end is None and one.due() <= 3600
    monkeypatch.setattr(supervisor.time, "monotonic", lambda: one.begun + 3601)
    one.watch()
    assert one.end == "run"


def test_a_parent_that_waits_for_a_stopped_vfork_child_is_stopped_too() -> None:
    assert stopped(["T"]) and stopped(["T", "t"]) and stopped(["D", "T"])
    assert not stopped(["D"]) and not stopped(["S", "T"]) and not stopped(["R", "T"])
