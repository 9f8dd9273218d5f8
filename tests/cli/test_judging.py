"""`why`, `efficiency`, `estimate` and `suggest` on the double: what is printed, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from adapters.base import Unavailable
from adapters.model import Job, Node, Queue
from console.__main__ import main
from console.engine import Engine
from tests.doubles.memory_backend import MemoryBackend

T0 = datetime(2026, 3, 1, tzinfo=UTC)
Run = Callable[..., int]


def done(n: int, wait: int, ran: int = 600) -> Job:
    """A finished job of the history that waited `wait` seconds and ran `ran`."""
    start = T0 + timedelta(seconds=wait)
    return Job(
        str(n), "train-model", "succeeded", queue="gpu", cores=4, memory_bytes=8_000_000_000, walltime_seconds=3600,
        submission_time=T0, start_time=start, end_time=start + timedelta(seconds=ran), exit_code=0, owner="alice",
        extensions={"max_memory_bytes": 2_000_000_000, "cpu_seconds": 1200},
    )  # fmt: skip


ROWS = (
    Job("1", "wants", "pending", "PENDING", "gpu", reason="Resources", owner="alice", submission_time=T0, cores=4),
    Job("2", "broke", "failed", "OUT_OF_MEMORY", "gpu", exit_code=137, owner="alice", submission_time=T0),
    Queue("gpu", "active"),
    Node("n1", "drain", reason="disk\x1b[2J", slots_total=8),
    *(done(100 + n, 60 * n) for n in range(12)),
)


@pytest.fixture
def backend() -> MemoryBackend:
    return MemoryBackend(rows=ROWS)


@pytest.fixture
def run(backend: MemoryBackend, tmp_path: Path, state_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    file = tmp_path / "config.toml"
    file.write_text('version = 1\n[clusters.demo]\ntype = "native"\nurl = "http://127.0.0.1:1"\n')
    monkeypatch.setattr("console.engine.Engine", partial(Engine, open_with=backend.open))
    return lambda *argv: main(["--config", str(file), *argv])


def test_why_a_job_failed(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("why", "2") == 0
    told = capsys.readouterr().out
    assert told.startswith("job 2: out of memory (certain)\n")
    assert "evidence: job.raw_status: OUT_OF_MEMORY" in told and "what to do:" in told


def test_why_a_job_waits_for_programs(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("why", "1", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["cause"], found["since"]) == ("resources", "2026-03-01T00:00:00Z")


def test_why_nothing_starts(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("why") == 0
    told = capsys.readouterr().out
    assert told.startswith("all nodes drained (certain)")
    assert "disk␛[2J" in told and "\x1b" not in told


def test_a_silent_scheduler_is_the_answer(run: Run, backend: MemoryBackend, capsys: pytest.CaptureFixture[str]) -> None:
    backend.error = Unavailable("slurmctld does not answer")
    assert run("why") == 0
    assert "scheduler does not answer" in capsys.readouterr().out
    assert run("why", "1") == 1


def test_efficiency(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("efficiency", "101") == 0
    told = capsys.readouterr().out
    assert "(25%)" in told and "(17%)" in told and "(50%)" in told
    assert "next time: memory 2.4" in told


def test_estimate(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("estimate", "--queue", "gpu", "--cores", "4", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["basis"], found["sample"], found["expected"]) == ("history", 12, 330.0)
    assert run("estimate", "--queue", "nowhere") == 0
    assert capsys.readouterr().out.startswith("not known.")


def test_suggest(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("suggest", "train", "the", "model", "on", "2", "GPUs") == 0
    told = capsys.readouterr().out
    assert "gpus     2" in told and "as described" in told
    assert "memory   2.4" in told and "12 like jobs" in told
    assert run("suggest", "something", "else") == 0
    assert "Nothing can be said" in capsys.readouterr().out


def test_a_template_shows_the_job_it_makes(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from console.tools import user_templates

    (tmp_path / "t.toml").write_text(
        'version = 1\nmeaning = "x"\ncommand = ["work", "{n}"]\n[parameters.n]\ntype = "integer"\nmax = 9\n'
    )
    monkeypatch.setattr(user_templates, "folders", lambda: (tmp_path,))
    assert run("submit", "--template", "t", "--set", "n=3", "--dry-run") == 0
    assert '"command": ["work", "3"]' in capsys.readouterr().out
    assert run("submit", "--template", "t", "--set", "n=10", "--dry-run") == 1
    assert "to 9" in capsys.readouterr().err
