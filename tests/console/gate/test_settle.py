"""Writes that an earlier run left without a result are looked up and closed with a line."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from adapters.base import Unreachable
from adapters.intents import CancelJob, SubmitJob
from adapters.model import JobSpec, Ref
from console.audit import AuditLog, verify
from console.audit.process import still_runs, this_process
from console.engine import Engine
from console.gate import Approval
from console.gate.settle import dangling, settle
from tests.console.conftest import config
from tests.console.waiting import until
from tests.doubles.memory_backend import MemoryBackend


async def left_behind(backend: MemoryBackend, audit: AuditLog, intent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a write whose process ends after the request and before the result line."""
    ended = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await ended.wait()
    whole = audit.append

    def no_result(kind: str, **fields: Any) -> Any:
        return whole(kind, **fields) if kind == "intent" else None

    with monkeypatch.context() as patch:
        patch.setattr("console.audit.log.this_process", lambda: {"pid": ended.pid, "started": 1})
        patch.setattr(audit, "append", no_result)
        settings = config()
        async with Engine(settings, feeds=False, settle=False, audit=audit, open_with=backend.open) as engine:
            prepared = await engine.gate.prepare(intent)
            operation = await engine.gate.execute(prepared, Approval("dialog"))
            await operation.wait()


def submit() -> SubmitJob:
    return SubmitJob(cluster="demo", spec=JobSpec(command=("true",)))


def cancel() -> CancelJob:
    return CancelJob(cluster="demo", refs=(Ref("demo", "job", "1"),))


async def test_a_submit_is_found_by_its_intent(
    backend: MemoryBackend, audit: AuditLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    await left_behind(backend, audit, submit(), monkeypatch)
    assert len(dangling(audit.records())) == 1
    async with Engine(config(), feeds=False, audit=audit, open_with=backend.open) as engine:
        await until(lambda: engine.gate.settled)
        (line,) = engine.gate.settled
    assert (line["kind"], line["closed_by"], line["outcome"]) == ("result", "lookup", "accepted")
    assert line["message"].startswith("It was done: the backend has 107")
    assert dangling(audit.records()) == [] and verify(audit.paths.log).ok
    assert len(backend.sent) == 1, "it is never sent again"


async def test_a_submit_that_never_arrived(
    backend: MemoryBackend, audit: AuditLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend.answers.append("lost")
    await left_behind(backend, audit, submit(), monkeypatch)
    reader, _ = backend.open()
    (line,) = await settle(audit, {"demo": reader})
    assert line["outcome"] == "unknown" and line["message"] == "The backend shows nothing that came of it."


async def test_what_became_of_a_target_is_said(
    backend: MemoryBackend, audit: AuditLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    await left_behind(backend, audit, cancel(), monkeypatch)
    reader, _ = backend.open()
    (line,) = await settle(audit, {"demo": reader})
    assert "job 1 is cancelled" in line["message"] and line["states"] == {"job 1": "cancelled"}


async def test_a_cluster_that_cannot_be_read_waits(
    backend: MemoryBackend, audit: AuditLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    await left_behind(backend, audit, cancel(), monkeypatch)
    reader, _ = backend.open()
    backend.error = Unreachable("no route")
    assert await settle(audit, {"demo": reader}) == []
    assert await settle(audit, {}) == []
    backend.error = None
    assert len(await settle(audit, {"demo": reader})) == 1


async def test_two_consoles_that_start_at_once_close_it_once(
    backend: MemoryBackend, audit: AuditLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    await left_behind(backend, audit, cancel(), monkeypatch)
    reader, _ = backend.open()
    logs = [AuditLog(audit.paths.folder) for _ in range(3)]
    lines = await asyncio.gather(*(settle(log, {"demo": reader}) for log in logs))
    assert sum(len(written) for written in lines) == 1


async def test_a_write_of_a_console_that_still_runs_is_left_alone(
    engine: Engine, backend: MemoryBackend, audit: AuditLog
) -> None:
    backend.gate = asyncio.Event()
    prepared = await engine.gate.prepare(cancel())
    operation = await engine.gate.execute(prepared, Approval("dialog"))
    assert dangling(audit.records()) == []
    backend.gate.set()
    await operation.wait()


def test_which_processes_still_run() -> None:
    assert still_runs(this_process())
    assert not still_runs({"pid": 0}) and not still_runs({}) and not still_runs({"pid": "1"})
    if Path("/proc/self/stat").exists():
        assert not still_runs({**this_process(), "started": 1}), "the id was given out again"
