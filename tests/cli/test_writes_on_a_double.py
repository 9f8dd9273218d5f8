"""Exit codes and outputs of the commands that write, on the double of a backend in memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from adapters.base import Forbidden, Unreachable
from adapters.model import Job, Node
from console.__main__ import main
from console.engine import Engine
from tests.doubles.memory_backend import MemoryBackend

SINCE = datetime(2026, 3, 1, tzinfo=UTC)
ROWS = (
    Job("1", "train", "running", owner="alice", submission_time=SINCE),
    Job("2", "eval", "pending", owner="alice", submission_time=SINCE),
    Job("3", "other", "running", owner="bob", submission_time=SINCE),
    Job("4", "old", "succeeded", owner="alice", submission_time=SINCE),
    Node("node-1", "idle", slots_used=0, slots_total=8),
)
Run = Callable[..., int]


@pytest.fixture
def backend() -> MemoryBackend:
    return MemoryBackend(rows=ROWS)


@pytest.fixture
def run(backend: MemoryBackend, tmp_path: Path, state_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs one command line on the double; returns the exit code. Standard input is no terminal."""
    config = tmp_path / "config.toml"
    config.write_text('version = 1\n[clusters.demo]\ntype = "native"\nurl = "http://127.0.0.1:1"\n')
    monkeypatch.setattr("console.engine.Engine", partial(Engine, open_with=backend.open))
    monkeypatch.setattr("console.gate.verify.PUSHED", (0.01, 0.05, 0.1))

    def command(*argv: str, settings: str = "") -> int:
        if settings:
            config.write_text(settings + config.read_text().removeprefix("version = 1\n"))
        try:
            return main(["--config", str(config), *argv])
        except SystemExit as end:
            return int(str(end.code))

    return command


def audit_kinds(state_dir: Path) -> list[str]:
    lines = [line for log in (state_dir / "audit").glob("*.jsonl") for line in log.read_text().splitlines()]
    return [json.loads(line)["kind"] for line in lines]


def test_done_is_0_and_on_record(
    run: Run, backend: MemoryBackend, state_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("cancel", "1", "2", "--yes") == 0
    assert [backend.job(id).status for id in ("1", "2")] == ["cancelled", "cancelled"]
    told = capsys.readouterr()
    assert told.out.splitlines() == [
        "cancel: 1 accepted: confirmed by reading again",
        "cancel: 2 accepted: confirmed by reading again",
    ]
    assert "POST /memory/cancel" in told.err
    assert audit_kinds(state_dir) == ["intent", "result", "intent", "result"]
    log = next((state_dir / "audit").glob("*.jsonl")).read_text()
    assert '"decision":"unattended"' in log.replace(" ", "")


def test_without_a_terminal_it_needs_yes(run: Run, backend: MemoryBackend, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("cancel", "1") == 2
    assert backend.sent == []
    assert "--yes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("answer", "code"), [("refused", 1), ("lost", 4), ("raises", 4), ("none", 4), ("lost_but_done", 0)]
)
def test_outcomes_and_their_codes(run: Run, backend: MemoryBackend, answer: str, code: int) -> None:
    backend.answers.append(answer)  # type: ignore[arg-type]
    assert run("quota", "node-1", "2", "--yes") == code
    assert len(backend.sent) == 1


def test_a_refusal_shows_the_words_of_the_backend(
    run: Run, backend: MemoryBackend, capsys: pytest.CaptureFixture[str]
) -> None:
    backend.answers.append("refused")
    assert run("cancel", "1", "--yes") == 1
    assert capsys.readouterr().out == "cancel: 1 refused: not you\n"


def test_nobody_there_is_3_and_nothing_is_sent(
    run: Run, backend: MemoryBackend, capsys: pytest.CaptureFixture[str]
) -> None:
    backend.error = Unreachable("nothing answers at 127.0.0.1:1", "Start the server.")
    assert run("cancel", "1", "--yes") == 3
    assert run("jobs") == 3
    assert backend.sent == []
    told = capsys.readouterr().err
    assert "Cannot reach the cluster: nothing answers at 127.0.0.1:1\n  Start the server." in told
    assert "Traceback" not in told


@pytest.mark.parametrize(
    ("argv", "settings", "told"),
    [
        (["--read-only", "cancel", "1", "--yes"], "", "read-only"),
        (["cancel", "1", "--yes"], "version = 1\nread_only = true\n", "read-only"),
        (["cancel", "1", "--yes"], "version = 1\nforbid_unattended = true\n", "Leave --yes out"),
        (["cancel", "99", "--yes"], "", "no job 99"),
        (["cancel", "1", "2", "3", "--yes"], "version = 1\nmax_targets = 2\n", "more than the 2"),
    ],
)
def test_refused_is_1_with_the_reason(
    run: Run, backend: MemoryBackend, capsys: pytest.CaptureFixture[str], argv: list[str], settings: str, told: str
) -> None:
    assert run(*argv, settings=settings) == 1
    assert backend.sent == []
    assert told in capsys.readouterr().err


def test_a_read_that_is_refused_is_1(run: Run, backend: MemoryBackend) -> None:
    backend.error = Forbidden("not for you")
    assert run("nodes") == 1


def test_a_dry_run_sends_nothing(run: Run, backend: MemoryBackend, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("submit", "--name", "x", "--memory", "4GiB", "--dry-run", "--", "echo", "a b") == 0
    assert backend.sent == []
    told = capsys.readouterr().out
    assert "4294967296" in told and "Nothing was sent." in told


def test_a_submit_says_the_id(run: Run, backend: MemoryBackend, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("submit", "--yes", "--json", "--cores", "2", "--walltime", "01:30", "--", "echo", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["result"] == "accepted"
    made = told["outcomes"][0]["created"]
    assert made.startswith("demo/")
    assert backend.job(made.removeprefix("demo/")).owner == "alice"
    assert backend.sent[0].body is not None
    spec = json.loads(backend.sent[0].body)["parameters"]["spec"]
    assert (spec["command"], spec["cores"], spec["walltime_seconds"]) == (["echo", "--json"], 2, 5400)


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["submit", "--yes"], "either a command or a script"),
        (["submit", "--yes", "--script", "absent.sh"], "absent.sh"),
        (["submit", "--yes", "--env", "NOVALUE", "--", "x"], "NAME=VALUE"),
        (["submit", "--yes", "--cores", "0", "--", "x"], "cores must be at least 1"),
        (["cancel", "--yes", "--signal", "no such", "1"], "signal"),
        (["drain", "--yes", "node-1", "--reason", ""], "reason"),
        (["drain", "--yes", "node-1", "--reason", "a\x1bb"], "reason"),
        (["--cluster", "dmo", "jobs"], "did you mean demo?"),
    ],
)
def test_wrong_usage_is_2(
    run: Run, backend: MemoryBackend, capsys: pytest.CaptureFixture[str], argv: list[str], told: str
) -> None:
    assert run(*argv) == 2
    assert backend.sent == []
    error = capsys.readouterr().err
    assert told in error
    assert "\x1b" not in error and "Traceback" not in error


def test_drain_undrain_and_quota(run: Run, backend: MemoryBackend) -> None:
    assert run("drain", "node-1", "--reason", "disk", "--yes") == 0
    assert (backend.node("node-1").status, backend.node("node-1").reason) == ("drain", "disk")
    assert run("undrain", "node-1", "--yes") == 0
    assert backend.node("node-1").status == "idle"
    assert run("quota", "node-1", "0", "--yes") == 0
    assert backend.node("node-1").slots_quota == 0
    assert run("quota", "node-1", "none", "--yes") == 0
    assert backend.node("node-1").slots_quota is None


def test_reads(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("jobs", "--json") == 0
    assert [json.loads(line)["id"] for line in capsys.readouterr().out.splitlines()] == ["1", "2", "3", "4"]
    assert run("job", "1", "--json") == 0
    assert json.loads(capsys.readouterr().out)["name"] == "train"
    assert run("job", "99") == 1
    assert "There is no job 99." in capsys.readouterr().err
    assert run("logs", "1") == 0
    assert capsys.readouterr().out == "line 1\nline 2\n"
    assert run("metrics") == 0
    assert "2 running" in capsys.readouterr().out
    assert run("queues") == 0
    assert "No queues." in capsys.readouterr().err
    assert run("nodes", "--status", "idle") == 0
    assert "node-1" in capsys.readouterr().out
    assert run("keys", "list") == 1
    assert "no API keys" in capsys.readouterr().err


def test_audit_commands(run: Run, state_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("audit", "verify") == 1
    assert "there is no audit log" in capsys.readouterr().err
    assert run("cancel", "1", "--yes") == 0
    capsys.readouterr()
    assert run("audit", "verify") == 0
    assert capsys.readouterr().out.startswith("holds  ")
    assert run("audit", "tail", "-n", "1", "--json") == 0
    assert json.loads(capsys.readouterr().out)["outcome"] == "accepted"
    assert run("audit", "tail") == 0
    assert "cancel" in capsys.readouterr().out
    assert run("audit", "export", "--format", "csv", "--until", "2001-01-01") == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
    log = next((state_dir / "audit").glob("*.jsonl"))
    log.write_text(log.read_text().replace("alice", "mallo"))
    assert run("audit", "verify") == 1
    told = capsys.readouterr().out
    assert told.startswith("BROKEN") and "was altered" in told


def test_doctor_says_what_is_wrong(run: Run, backend: MemoryBackend, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("doctor") == 0
    told = capsys.readouterr().out
    assert "cluster demo: memory 1, answers in " in told and "you are alice (cluster_admin)" in told
    backend.error = Unreachable("nothing answers", "Start it.")
    assert run("doctor", "--json") == 3
    checks = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert checks[-1]["state"] == "bad" and checks[-1]["hint"] == "Start it."


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ('[keys]\n"job.cancl" = "F5"\n', "keys.job.cancl: there is no command 'job.cancl'"),
        ('[keys]\n"job.cancel" = "H"\n', "keys.job.cancel: "),
        ('[themes.x]\nbased_on = "foo"\n', "themes.x: based_on: there is no theme 'foo'"),
    ],
    ids=["unknown command", "clash", "theme"],
)
def test_what_only_the_console_would_meet_is_checked_too(
    run: Run, capsys: pytest.CaptureFixture[str], settings: str, said: str
) -> None:
    code = run("config", "check", settings=f"version = 1\n{settings}")
    told = capsys.readouterr()
    assert code == 2 and said in told.err + told.out


@pytest.mark.parametrize("command", [["config", "check"], ["doctor"], ["jobs"]])
def test_a_malformed_configuration_is_2_with_file_line_and_key(
    run: Run, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    code = run(*command, settings='version = 1\ndefault_clutser = "demo"\n')
    told = capsys.readouterr()
    assert code == 2
    assert "config.toml, line 2: default_clutser: unknown key; did you mean default_cluster?" in told.err + told.out
