"""The whole way on a real Slurm: engine, store and gate, each write with its pair of lines in the audit log."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from adapters.intents import (
    CancelJob,
    DrainNode,
    HoldJob,
    Intent,
    ModifyJob,
    ReleaseJob,
    RequeueJob,
    ResumeJob,
    SetNodeQuota,
    SubmitJob,
    SuspendJob,
)
from adapters.model import Job, JobSpec
from console.audit import AuditLog, verify
from console.config import load
from console.engine import Engine
from console.gate import Approval, Operation, Refused
from tests.console.waiting import until
from tests.rigs.slurm.rig import Rig
from tests.slurm.support import CLUSTER, job, node

pytestmark = pytest.mark.rig


@pytest_asyncio.fixture
async def engine(
    rig: Rig, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Engine]:
    """The console's engine on the rig with the commands of alice; or of the person that the test is parametrized with,
    as whom the whole console then runs."""
    person = getattr(request, "param", "alice")
    if person != "alice":
        monkeypatch.setattr("adapters.slurm.facts.login_name", lambda: person)
    file = tmp_path / "config.toml"
    file.write_text(
        f'version = 1\ndefault_cluster = "{CLUSTER}"\n[clusters.{CLUSTER}]\ntype = "slurm"\nowner = "{person}"\n'
        f'slurm_conf = "{rig.folder}/etc/slurm.conf"\nbin_dir = "{rig.bin_dir(person)}"\ncalls_per_minute = 6000\n'
    )
    config = load(file, site=tmp_path / "none")
    async with Engine(config, audit=AuditLog(tmp_path / "audit")) as engine:
        await until(lambda: engine.store.state(CLUSTER, "job").loaded and engine.store.count("node"), 30)
        yield engine


async def run(engine: Engine, intent: Intent) -> Operation:
    prepared = await engine.gate.prepare(intent)
    typed = prepared.confirm.expected if prepared.confirm.how == "type" else None
    operation = await engine.gate.execute(prepared, Approval("dialog", typed, prepared.digest))
    await operation.wait()
    await operation.wait_verified()
    return operation


async def test_the_rows_are_those_of_squeue(rig: Rig, engine: Engine) -> None:
    def shown() -> set[str]:
        return set(rig.run("alice", "squeue", "-h", "-a", "-t", "all", "-o", "%i").decode().split())

    def ids() -> set[str]:
        engine.refresh()
        return {row.id for row in engine.store.rows("job")}

    await until(lambda: ids() == shown(), 30)


async def test_each_write_works_or_is_refused_as_slurm_would_and_is_on_record(rig: Rig, engine: Engine) -> None:
    submitted = await run(
        engine,
        SubmitJob(
            cluster=CLUSTER,
            spec=JobSpec(command=("sleep", "600"), name="gated", hold=True, cwd=str(rig.folder / "out")),
        ),
    )
    assert submitted.result == "accepted", submitted.outcomes
    created = submitted.outcomes[0].created
    assert created is not None
    reader = engine.reader(CLUSTER)
    ref = (await reader.get_job(created.id)).ref
    running = rig.submit("alice", "--requeue", "-w", "n03")
    rig.until_state(running, "RUNNING")
    for intent in (
        ReleaseJob(cluster=CLUSTER, refs=(ref,)),
        HoldJob(cluster=CLUSTER, refs=(ref,)),
        ModifyJob(cluster=CLUSTER, refs=(ref,), name="gated-2", walltime_seconds=600),
        RequeueJob(cluster=CLUSTER, refs=((await reader.get_job(running)).ref,)),
    ):
        if intent.verb == "hold":
            ref = (await reader.get_job(created.id)).ref
        assert (await run(engine, intent)).result == "accepted", intent
    changed = await reader.get_job(created.id)
    assert isinstance(changed, Job) and (changed.name, changed.walltime_seconds) == ("gated-2", 600)
    cancelled = await run(engine, CancelJob(cluster=CLUSTER, refs=(changed.ref,)))
    assert cancelled.result == "accepted" and list(cancelled.steps[0].verified.values()) == ["confirmed"]
    for intent in (
        DrainNode(cluster=CLUSTER, refs=(node("n03"),), reason="no"),
        SetNodeQuota(cluster=CLUSTER, refs=(node("n04"),), slots=20),
        CancelJob(cluster=CLUSTER, refs=(job(_of_bob(rig)),)),
    ):
        refused = await run(engine, intent)
        assert refused.result == "refused"
        assert {outcome.error for outcome in refused.outcomes} == {"forbidden"}, refused.outcomes
    rig.run("alice", "scancel", running)
    log = engine.audit.paths.log
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    intents = [line["action"] for line in lines if line["kind"] == "intent"]
    results = [line["action"] for line in lines if line["kind"] == "result"]
    assert intents == results == [
        "submit", "release", "hold", "modify", "requeue", "cancel", "drain", "set_node_quota", "cancel",
    ]  # fmt: skip
    assert verify(log).ok


@pytest.mark.parametrize("engine", ["bob"], indirect=True)
async def test_a_coordinator_acts_on_jobs_of_the_account_and_on_no_others(rig: Rig, engine: Engine) -> None:
    """bob coordinates bio: carol's jobs there are his to hold, change, requeue and end; alice's in physics are not."""
    members = rig.submit("carol", "-A", "bio", "--begin=now+5hours")
    reader = engine.reader(CLUSTER)
    for intent in (HoldJob, ReleaseJob, lambda **named: ModifyJob(name="renamed", **named), CancelJob):
        ref = (await reader.get_job(members)).ref
        operation = await run(engine, intent(cluster=CLUSTER, refs=(ref,)))
        assert operation.result == "accepted", operation.outcomes
    running = rig.submit("carol", "-A", "bio", "-w", "n03", "--requeue")
    rig.until_state(running, "RUNNING")
    ref = (await reader.get_job(running)).ref
    if rig.release >= (24, 11):
        for verb in (SuspendJob, ResumeJob):
            assert (await run(engine, verb(cluster=CLUSTER, refs=(ref,)))).result == "accepted"
    else:
        with pytest.raises(Refused, match="only operators suspend"):
            await engine.gate.prepare(SuspendJob(cluster=CLUSTER, refs=(ref,)))
    assert (await run(engine, RequeueJob(cluster=CLUSTER, refs=(ref,)))).result == "accepted"
    others = rig.submit("alice", "-A", "physics", "--begin=now+5hours")
    with pytest.raises(Refused, match="belongs to alice"):
        await engine.gate.prepare(CancelJob(cluster=CLUSTER, refs=(job(others),)))
    rig.run("root", "scancel", running, others)


def _of_bob(rig: Rig) -> str:
    return rig.submit("bob", "-A", "physics", "--begin=now+5hours")
