"""Random kills and cuts while jobs run, and afterwards the count: nothing lost, nothing run twice.

Every job takes a lock of its own while it runs and appends a mark when it starts and when it ends: two runs of one job
at the same time would find the lock taken. What the marks say is then held against what the server says.
"""

from __future__ import annotations

import os
import random
import shlex
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from adapters.local.launch import EmbeddedCluster, Process, launch
from adapters.local.strays import strays
from tests.chaos.network import Relay
from tests.chaos.watcher import Watcher
from tests.local.api import Api

OPTIONS = ("--heartbeat", "0.5", "--down-after", "2", "--lease", "8", "--grace", "1")
QUOTAS: dict[str, int | None] = {"node1": 3, "node2": 50, "node3": None, "node4": 6}
SLOTS = 8
FAILS = 3


@dataclass(slots=True)
class Wish:
    """A submitted job and how it has to end: done, failed, or never (its dependency can not be met)."""

    number: int
    ends: str
    size: int = 1
    depends: tuple[int, str] | None = None


@dataclass(slots=True)
class Figures:
    """What happened, and what must be nought."""

    jobs: int = 0
    elements: int = 0
    seconds: float = 0.0
    strikes: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    lost_runs: int = 0
    events: int = 0
    reconnections: int = 0
    wrong: dict[str, list[Any]] = field(default_factory=dict)

    def lines(self) -> list[str]:
        struck = ", ".join(f"{count} x {name}" for name, count in sorted(self.strikes.items()))
        return [
            f"{self.jobs} jobs ({self.elements} runs wanted) in {self.seconds:.0f} s; {struck}",
            f"{self.runs} runs, {self.lost_runs} of them lost and given out again",
            f"{self.events} events over {self.reconnections} connections",
            *(f"{name}: {len(found)}{' ' + str(found[:5]) if found else ''}" for name, found in self.wrong.items()),
        ]


class Chaos:
    """One run: a cluster behind a relay, jobs, strikes, the count."""

    def __init__(self, cluster: EmbeddedCluster, folder: Path, seed: int) -> None:
        self.cluster, self.folder = cluster, folder
        self.random = random.Random(seed)
        self.relay = Relay(int(cluster.url.rsplit(":", 1)[1]))
        self.direct = cluster.url
        self.http = httpx.Client(base_url=cluster.url, timeout=20, trust_env=False)
        self.api = Api(self.http, cluster.admin_key)
        self.figures = Figures()
        self.wishes: list[Wish] = []
        self.calm = threading.Event()
        for name in QUOTAS:
            self.start_worker(name)

    def start_worker(self, name: str) -> None:
        cluster = self.cluster
        cluster.url = self.relay.url
        try:
            cluster.start_worker(name, SLOTS)
        finally:
            cluster.url = self.direct

    def retried(self, call: Any) -> Any:
        """The server may be dead at the moment: again until it answers (every write has its idempotency key)."""
        until = time.monotonic() + 60
        while True:
            try:
                return call()
            except httpx.HTTPError:
                assert time.monotonic() < until, "the server does not come back"
                time.sleep(0.1)

    # -- jobs

    def command(self, code: int) -> str:
        """Lock, mark, work a little, mark, end."""
        marks = shlex.quote(str(self.folder / "marks"))
        me = '"$PILOTHOUSE_JOBID $PILOTHOUSE_ATTEMPT"'
        lock = f"exec 9>{shlex.quote(str(self.folder))}/lock.$PILOTHOUSE_JOBID; flock -n 9 || echo both {me} >> {marks}"
        work = f"sleep 0.{self.random.randrange(10, 50)}"
        return f"{lock}; echo start {me} >> {marks}; {work}; echo end {me} >> {marks}; exit {code}"

    def submit_all(self, count: int) -> None:
        for number in range(count):
            wish = self.submit(number)
            self.wishes.append(wish)
            if number % 25 == 24:
                time.sleep(0.2)

    def submit(self, number: int) -> Wish:
        fails = self.random.random() < 0.1
        size = self.random.randrange(2, 12) if self.random.random() < 0.06 else 1
        body: dict[str, Any] = {"command": self.command(FAILS if fails else 0), "queue": "normal", "resreq": "",
                                "jobname": f"chaos{number}", "cores": self.random.choice([1, 1, 1, 2])}  # fmt: skip
        if size > 1:
            body["array"] = f"1-{size}%{self.random.randrange(1, 5)}"
        ends, depends = "failed" if fails else "done", None
        if self.wishes and self.random.random() < 0.3:
            other = self.random.choice(self.wishes[-60:])
            kind = self.random.choice(["afterok", "afterany", "afternotok"])
            body["depends_on"] = f"{kind}:{other.number}"
            depends = (other.number, kind)
            met = other.ends != "never" and (kind == "afterany" or (kind == "afterok") == (other.ends == "done"))
            ends = ends if met else "never"
        key = f"chaos-{number}"
        answer = self.retried(lambda: self.api.post("/xce/v1/jobs", body, idempotency_key=key))
        return Wish(int(answer["data"]["jobid"]), ends, size, depends)

    # -- strikes

    def strike(self) -> None:
        """One blow at random."""
        blow = self.random.choices(
            [self.kill_server, self.kill_worker, self.kill_supervisor, self.cut_network, self.set_quota],
            [2, 3, 5, 2, 1],
        )[0]
        blow()

    def kill_server(self) -> None:
        assert self.cluster.server is not None
        _kill(self.cluster.server)
        time.sleep(self.random.uniform(0, 1.0))
        self.cluster.restart_server()
        self.figures.strikes["server killed"] += 1

    def kill_worker(self) -> None:
        name = self.random.choice(list(QUOTAS))
        _kill(self.cluster.workers[name])
        time.sleep(self.random.uniform(0, 1.5))
        self.start_worker(name)
        self.figures.strikes["worker killed"] += 1

    def kill_supervisor(self) -> None:
        found = []
        for pid in strays(self.cluster.folder):
            try:
                if b"run.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(pid)
            except OSError:
                continue
        if found:
            try:
                os.kill(self.random.choice(found), signal.SIGKILL)
            except ProcessLookupError:
                return
            self.figures.strikes["supervisor killed"] += 1

    def cut_network(self) -> None:
        self.relay.cut()
        time.sleep(self.random.uniform(0.2, 3.0))
        self.relay.restore()
        self.figures.strikes["network cut"] += 1

    def set_quota(self) -> None:
        """By the command line, so that the gate and its audit are in the storm too."""
        arguments = ["--config", str(self.cluster.config), "quota", "node2", str(self.random.choice([40, 50, 60]))]
        state = os.environ | {"PILOTHOUSE_STATE_DIR": str(self.folder / "state")}
        done = subprocess.run(
            [sys.executable, "-m", "console", *arguments, "--yes"], env=state, capture_output=True, timeout=60
        )
        self.figures.strikes[f"quota set ({done.returncode})"] += 1

    def storm(self, pause: tuple[float, float]) -> None:
        while not self.calm.wait(self.random.uniform(*pause)):
            self.strike()

    # -- the whole

    def run(self, count: int, pause: tuple[float, float], limit: float) -> Figures:
        begun = time.monotonic()
        for name, quota in QUOTAS.items():
            _until(lambda name=name: any(n["name"] == name for n in self.api.get("/api/admin/nodes")), 30)  # type: ignore[misc]
            self.api.quota(name, quota)
        watcher = Watcher(lambda: self.direct, self.cluster.admin_key)
        storm = threading.Thread(target=self.storm, args=(pause,))
        storm.start()
        try:
            self.submit_all(count)
            _until(self.is_over, limit, 0.5)
        finally:
            self.calm.set()
            storm.join(90)
        _until(self.is_over, 60, 0.2)
        self.figures.seconds = time.monotonic() - begun
        time.sleep(1.0)  # the last counts of queues and hosts
        self.count(watcher)
        watcher.stop()
        self.relay.close()
        self.http.close()
        return self.figures

    def is_over(self) -> bool:
        """Every job has ended but those that never can, because of their dependency or of its own."""
        rows = self.retried(lambda: self.api.get("/xce/v1/jobs?fields=jobid&filter=status:PEND|RUN|USUSP"))
        return {row["jobid"] for row in rows} <= {wish.number for wish in self.wishes if wish.ends == "never"}

    def count(self, watcher: Watcher) -> None:
        from tests.chaos import verdict

        rows = self.api.get("/xce/v1/jobs")
        newest = self.api.send("GET", "/xce/v1/metrics") and _last_event(self.cluster)
        _until(lambda: watcher.last >= newest, 20)
        verdict.judge(self.figures, self.wishes, rows, self.cluster.data_dir / "cluster.db", self.folder, watcher)


def _last_event(cluster: EmbeddedCluster) -> int:
    with sqlite3.connect(f"file:{cluster.data_dir}/cluster.db?mode=ro", uri=True) as db:
        found = int(db.execute("SELECT max(id) FROM events").fetchone()[0])
    db.close()
    return found


def _kill(process: Process) -> None:
    process.popen.kill()
    process.popen.wait()


def _until(condition: Any, seconds: float, pause: float = 0.05) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} seconds"
        time.sleep(pause)


def run_chaos(count: int, *, seed: int, pause: tuple[float, float] = (0.3, 2.0), limit: float = 900) -> Figures:
    """The whole in a temporary folder; nothing is left of it."""
    with tempfile.TemporaryDirectory(prefix="pilothouse-chaos-") as name, launch(0, serve_options=OPTIONS) as cluster:
        chaos = Chaos(cluster, Path(name), seed)
        figures = chaos.run(count, pause, limit)
        cluster.stop()
        figures.wrong["processes left"] = strays(cluster.folder)
        return figures
