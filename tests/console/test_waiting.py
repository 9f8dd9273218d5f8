"""What waits: both kinds are counted, a file is used once, a denial is on record."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.intents import CancelJob
from console.audit import AuditLog
from console.engine import Engine
from console.gate import PlanFiles, Refused, WaitingPlan
from console.waiting import Waiting
from tests.doubles.memory_backend import MemoryBackend


@pytest.fixture
def waiting(engine: Engine, audit: AuditLog, tmp_path: Path) -> Waiting:
    return Waiting(engine.gate.agents.inbox, PlanFiles(tmp_path / "plans"), audit)


async def filed(engine: Engine, backend: MemoryBackend, waiting: Waiting) -> WaitingPlan:
    ref = next(row.ref for row in backend.rows.values() if row.ref.kind == "job")
    prepared = await engine.gate.prepare(CancelJob(cluster="demo", refs=(ref,), origin="mcp"))
    plan = waiting.files.put(prepared, "please")
    await waiting.look()
    return plan


async def test_nothing_waits_where_there_is_no_folder(waiting: Waiting) -> None:
    await waiting.look()
    assert len(waiting) == 0


async def test_both_kinds_count(engine: Engine, backend: MemoryBackend, waiting: Waiting) -> None:
    plan = await filed(engine, backend, waiting)
    assert len(waiting) == 1
    engine.gate.agents.inbox.add(await engine.gate.prepare(plan.intent), "t.1")
    assert len(waiting) == 2


async def test_a_plan_is_taken_once(engine: Engine, backend: MemoryBackend, waiting: Waiting) -> None:
    plan = await filed(engine, backend, waiting)
    await waiting.take(plan)
    assert len(waiting) == 0
    with pytest.raises(Refused, match="already answered"):
        await waiting.take(plan)


async def test_a_denial_is_on_record(engine: Engine, backend: MemoryBackend, waiting: Waiting, audit: AuditLog) -> None:
    plan = await filed(engine, backend, waiting)
    await waiting.deny(plan, "not\x1b[2J now")
    line = [record for record in audit.records() if record["kind"] == "declined"][-1]
    assert (line["plan_id"], line["message"], line["origin"]) == (plan.plan_id, "not␛[2J now", "mcp")
    assert not waiting.files.waiting()
