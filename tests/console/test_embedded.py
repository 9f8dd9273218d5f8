"""Engine, store and gate on a real embedded cluster: a real server, real workers, real jobs."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters.intents import CancelJob, DrainNode, Intent, SetNodeQuota, SubmitJob, UndrainNode, request_digest
from adapters.local.launch import EmbeddedCluster, launch
from adapters.model import Job, JobSpec, Node, Ref
from console.audit import AuditLog, verify
from console.config import load
from console.engine import Engine
from console.gate import Approval, Operation, PlanChanged
from tests.console.waiting import until


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with launch(workers=1, slots=4) as cluster:
        yield cluster


@pytest.fixture
async def engine(cluster: EmbeddedCluster, tmp_path: Path) -> AsyncIterator[Engine]:
    config = load(cluster.config, site=tmp_path / "none")
    async with Engine(config, audit=AuditLog(tmp_path / "audit")) as engine:
        await until(lambda: engine.store.state("demo", "job").loaded and engine.store.count("node"), 20)
        yield engine


async def run(engine: Engine, intent: Intent, typed: str | None = None) -> Operation:
    prepared = await engine.gate.prepare(intent)
    assert prepared.confirm.accepts(typed)
    operation = await engine.gate.execute(prepared, Approval("dialog", typed, prepared.digest))
    await operation.wait()
    return operation


def node(engine: Engine) -> Node:
    (row,) = engine.store.rows("node")
    assert isinstance(row, Node)
    return row


def job(engine: Engine, ref: Ref) -> Job | None:
    row = engine.store.row(ref)
    assert row is None or isinstance(row, Job)
    return row


def submit(seconds: float) -> SubmitJob:
    command = (sys.executable, "-c", f"import time; time.sleep({seconds})")
    return SubmitJob(cluster="demo", spec=JobSpec(command=command, name="sleeper", cores=1))


async def test_a_quota_travels_to_the_node_and_back_to_the_row(engine: Engine) -> None:
    ref = node(engine).ref
    operation = await run(engine, SetNodeQuota(cluster="demo", refs=(ref,), slots=2))
    assert operation.result == "accepted", operation.outcomes
    await until(lambda: node(engine).slots_quota == 2)
    await operation.wait_verified()
    assert operation.steps[0].verified == {ref: "confirmed"}
    await until(lambda: engine.store.marked(ref) is None)
    assert (await run(engine, SetNodeQuota(cluster="demo", refs=(ref,), slots=None))).result == "accepted"
    await until(lambda: node(engine).slots_quota is None)


async def test_a_job_is_submitted_seen_running_and_cancelled(engine: Engine) -> None:
    operation = await run(engine, submit(60))
    assert operation.result == "accepted", operation.outcomes
    ref = operation.outcomes[0].created
    assert ref is not None
    await until(lambda: (row := job(engine, ref)) is not None and row.status == "running", 30)
    cancelled = await run(engine, CancelJob(cluster="demo", refs=(ref,)))
    assert cancelled.result == "accepted", cancelled.outcomes
    await until(lambda: (row := job(engine, ref)) is not None and row.status == "cancelled", 30)
    await cancelled.wait_verified()
    assert list(cancelled.steps[0].verified.values()) == ["confirmed"]


async def test_what_left_is_what_is_on_record(engine: Engine) -> None:
    from adapters import outgoing

    sent: list[Any] = []
    end = outgoing.observe(lambda cluster, request: sent.append((cluster, request_digest(request))))
    try:
        ref = node(engine).ref
        await run(engine, DrainNode(cluster="demo", refs=(ref,), reason="bad\u202efan"))
        await until(lambda: node(engine).status == "drain")
        await run(engine, UndrainNode(cluster="demo", refs=(ref,)))
        await until(lambda: node(engine).status != "drain")
    finally:
        end()
    intents = [record for record in engine.audit.records() if record["kind"] == "intent"]
    assert [("demo", record["request_digest"]) for record in intents] == sent and len(sent) == 2
    assert verify(engine.audit.paths.log).ok
    assert intents[0]["identity"]["role"] == "cluster_admin"
    assert "xce_ak_" not in engine.audit.paths.log.read_text()


async def test_two_operators_at_once(engine: Engine, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    ref = node(engine).ref
    prepared = await engine.gate.prepare(SetNodeQuota(cluster="demo", refs=(ref,), slots=1))
    config = load(cluster.config, site=tmp_path / "none")
    async with Engine(config, feeds=False, audit=AuditLog(tmp_path / "other")) as other:
        assert (await run(other, SetNodeQuota(cluster="demo", refs=(ref,), slots=3))).result == "accepted"
    with pytest.raises(PlanChanged, match="slots quota was not set and is 3 now") as again:
        await engine.gate.execute(prepared, Approval("dialog"))
    operation = await engine.gate.execute(again.value.prepared, Approval("dialog"))
    await operation.wait()
    assert operation.result == "accepted"
    await run(engine, SetNodeQuota(cluster="demo", refs=(ref,), slots=None))


async def test_a_server_that_goes_and_comes_back(tmp_path: Path) -> None:
    """The pane says so, keeps its rows, and recovers by itself."""
    with launch(workers=0) as cluster:
        config = load(cluster.config, site=tmp_path / "none")
        async with Engine(config, audit=AuditLog(tmp_path / "audit")) as engine:
            assert (await run(engine, submit(1))).result == "accepted"
            await until(lambda: engine.store.count("job") == 1, 20)
            assert cluster.server is not None
            cluster.server.end(9)
            cluster.server.wait(10)
            await until(lambda: engine.store.state("demo", "job").label in ("stale", "failed"), 20)
            state = engine.store.state("demo", "job")
            assert state.error is not None and state.error.message and engine.store.count("job") == 1
            cluster.restart_server()
            await until(lambda: engine.store.state("demo", "job").label == "live", 60)
            assert engine.store.count("job") == 1
