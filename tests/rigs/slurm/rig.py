"""A real Slurm cluster of this machine's own packages on loopback, for tests: eight nodes, five users, accounting.

Needs root and Debian with the packages that `.ci/run` installs; `why_not` says what is missing. The scripts beside
this file start, fill and stop it; everything lives in one folder and goes with it.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
USERS = ("alice", "bob", "carol", "dave", "oper")
PROGRAMS = ("slurmctld", "slurmd", "slurmdbd", "slurmrestd", "munged", "mariadbd", "squeue", "sbatch", "jq", "curl")
COMMANDS = ("squeue", "sinfo", "sbatch", "scancel", "scontrol", "sacct", "sacctmgr")
_PORTS = 20


def why_not() -> str | None:
    """Why no cluster can be started here; None where it can."""
    if os.geteuid() != 0:
        return "a real Slurm needs root (its daemons run as several users)"
    if not Path("/etc/debian_version").exists():
        return "the rig uses Debian's Slurm packages"
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    missing = [name for name in PROGRAMS if shutil.which(name, path=path) is None]
    return f"not installed: {', '.join(missing)} (.ci/run installs them)" if missing else None


@contextmanager
def free_ports() -> Iterator[int]:
    """The first of `_PORTS` consecutive ports on loopback that are free. No other rig of this machine gets them
    meanwhile: the daemons may not have taken theirs yet when it looks. The claim is a name, and needs no file."""
    for base in range(21000, 29000, _PORTS):
        with socket.socket(socket.AF_UNIX) as claim:
            if _claimed(claim, base):
                yield base
                return
    raise RuntimeError("no free range of ports")


def _claimed(claim: socket.socket, base: int) -> bool:
    try:
        claim.bind(f"\0pilothouse-slurm-rig-{base}")
        for port in range(base, base + _PORTS):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True


def until(condition: Callable[[], object], seconds: float = 30.0, what: str = "the condition") -> None:
    """Look again and again until `condition` holds; AssertionError after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come true within {seconds:g} s"
        time.sleep(0.1)


@dataclass(frozen=True)
class Rig:
    """A running cluster. Commands run as one of its users; daemons can be frozen, ended and started again."""

    folder: Path
    rest_url: str

    @property
    def tree(self) -> str:
        """The Debian tree whose packages it runs; empty where they are this machine's."""
        return (self.folder / "run" / "root").read_text().strip()

    @property
    def release(self) -> tuple[int, int]:
        """Year and month of its release, such as (22, 5)."""
        found = re.search(r"^export SLURMRIG_VERSION=(\d+)\.(\d+)", (self.folder / "env.sh").read_text(), re.MULTILINE)
        assert found is not None, "up.sh writes the version"
        return int(found[1]), int(found[2])

    def environment(self) -> dict[str, str]:
        """What a command needs to find the cluster."""
        path = f"{self.folder}/bin:{os.environ.get('PATH', os.defpath)}:/usr/sbin"
        return {"PATH": path, "SLURM_CONF": f"{self.folder}/etc/slurm.conf", "HOME": "/root", "LANG": "C.UTF-8"}

    def bin_dir(self, user: str) -> Path:
        """A folder of Slurm's commands that run as `user`."""
        folder = self.folder / "as" / user
        if not folder.exists():
            folder.mkdir(parents=True)
            for name in COMMANDS:
                real = shutil.which(name, path=self.environment()["PATH"])
                lines = ["#!/bin/sh", f"export HOME={self.folder}/home/{user} USER={user} LOGNAME={user}"]
                lines.append(f'exec setpriv --reuid={user} --regid={user} --init-groups -- {real} "$@"')
                (folder / name).write_text("\n".join(lines) + "\n")
                (folder / name).chmod(0o755)
        return folder

    def run(self, user: str, *argv: str, stdin: bytes | None = None, check: bool = True) -> bytes:
        """Standard output of a command run as `user`, behind the adapter's back."""
        environment = self.environment()
        environment["PATH"] = f"{self.bin_dir(user)}:{environment['PATH']}" if user != "root" else environment["PATH"]
        done = subprocess.run(argv, env=environment, input=stdin, capture_output=True, timeout=60, check=False,
                              cwd=self.folder / "out")  # fmt: skip
        if check and done.returncode:
            raise AssertionError(f"{' '.join(argv)}: rc {done.returncode}: {done.stderr.decode('utf-8', 'replace')}")
        return done.stdout

    def submit(self, user: str, *arguments: str, wrap: str = "sleep 600") -> str:
        """The id of a new small job."""
        answer = self.run(user, "sbatch", "--parsable", "-o", "/dev/null", "--mem=20", *arguments, "--wrap", wrap)
        return answer.decode().strip().split(";")[0]

    def state(self, job: str) -> str:
        """The job's state, empty where the controller does not know it."""
        return self.run("root", "squeue", "-h", "-a", "-t", "all", "-j", job, "-o", "%T", check=False).decode().strip()

    def until_state(self, job: str, state: str, seconds: float = 30.0) -> None:
        until(lambda: self.state(job) == state, seconds, f"job {job} {state}")

    def pid(self, daemon: str) -> int:
        return int((self.folder / "run" / f"{daemon}.pid").read_text())

    @contextmanager
    def frozen(self, daemon: str = "slurmctld") -> Iterator[None]:
        """The daemon accepts connections and answers nothing."""
        os.kill(self.pid(daemon), signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pid(daemon), signal.SIGCONT)
            self.until_up()

    @contextmanager
    def dying(self, user: str) -> Iterator[Callable[[], None]]:
        """The controller is frozen. What is yielded waits until a request of `user` lies before it unread, and then
        ends it by force. Up again afterwards."""
        pid = self.pid("slurmctld")
        port = int(self.rest_url.rpartition(":")[2]) - 2

        def end() -> None:
            until(lambda: _unread(port, user), 30, "a request before the frozen controller")
            os.kill(pid, signal.SIGKILL)
            until(lambda: not _runs(pid), 30, "slurmctld ended")

        os.kill(pid, signal.SIGSTOP)
        try:
            yield end
        finally:
            if _runs(pid):
                os.kill(pid, signal.SIGCONT)
            else:
                self._start("slurmctld")
            self.until_up()

    @contextmanager
    def stopped(self, daemon: str) -> Iterator[None]:
        """The daemon (slurmctld, slurmdbd or munged) is down, and up again afterwards."""
        pid = self.pid(daemon)
        os.kill(pid, signal.SIGTERM)
        until(lambda: not _runs(pid), 30, f"{daemon} ended")
        try:
            yield
        finally:
            self._start(daemon)
            self.until_up()

    def _start(self, daemon: str) -> None:
        as_host = ("unshare", "--uts", "sh", "-c", 'hostname ctl0; exec "$@"', "_")
        folder = self.folder
        inside = ("chroot", self.tree) if self.tree else ()
        argv: Sequence[str] = (daemon,)
        if daemon == "munged":
            argv = ("setpriv", "--reuid=munge", "--regid=munge", "--clear-groups", "munged", "--force",
                    f"--key-file={folder}/etc/munge.key", f"--socket={folder}/run/munge.sock",
                    f"--pid-file={folder}/run/munged.pid", f"--log-file={folder}/log/munged.log",
                    f"--seed-file={folder}/run/munged.seed")  # fmt: skip
        subprocess.run([*as_host, *inside, *argv], env=self._daemon_environment(), check=True, timeout=30,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip

    def _daemon_environment(self) -> dict[str, str]:
        return {**os.environ, **self.environment()}

    def until_up(self) -> None:
        """The controller answers and the accounting too, and the nodes have told a new controller that they are there:
        until then 20.11 calls any job's nodes not available."""
        for argv in (("scontrol", "ping"), ("sacctmgr", "-n", "show", "cluster")):
            until(lambda argv=argv: self._succeeds(*argv), 60, " ".join(argv))  # type: ignore[misc]
        until(lambda: not self._silent(), 60, "all nodes responding")

    def _silent(self) -> bool:
        """Whether a node but n08, which never runs, has not told the controller of itself."""
        lines = self.run("root", "sinfo", "-h", "-N", "-o", "%N %T", check=False).decode().splitlines()
        return not lines or any(line.endswith(("*", " unknown")) and not line.startswith("n08 ") for line in lines)

    def _succeeds(self, *argv: str) -> bool:
        done = subprocess.run(argv, env=self.environment(), capture_output=True, timeout=60, check=False)
        return done.returncode == 0 and b"DOWN" not in done.stdout

    def fill(self, *, quick: bool = True) -> dict[str, str]:
        """Jobs in every state that can be made quickly; label -> id."""
        argv = [str(HERE / "fill.sh"), str(self.folder), *(["--quick"] if quick else [])]
        subprocess.run(argv, env=self._daemon_environment(), check=True, capture_output=True, timeout=240)
        lines = (self.folder / "out" / "jobs.tsv").read_text().splitlines()
        return dict(line.split("\t")[:2] for line in lines if "\t" in line)


def _unread(port: int, user: str) -> bool:
    """Whether something that a process of `user` has sent to `port` of this host waits there to be read."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    here, uid = f":{port:04X}", str(pwd.getpwnam(user).pw_uid)
    senders = {row[1] for row in rows if row[2].endswith(here) and row[7] == uid}
    return any(row[1].endswith(here) and row[2] in senders and int(row[4].split(":")[1], 16) for row in rows)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@contextmanager
def running_rig(folder: Path, *, root: Path | None = None, settings: dict[str, str] | None = None) -> Iterator[Rig]:
    """A cluster in `folder`, with the packages of this machine or of the Debian tree `root`; gone afterwards."""
    with free_ports() as base:
        environment = {**os.environ, "SLURMRIG_PORT": str(base), **(settings or {})}
        arguments = [str(folder)] + ([str(root)] if root else [])
        try:
            done = subprocess.run([str(HERE / "up.sh"), *arguments], env=environment, capture_output=True, timeout=180)
            if done.returncode:
                raise RuntimeError(f"the rig did not start: {done.stderr.decode('utf-8', 'replace')[-2000:]}")
            yield Rig(folder, f"http://127.0.0.1:{base + 2}")
        finally:
            subprocess.run([str(HERE / "down.sh"), str(folder), "--wipe"], env=environment, capture_output=True,
                           timeout=120)  # fmt: skip
