"""slurmrestd of a real Slurm: the same rows as by the commands, and its writes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from adapters.base import (
    Delta,
    Forbidden,
    Interest,
    InterestCell,
    Invalid,
    NotFound,
    Unauthenticated,
    Unreachable,
    Unsupported,
)
from adapters.intents import (
    CancelJob,
    DrainNode,
    HoldJob,
    ModifyJob,
    Outcome,
    ReleaseJob,
    SetNodeQuota,
    Step,
    SubmitJob,
    UndrainNode,
)
from adapters.model import Job, JobSpec
from adapters.plan import HttpRequest
from adapters.polling import CallMeter
from adapters.slurm.rest_client import RestClient
from adapters.slurm.rest_reader import RestReader
from adapters.slurm.rest_writer import RestWriter
from tests.rigs.slurm.rig import Rig
from tests.slurm.support import CLUSTER, job, node, open_as, until_true

pytestmark = pytest.mark.rig
SAME = ("name", "status", "queue", "nodes", "cores", "gpus", "memory_bytes", "walltime_seconds", "dependencies",
        "submission_time", "start_time", "exit_code", "owner", "node_names", "array")  # fmt: skip


@pytest.fixture
def rig(rig: Rig) -> Rig:
    """The cluster, where its slurmrestd speaks a version that the adapter speaks too."""
    if rig.release < (21, 8):
        pytest.skip("slurmrestd of 20.11 speaks v0.0.35 and v0.0.36; the adapter speaks v0.0.38 and later")
    return rig


def client_of(rig: Rig, user: str) -> RestClient:
    token = rig.run("root", "scontrol", "token", f"username={user}", "lifespan=3600").decode().partition("=")[2].strip()
    return RestClient(CLUSTER, CallMeter(limit=None), url=rig.rest_url, token=lambda: token, user=user)


@pytest_asyncio.fixture
async def rest(rig: Rig) -> AsyncIterator[tuple[RestReader, RestWriter]]:
    client = client_of(rig, "alice")
    reader = RestReader(client, "alice", intervals=(0.3, 0.3))
    yield reader, RestWriter(client, reader)
    await reader.close()


async def test_jobs_are_those_of_the_commands(rig: Rig, rest: tuple[RestReader, RestWriter]) -> None:
    by_rest = {row.id: row for row in await rest[0].list_jobs()}
    by_command = {row.id: row for row in await open_as(rig, "alice")[0].list_jobs()}
    # A folded array's range comes in other words (1-199:2, or each element): its elements are compared by count below.
    folded = {id for id in by_command if "_[" in id}
    assert {id for id in by_rest if "_[" not in id} == by_command.keys() - folded
    assert {id.split("_")[0] for id in by_rest if "_[" in id} == {id.split("_")[0] for id in folded}
    wrong = [
        (id, name, getattr(by_rest[id], name), getattr(row, name))
        for id, row in by_command.items()
        if id not in folded
        for name in SAME
        if getattr(by_rest[id], name) != getattr(row, name) and not _known(name, by_rest[id], row)
    ]
    assert wrong == []


def _known(name: str, by_rest: Job, by_command: Job) -> bool:
    """Bytes that are no UTF-8 do not survive slurmrestd's JSON in every version."""
    return name == "name" and ("\\x" in by_command.name or "\ufffd" in by_rest.name or "<U+" in by_command.name)


async def test_nodes_and_partitions_are_those_of_the_commands(rig: Rig, rest: tuple[RestReader, RestWriter]) -> None:
    reader, _ = open_as(rig, "alice")
    names = ("name", "status", "cores_total", "cores_used", "memory_bytes_total", "memory_bytes_used", "gpu_count",
             "gpus_used", "features", "reason", "slots_quota")  # fmt: skip
    by_rest, by_command = await rest[0].list_nodes(), await reader.list_nodes()
    assert sorted([[getattr(row, name) for name in names] for row in by_rest], key=str) == sorted(
        [[getattr(row, name) for name in names] for row in by_command], key=str
    )
    facts = ("name", "status", "node_count", "max_walltime_seconds", "default_resources", "running_jobs")
    assert sorted([[getattr(q, name) for name in facts] for q in await rest[0].list_queues()], key=str) == sorted(
        [[getattr(q, name) for name in facts] for q in await reader.list_queues()], key=str
    )


async def test_one_job_its_history_and_what_is_not_there(rig: Rig, rest: tuple[RestReader, RestWriter]) -> None:
    reader, _ = rest
    row = next(each for each in await reader.list_jobs() if each.name == "train-a100")
    detail = await reader.get_job(row.id)
    assert (detail.gpus, detail.extensions["work_dir"]) == (2, str(rig.folder / "out"))
    with pytest.raises(NotFound, match="no job 999999"):
        await reader.get_job("999999")
    history = {each.name: each for each in await reader.history()}
    assert history["segv"].status == "failed" and len(history["mpi-2x12"].node_names) == 2
    version = await reader.client.version()
    assert history["exit3"].exit_code == (3 if version > 38 else None), "22.05 calls exit code 3 a success"


async def send_all(writer: RestWriter, intent) -> list[Outcome]:  # type: ignore[no-untyped-def]
    plan = await writer.plan(intent)
    return [outcome for step in plan.steps for outcome in await writer.send(step)]


async def test_a_job_from_submission_to_its_end(rig: Rig, rest: tuple[RestReader, RestWriter]) -> None:
    reader, writer = rest
    intent = SubmitJob(cluster=CLUSTER, spec=JobSpec(script="#!/bin/sh\nsleep 300\n", name="by [b]rest[/b]", hold=True,
                       cwd=str(rig.folder / "out"), queue="batch", walltime_seconds=300,
                       memory_bytes=20 * 2**20, cores=2))  # fmt: skip
    (outcome,) = await send_all(writer, intent)
    assert outcome.result == "accepted" and outcome.created is not None, outcome
    made = await reader.get_job(outcome.created.id)
    assert (made.name, made.status, made.walltime_seconds, made.cores) == ("by [b]rest[/b]", "pending", 300, 2)
    assert await reader.find_intent(str(intent.intent_id)) == [made.ref]
    renamed = await reader.client.version() > 38
    if not renamed:
        with pytest.raises(Invalid, match="does not change it"):
            await writer.plan(ModifyJob(cluster=CLUSTER, refs=(made.ref,), name="other"))
    for change in (
        ModifyJob(cluster=CLUSTER, refs=(made.ref,), name="other" if renamed else None, walltime_seconds=600),
        ReleaseJob(cluster=CLUSTER, refs=(made.ref,)),
        HoldJob(cluster=CLUSTER, refs=(made.ref,)),
    ):
        (outcome,) = await send_all(writer, change)
        assert outcome.result == "accepted", (change, outcome)
    changed = await reader.get_job(made.id)
    assert (changed.name, changed.walltime_seconds) == ("other" if renamed else made.name, 600)
    plan = await writer.plan(CancelJob(cluster=CLUSTER, refs=(changed.ref,)))
    assert isinstance(plan.steps[0].request, HttpRequest) and plan.steps[0].request.method == "DELETE"
    (outcome,) = await writer.send(plan.steps[0])
    assert outcome.result == "accepted"
    await until_true(lambda: _finished(reader, made.id))


async def _finished(reader: RestReader, id: str) -> bool:
    return (await reader.get_job(id)).finished


async def test_refusals_wherever_they_stand(rig: Rig, rest: tuple[RestReader, RestWriter]) -> None:
    _, writer = rest
    version = await writer._client.version()
    (missing,) = await writer.send(Step(HttpRequest("DELETE", f"/slurm/v0.0.{version}/job/999999")))
    assert (missing.result, missing.error) == ("refused", "not_found"), missing
    others = rig.submit("bob", "-A", "physics", "--hold")
    (outcome,) = await send_all(writer, CancelJob(cluster=CLUSTER, refs=(job(others),)))
    assert (outcome.result, outcome.error) == ("refused", "forbidden"), outcome
    rig.run("bob", "scancel", others)
    (outcome,) = await send_all(
        writer, SubmitJob(cluster=CLUSTER, spec=JobSpec(command=("true",), queue="nowhere", cwd="/tmp"))
    )
    assert outcome.result == "refused" and "partition" in outcome.message
    with pytest.raises(Unsupported, match="use the commands"):
        await writer.plan(SetNodeQuota(cluster=CLUSTER, refs=(node("n04"),), slots=3))


async def test_draining_where_the_interface_can(rig: Rig, rest: tuple[RestReader, RestWriter]) -> None:
    _, alice = rest
    intent = DrainNode(cluster=CLUSTER, refs=(node("n06"),), reason="via rest")
    if "drain" not in (await rest[0].capabilities()).supported:
        with pytest.raises(Unsupported):
            await alice.plan(intent)
        return
    (outcome,) = await send_all(alice, intent)
    assert (outcome.result, outcome.error) == ("refused", "forbidden")
    client = client_of(rig, "root")
    reader = RestReader(client, "root")
    root = RestWriter(client, reader)
    for change in (intent, UndrainNode(cluster=CLUSTER, refs=(node("n06"),))):
        (outcome,) = await send_all(root, change)
        assert outcome.result == "accepted", outcome
    await client.close()


@pytest.mark.parametrize("token", ["nonsense", ""])
async def test_a_token_that_is_wrong_or_empty(rig: Rig, token: str) -> None:
    client = RestClient(CLUSTER, CallMeter(limit=None), url=rig.rest_url, token=lambda: token, user="alice")
    with pytest.raises((Unauthenticated, Forbidden)):
        await RestReader(client, "alice").list_jobs()
    await client.close()


async def test_nobody_listens(tmp_path: Path) -> None:
    for place in ({"url": "http://127.0.0.1:9"}, {"socket": str(tmp_path / "none.sock")}):
        client = RestClient(CLUSTER, CallMeter(limit=None), **place)  # type: ignore[arg-type]
        with pytest.raises(Unreachable, match="cannot be reached"):
            await RestReader(client, "alice").list_jobs()
        _, error = await client.send(HttpRequest("DELETE", "/slurm/v0.0.38/job/1"))
        assert error is not None and error.code == "unreachable"
        await client.close()


async def test_the_watch_begins_with_everything(rest: tuple[RestReader, RestWriter]) -> None:
    seen: set[str] = set()
    async for item in rest[0].watch(InterestCell(Interest())):
        if isinstance(item, Delta):
            seen |= {row.ref.kind for row in item.upserts}
        if seen >= {"job", "queue", "node", "metrics"}:
            break
    assert seen == {"job", "queue", "node", "metrics"}
