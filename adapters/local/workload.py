"""The demo's jobs: small, real, and varied enough to show every state. They belong to whoever runs the demo."""

from __future__ import annotations

import random
import threading
from types import TracebackType
from typing import Any

import httpx

# name, queue, command, further fields; weights say how often
_KINDS: tuple[tuple[int, str, str, str, dict[str, Any]], ...] = (
    (6, "align-{n:03d}", "normal", "for i in 1 2 3 4 5; do echo chunk $i of 5; sleep {s}; done", {}),
    (4, "relax-{n:03d}", "short", "echo converging; sleep {s}; echo residual 1e-6", {"run_limit": "00:05"}),
    (3, "md-prod-{n:03d}", "long", "i=0; while [ $i -lt 12 ]; do echo step $i; sleep {s}; i=$((i+1)); done",
     {"cores": 2, "mem_limit": "512 MB"}),
    (2, "train-{n:03d}", "long", "echo epoch 1; sleep {s}; echo epoch 2; sleep {s}; echo epoch 3; sleep 20",
     {"cores": 4, "mem_limit": "1024 MB", "run_limit": "02:00"}),
    (2, "qc-{n:03d}", "short", "echo reading input; sleep {s}; echo 'input.cif: no such file' >&2; exit 2", {}),
    (1, "assemble-{n:03d}", "normal", "echo building graph; sleep {s}; echo out of disk >&2; exit 28", {}),
    (1, "solver-{n:03d}", "normal", "echo iterating; sleep {s}; kill -SEGV $$", {}),
    (1, "sweep-{n:03d}", "normal", "echo point $LSB_JOBINDEX; sleep {s}", {"array": "1-12%3"}),
    (1, "bigmem-{n:03d}", "normal", "sleep 60", {"cores": 16}),
    (1, "nightly-{n:03d}", "long", "sleep 30", {"hold": True}),
)  # fmt: skip
_PROJECTS = ("climate", "genomics", "materials", "fluid")
START, PAUSE = 30, 2.0  # jobs at once when the demo starts; then seconds between two
ENOUGH = 60  # waiting and running jobs above which none is added


class Workload:
    """Submits jobs from a thread while the block lasts."""

    def __init__(self, url: str, key: str, *, seed: int = 7) -> None:
        self._http = httpx.Client(base_url=url, headers={"authorization": key}, timeout=10, trust_env=False)
        self._random = random.Random(seed)
        self._stop = threading.Event()
        self._number = 0
        self._last: int | None = None
        self._thread = threading.Thread(target=self._run, name="workload", daemon=True)

    def __enter__(self) -> Workload:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join(15)
        self._http.close()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def next_job(self) -> dict[str, Any]:
        """The next submission."""
        weights = [kind[0] for kind in _KINDS]
        _, name, queue, command, more = self._random.choices(_KINDS, weights)[0]
        self._number += 1
        pause = f"{self._random.uniform(0.5, 4):.1f}"
        job = {"jobname": name.format(n=self._number), "queue": queue, "command": command.replace("{s}", pause),
               "resreq": "", "projectname": self._random.choice(_PROJECTS), **more}  # fmt: skip
        if self._last is not None and self._random.random() < 0.1:
            job["depends_on"] = f"{self._random.choice(('afterok', 'afterany'))}:{self._last}"
        return job

    def _run(self) -> None:
        for _ in range(START):
            self._submit()
        while not self._stop.wait(PAUSE):
            self._submit()

    def _submit(self) -> None:
        """A server that is away, or that refuses, costs one job of the demo and nothing else."""
        try:
            counts = self._http.get("/xce/v1/metrics").json()["data"]["jobs"]
            if counts.get("PEND", 0) + counts.get("RUN", 0) >= ENOUGH:
                return
            answer = self._http.post("/xce/v1/jobs", json=self.next_job()).json()
            self._last = answer["data"]["jobid"]
        except (httpx.HTTPError, ValueError, KeyError, TypeError):
            return
