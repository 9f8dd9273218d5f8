"""Starts an embedded cluster as real processes in a temporary folder, and leaves nothing of it.

    with launch(workers=3, slots=8) as cluster:
        cluster.url, cluster.admin_key, cluster.config

The processes hold the reading end of a pipe of ours: should we be killed, they end by themselves.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from adapters.command import for_child
from adapters.local import tokens
from adapters.local.problem import StartError
from adapters.local.seed import ADMIN_KEY, JOIN_TOKEN
from adapters.local.strays import end_strays

READY_SECONDS = 30.0
STOP_SECONDS = 10.0
PACKAGE_ROOT = Path(__file__).resolve().parents[2]


@dataclass(slots=True)
class Process:
    """A server or worker of ours."""

    name: str
    popen: subprocess.Popen[bytes]
    log: Path

    def end(self, number: int = signal.SIGTERM) -> None:
        if self.popen.poll() is None:
            self.popen.send_signal(number)

    def wait(self, seconds: float) -> bool:
        """Whether it is over within that time."""
        try:
            self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True


@dataclass(slots=True)
class EmbeddedCluster:
    """A running embedded cluster. Times of the server may be shortened by `serve_options` (for tests)."""

    folder: Path
    url: str = ""
    server: Process | None = None
    workers: dict[str, Process] = field(default_factory=dict)
    serve_options: tuple[str, ...] = ()
    parent: tuple[int, int] = (-1, -1)

    @property
    def data_dir(self) -> Path:
        return self.folder / "data"

    @property
    def admin_key_file(self) -> Path:
        return self.data_dir / ADMIN_KEY

    @property
    def admin_key(self) -> str:
        return self.admin_key_file.read_text("utf-8").strip()

    @property
    def config(self) -> Path:
        """The configuration with which `pilothouse --config FILE` opens this cluster."""
        return self.folder / "config.toml"

    def start_server(self, port: int = 0) -> None:
        """Start the server and wait until it answers. Raises StartError with what it said."""
        read, write = os.pipe()
        options = ["serve", "--data", str(self.data_dir), "--port", str(port), "--quiet", "--ready-fd", str(write),
                   "--sweep", str(self.folder)]  # fmt: skip
        try:
            self.server = self._start("server", [*options, *self.serve_options], write)
        finally:
            os.close(write)
        with os.fdopen(read) as pipe:
            ready, _, _ = select.select([pipe], [], [], READY_SECONDS)
            url = pipe.readline().strip() if ready else ""
        if not url:
            self.server.end(signal.SIGKILL)
            raise StartError(f"the server did not start: {self.said(self.server)}")
        self.url = url
        self._write_config()

    def start_worker(self, name: str, slots: int, *more: str) -> Process:
        """Start a worker; it joins by itself."""
        state = self.folder / "workers" / name
        options = ["worker", "--url", self.url, "--name", name, "--token-file", str(self.data_dir / JOIN_TOKEN)]
        limits = ["--state", str(state), "--slots", str(slots), "--stop-grace", "1"]
        self.workers[name] = self._start(name, [*options, *limits, *more], None)
        return self.workers[name]

    def wait_for_workers(self) -> None:
        """Until every worker has sent its first heartbeat. Raises StartError with what a worker said."""
        deadline = time.monotonic() + READY_SECONDS
        headers = {"authorization": self.admin_key}
        with httpx.Client(base_url=self.url, headers=headers, timeout=10, trust_env=False) as http:
            while True:
                nodes = {node["name"]: node["status"] for node in http.get("/api/admin/nodes").json()}
                late = [w for name, w in self.workers.items() if nodes.get(name, "offline") == "offline"]
                if not late:
                    return
                gone = [worker for worker in late if worker.popen.poll() is not None]
                if gone or time.monotonic() > deadline:
                    worker = (gone or late)[0]
                    raise StartError(f"the worker {worker.name} did not start: {self.said(worker)}")
                time.sleep(0.05)

    def restart_server(self) -> None:
        """Start the server again on the port it had."""
        self.start_server(int(self.url.rsplit(":", 1)[1]))

    def said(self, process: Process) -> str:
        """The last line that the process wrote."""
        lines = process.log.read_text("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    def _start(self, name: str, options: list[str], ready: int | None) -> Process:
        log = self.folder / f"{name}.log"
        parent = ["--parent-fd", str(self.parent[0])]
        with log.open("ab") as file:
            popen = subprocess.Popen(
                [sys.executable, "-m", "adapters.local", *options, *parent], stdin=subprocess.DEVNULL, stdout=file,
                stderr=file, cwd="/", process_group=0, env=for_child(os.environ) | {"PYTHONPATH": str(PACKAGE_ROOT)},
                pass_fds=[self.parent[0], *([ready] if ready is not None else [])],
            )  # fmt: skip
        return Process(name, popen, log)

    def _write_config(self) -> None:
        lines = ["version = 1", 'default_cluster = "demo"', "", "[clusters.demo]", 'type = "native"',
                 f'url = "{self.url}"', f'token_file = "{self.admin_key_file}"']  # fmt: skip
        tokens.write_secret(self.config, "\n".join(lines))

    def stop(self) -> None:
        """End everything: politely, then by force; then wait for supervisors and jobs to be gone."""
        processes = [*self.workers.values(), *([self.server] if self.server else [])]
        for process in self.workers.values():
            process.end()
        deadline = time.monotonic() + STOP_SECONDS
        for process in processes:
            process.end()
            if not process.wait(max(0.1, deadline - time.monotonic())):
                process.end(signal.SIGKILL)
                process.wait(STOP_SECONDS)
        end_strays(self.folder, time.monotonic() + STOP_SECONDS)


@contextlib.contextmanager
def launch(
    workers: int = 3, slots: int = 8, *, names: str = "node", serve_options: tuple[str, ...] = (), wait: bool = True
) -> Iterator[EmbeddedCluster]:
    """An embedded cluster for as long as the block lasts; with `wait` its workers have been heard of when the block
    begins. Raises StartError."""
    folder = Path(tempfile.mkdtemp(prefix="pilothouse-"))
    parent = os.pipe()
    cluster = EmbeddedCluster(folder, serve_options=serve_options, parent=parent)
    try:
        cluster.start_server()
        for number in range(1, workers + 1):
            cluster.start_worker(f"{names}{number}", slots)
        if wait:
            cluster.wait_for_workers()
        yield cluster
    finally:
        cluster.stop()
        for end in parent:
            os.close(end)
        shutil.rmtree(folder, ignore_errors=True)
