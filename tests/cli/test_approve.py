"""`pilothouse approve`: what agents left is listed, shown, answered once, and refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from adapters.intents import CancelJob, SetNodeQuota
from adapters.model import Job, Node, Ref
from console.__main__ import main
from console.audit import AuditLog
from console.engine import Engine
from console.gate import PlanFiles, Prepared
from tests.console.conftest import config
from tests.doubles.memory_backend import MemoryBackend

ROWS = (Job("1", "train", "running", owner="alice"), Node("node-1", "idle", slots_used=0, slots_total=8))
CANCEL = CancelJob(cluster="demo", refs=(Ref("demo", "job", "1"),), origin="mcp")
QUOTA = SetNodeQuota(cluster="demo", refs=(Ref("demo", "node", "node-1"),), slots=2, origin="mcp")
Run = Callable[..., int]


@pytest.fixture
def backend() -> MemoryBackend:
    return MemoryBackend(rows=ROWS)


@pytest.fixture
def run(backend: MemoryBackend, tmp_path: Path, state_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs one command line on the double. `answers` are what a person at the terminal types."""
    file = tmp_path / "config.toml"
    file.write_text('version = 1\n[clusters.demo]\ntype = "native"\nurl = "http://127.0.0.1:1"\n')
    monkeypatch.setattr("console.engine.Engine", partial(Engine, open_with=backend.open))
    monkeypatch.setattr("console.gate.verify.PUSHED", (0.01, 0.05, 0.1))

    def command(*argv: str, answer: str | None = None) -> int:
        async def typed() -> str:
            return f"{answer}\n"

        monkeypatch.setattr("console.cli.writing.can_ask", lambda: answer is not None)
        monkeypatch.setattr("console.cli.ask._line", typed)
        monkeypatch.setattr("console.cli.ask.termios.tcflush", lambda *_: None)
        monkeypatch.setattr("console.cli.ask.sys.stdin", Path(file).open())  # noqa: SIM115
        try:
            return main(["--config", str(file), *argv])
        except SystemExit as end:
            return int(str(end.code))

    return command


async def _prepared(backend: MemoryBackend, intent: CancelJob | SetNodeQuota, folder: Path) -> Prepared:
    audit = AuditLog(folder / "another")
    async with Engine(config(), feeds=False, audit=audit, open_with=backend.open) as engine:
        return await engine.gate.prepare(intent)


@pytest.fixture
def filed(backend: MemoryBackend, tmp_path: Path, state_dir: Path) -> Callable[..., str]:
    """Leaves a plan as an MCP server does; returns its id."""

    def put(intent: CancelJob | SetNodeQuota = CANCEL, said: str = "") -> str:
        import asyncio

        prepared = asyncio.run(_prepared(backend, intent, tmp_path))
        return PlanFiles().put(prepared, said).plan_id

    return put


def kinds(state_dir: Path) -> list[str]:
    lines = [line for log in (state_dir / "audit").glob("*.jsonl") for line in log.read_text().splitlines()]
    return [json.loads(line)["kind"] for line in lines]


def test_nothing_waits(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("approve") == 0
    assert capsys.readouterr().out == "No plan waits.\n"


def test_the_list_and_a_look(
    run: Run, filed: Callable[..., str], backend: MemoryBackend, capsys: pytest.CaptureFixture[str]
) -> None:
    id = filed()
    assert run("approve") == 0
    assert capsys.readouterr().out.startswith(f"{id[:8]}  ")
    assert run("approve", id[:8], "--show") == 0
    assert "POST /memory/cancel" in capsys.readouterr().out
    assert run("approve", "--json") == 0
    assert json.loads(capsys.readouterr().out)["plan_id"] == id
    assert backend.sent == []


def test_a_yes_sends_it_once(
    run: Run, filed: Callable[..., str], backend: MemoryBackend, state_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    id = filed(said="It is stuck.\x1b[2J")
    assert run("approve", id, answer="y") == 0
    told = capsys.readouterr()
    assert "The agent says (not checked): It is stuck.␛[2J" in told.out
    assert backend.job("1").status == "cancelled" and len(backend.sent) == 1
    assert run("approve", id, answer="y") == 1
    assert "No plan waits under" in capsys.readouterr().err
    assert len(backend.sent) == 1
    assert kinds(state_dir)[-2:] == ["intent", "result"]


def test_an_operators_action_needs_the_name(run: Run, filed: Callable[..., str], backend: MemoryBackend) -> None:
    assert run("approve", filed(QUOTA), answer="y") == 1
    assert backend.sent == []
    assert run("approve", filed(QUOTA), answer="node-1") == 0
    assert backend.node("node-1").slots_quota == 2


@pytest.mark.parametrize("answer", ["n", ""])
def test_a_no_uses_it_up(
    run: Run, filed: Callable[..., str], backend: MemoryBackend, state_dir: Path, answer: str
) -> None:
    id = filed()
    assert run("approve", id, answer=answer) == 1
    assert run("approve", id, answer="y") == 1
    assert backend.sent == [] and "declined" in kinds(state_dir)


def test_a_denial_is_on_record(run: Run, filed: Callable[..., str], backend: MemoryBackend, state_dir: Path) -> None:
    assert run("approve", filed(), "--deny", "not now") == 0
    assert kinds(state_dir) == ["declined"] and PlanFiles().waiting() == []


def test_nobody_agrees_beforehand_to_what_an_agent_wants(
    run: Run, filed: Callable[..., str], backend: MemoryBackend, state_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("approve", filed(), "--yes") == 1
    assert "needs a person's answer" in capsys.readouterr().err
    assert backend.sent == [] and kinds(state_dir) == ["refused"]
    (waiting,) = PlanFiles().waiting()  # whoever tried that did not use it up
    assert run("approve", waiting.plan_id, answer="y") == 0
    assert len(backend.sent) == 1 and PlanFiles().waiting() == []


def test_without_a_terminal_it_goes_on_waiting(
    run: Run, filed: Callable[..., str], backend: MemoryBackend, capsys: pytest.CaptureFixture[str]
) -> None:
    filed()
    assert run("approve", PlanFiles().waiting()[0].plan_id) == 2
    assert len(PlanFiles().waiting()) == 1 and backend.sent == []
    told = capsys.readouterr().err
    assert "A person answers it on a terminal" in told and "--yes" not in told


def test_a_file_that_claims_to_come_from_a_person_gains_nothing(
    run: Run, filed: Callable[..., str], backend: MemoryBackend, state_dir: Path
) -> None:
    id = filed(QUOTA)
    file = state_dir / "plans" / f"{id}.json"
    file.write_text(file.read_text().replace('"origin": "mcp"', '"origin": "key"'))
    assert PlanFiles().get(id).intent.by_agent
    assert run("approve", id, answer="y") == 1
    assert backend.sent == []


@pytest.mark.parametrize("argv", [["--show"], ["--deny"], ["zz", "--show", "--deny"]])
def test_wrong_usage(run: Run, argv: list[str]) -> None:
    assert run("approve", *argv) == 2
