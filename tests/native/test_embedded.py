"""The native adapter on the embedded cluster: what the contract suite does not ask of every adapter."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from adapters.base import (
    Capabilities,
    Forbidden,
    HistoryFilter,
    Interest,
    InterestCell,
    JobFilter,
    NotFound,
    Unsupported,
)
from adapters.intents import (
    CancelJob,
    CreateKey,
    HoldJob,
    ModifyJob,
    ReissueNodeToken,
    ReleaseJob,
    RequeueJob,
    ResumeJob,
    SetNodeQuota,
    SubmitJob,
    SuspendJob,
)
from adapters.local.launch import EmbeddedCluster, launch
from adapters.model import Job, JobSpec, Ref
from adapters.native import open_native
from adapters.native.token import file_token, fixed_token
from tests.doubles.serving import closed_port
from tests.native.watching import until as told_until
from tests.native.watching import watching

DEADLINE = 40.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    """A real server and one real worker of four slots."""
    with launch(workers=1, slots=4) as running:
        yield running


@pytest_asyncio.fixture
async def opened(cluster: EmbeddedCluster) -> AsyncIterator[tuple[Any, Any]]:
    reader, writer = open_native("c", cluster.url, file_token(cluster.admin_key_file))
    try:
        yield reader, writer
    finally:
        await writer.close()
        await reader.close()


async def send(writer: Any, intent: Any) -> Any:
    """Plan and send an intent of one step; its outcome must be `accepted`."""
    plan = await writer.plan(intent)
    (outcome,) = await writer.send(plan.steps[0])
    assert outcome.result == "accepted", outcome
    return outcome


async def submit(writer: Any, *command: str, **more: Any) -> str:
    outcome = await send(writer, SubmitJob(cluster="c", spec=JobSpec(command=command, **more)))
    assert outcome.created is not None
    return str(outcome.created.id)


async def until(reader: Any, id: str, *statuses: str) -> Job:
    deadline = asyncio.get_running_loop().time() + DEADLINE
    while True:
        job: Job = await reader.get_job(id)
        if job.status in statuses:
            return job
        assert asyncio.get_running_loop().time() < deadline, f"job {id} is {job.status}, not {statuses}"
        await asyncio.sleep(0.05)


async def test_a_jobs_whole_life_by_intents(opened: Any) -> None:
    reader, writer = opened
    id = await submit(writer, "sh", "-c", "echo begun; sleep 60", hold=True, name="life")
    ref = (await until(reader, id, "pending")).ref
    await send(writer, ModifyJob(cluster="c", refs=(ref,), name="changed", walltime_seconds=600))
    changed = await reader.get_job(id)
    assert (changed.name, changed.walltime_seconds, changed.raw_status) == ("changed", 600, "PSUSP")
    await send(writer, ReleaseJob(cluster="c", refs=(ref,)))
    await until(reader, id, "running")
    await send(writer, SuspendJob(cluster="c", refs=(ref,)))
    await until(reader, id, "suspended")
    await send(writer, ResumeJob(cluster="c", refs=(ref,)))
    await until(reader, id, "running")
    await send(writer, CancelJob(cluster="c", refs=(ref,)))
    ended = await until(reader, id, "cancelled")
    assert ended.end_time is not None and ended.extensions["ended_by"] == "owner"
    await send(writer, RequeueJob(cluster="c", refs=(ref,)))
    again = await until(reader, id, "running")
    assert again.extensions["attempt"] == 2
    await send(writer, CancelJob(cluster="c", refs=(ref,), signal="KILL"))
    await until(reader, id, "cancelled")


async def test_a_running_job_is_followed_to_its_end(opened: Any) -> None:
    reader, writer = opened
    id = await submit(writer, "sh", "-c", "for i in 1 2 3; do echo line $i; sleep 0.2; done; echo bad >&2; exit 7")
    async with asyncio.timeout(DEADLINE):
        chunks = [chunk async for chunk in reader.job_logs(id, follow=True)]
    assert b"".join(chunk.data for chunk in chunks) == b"line 1\nline 2\nline 3\n" and chunks[-1].at_end
    errors = [chunk async for chunk in reader.job_logs(id, "stderr")]
    assert b"".join(chunk.data for chunk in errors) == b"bad\n"
    job = await until(reader, id, "failed")
    assert job.exit_code == 7


async def test_history_is_of_what_is_over_newest_first(opened: Any) -> None:
    reader, writer = opened
    ids = [await submit(writer, "true", name=f"h{i}") for i in range(3)]
    for id in ids:
        await until(reader, id, "succeeded")
    found = await reader.history(HistoryFilter(ids=tuple(ids)))
    assert {job.id for job in found} == set(ids)
    assert [job.end_time for job in found] == sorted((job.end_time for job in found), reverse=True)
    assert all(job.extensions["cpu_seconds"] is not None for job in found)
    assert len(await reader.history(HistoryFilter(ids=tuple(ids), limit=2))) == 2
    future = datetime.now(UTC) + timedelta(days=1)
    assert await reader.history(HistoryFilter(since=future)) == []
    assert {job.owner for job in await reader.history(HistoryFilter(mine=True))} == {(await reader.whoami()).name}


async def test_the_id_of_an_array_brings_its_elements(opened: Any) -> None:
    reader, writer = opened
    id = await submit(writer, "sh", "-c", "sleep 30", array="1-3")
    deadline = asyncio.get_running_loop().time() + DEADLINE
    while len(found := await reader.list_jobs(JobFilter(ids=(id,)))) < 4:
        assert asyncio.get_running_loop().time() < deadline
        await asyncio.sleep(0.1)
    assert {job.array.id for job in found if job.array} == {id}
    assert sorted(job.array.index for job in found if job.array and job.array.index is not None) == [1, 2, 3]
    ref = next(job for job in found if job.id == id).ref
    await send(writer, CancelJob(cluster="c", refs=(ref,)))
    for job in found:
        await until(reader, job.id, "cancelled")


@pytest.mark.parametrize("id", ["", ".", "..", "../jobs", " "])
async def test_an_odd_id_is_no_other_jobs(opened: Any, id: str) -> None:
    reader, writer = opened
    await submit(writer, "true", hold=True)
    with pytest.raises(NotFound):
        await reader.get_job(id)
    with pytest.raises(NotFound):
        [chunk async for chunk in reader.job_logs(id)]
    ref = Ref("c", "job", id, None)
    assert await reader.observe([ref]) == {ref: None}


async def test_more_jobs_than_a_page_are_all_listed(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = opened
    monkeypatch.setattr("adapters.native.listing.PAGE", 3)
    ids = [await submit(writer, "true", hold=True, name="paged") for _ in range(8)]
    wanted = JobFilter(name="paged")
    assert [job.id for job in await reader.list_jobs(wanted)] == ids
    assert len(await reader.list_jobs(JobFilter(name="paged", limit=5))) == 5
    seen = await reader.observe([job.ref for job in await reader.list_jobs(wanted)] * 1)
    assert all(target is not None and target.state == "pending" for target in seen.values())
    plan = await writer.plan(CancelJob(cluster="c", refs=tuple(seen)))
    outcomes = [(await writer.send(step))[0].result for step in plan.steps]
    assert outcomes == ["accepted"] * 8


async def test_a_repeated_request_is_answered_as_the_first_and_does_nothing(opened: Any) -> None:
    reader, writer = opened
    intent = SubmitJob(cluster="c", spec=JobSpec(command=("true",), hold=True, name="once"))
    plan = await writer.plan(intent)
    first, second = [await writer.send(plan.steps[0]) for _ in range(2)]
    assert first == second
    assert await reader.find_intent(str(intent.intent_id)) == [(await reader.get_job(first[0].created.id)).ref]


async def test_two_operators_at_once_are_told_apart_by_the_server(opened: Any) -> None:
    reader, writer = opened
    (node,) = await reader.list_nodes()
    mine = await writer.plan(SetNodeQuota(cluster="c", refs=(node.ref,), slots=3))
    await send(writer, SetNodeQuota(cluster="c", refs=(node.ref,), slots=2))
    (outcome,) = await writer.send(mine.steps[0])
    assert (outcome.result, outcome.error) == ("refused", "conflict") and "changed by somebody else" in outcome.message
    assert (await reader.list_nodes())[0].slots_quota == 2
    await send(writer, SetNodeQuota(cluster="c", refs=(node.ref,), slots=None))
    assert (await reader.list_nodes())[0].slots_quota is None


async def test_a_user_sees_and_does_what_is_his_and_no_more(opened: Any, cluster: EmbeddedCluster) -> None:
    _, writer = opened
    outcome = await send(writer, CreateKey(cluster="c", user="someone", role="user"))
    assert outcome.secret and outcome.secret not in repr(outcome) and outcome.secret not in str(outcome.record())
    reader, own = open_native("c", cluster.url, fixed_token(outcome.secret))
    try:
        found: Capabilities = await reader.capabilities()
        assert {"submit", "cancel", "hold"} <= found.supported and not {"drain", "create_key"} & found.supported
        assert "user" in found.unsupported["drain"] and found.push
        assert (await reader.whoami()).operator is False
        assert await reader.list_jobs() == []
        with pytest.raises(Unsupported):
            await own.plan(CreateKey(cluster="c", user="x", role="cluster_admin"))
    finally:
        await own.close()
        await reader.close()


async def test_what_a_role_may_not_is_refused_by_the_server_too(opened: Any, cluster: EmbeddedCluster) -> None:
    """The adapter's own check is a courtesy; the plan is made with one key and sent with another."""
    reader, writer = opened
    outcome = await send(writer, CreateKey(cluster="c", user="watcher", role="mcp_readonly"))
    id = await submit(writer, "true", hold=True)
    plan = await writer.plan(HoldJob(cluster="c", refs=((await submit_ref(reader, writer)),)))
    lesser_reader, lesser = open_native("c", cluster.url, fixed_token(outcome.secret))
    try:
        (refused,) = await lesser.send(plan.steps[0])
        assert (refused.result, refused.error) == ("refused", Forbidden.code)
        assert "mcp_readonly" in refused.message
    finally:
        await lesser.close()
        await lesser_reader.close()
    assert (await reader.get_job(id)).status == "pending"


async def submit_ref(reader: Any, writer: Any) -> Any:
    """A job that waits and is not held: it asks for more than there is."""
    id = await submit(writer, "true", cores=4000)
    return (await reader.get_job(id)).ref


async def test_nothing_is_sent_to_a_server_that_is_not_there(opened: Any) -> None:
    reader, writer = opened
    plan = await writer.plan(SubmitJob(cluster="c", spec=JobSpec(command=("true",), name="never")))
    away_reader, away = open_native("c", closed_port(), fixed_token("k"))
    try:
        (outcome,) = await away.send(plan.steps[0])
    finally:
        await away.close()
        await away_reader.close()
    assert (outcome.result, outcome.error) == ("refused", "unreachable") and "Nothing was sent" in outcome.message
    assert await reader.list_jobs(JobFilter(name="never")) == []


async def test_a_server_that_is_killed_and_comes_back_is_watched_on(opened: Any, cluster: EmbeddedCluster) -> None:
    """What changed while it was away, and the resumed stream, lead to what a fresh list says."""
    reader, writer = opened
    cell = InterestCell(Interest(kinds=frozenset({"job", "queue"})))
    async with watching(cluster.url, cell, token=cluster.admin_key) as told:
        await told_until(lambda: "live" in told.labels)
        server = cluster.server
        assert server is not None
        server.end(signal.SIGKILL)
        assert await asyncio.to_thread(server.wait, 20.0)
        await told_until(lambda: told.labels[-1] in ("stale", "failed"))
        await asyncio.to_thread(cluster.restart_server)
        id = await submit(writer, "true", name="after the crash")
        await until(reader, id, "succeeded")
        fresh = {job.id: job.raw_status for job in await reader.list_jobs()}
        await told_until(lambda: told.jobs() == fresh and told.labels[-1] == "live")
    assert told.snapshots == 1, "the log of events survives the crash, so the stream was resumed"


async def test_a_new_token_of_a_node_is_shown_once_and_not_recorded(opened: Any) -> None:
    """Last in this file: the worker is refused from here on."""
    reader, writer = opened
    (node,) = await reader.list_nodes()
    plan = await writer.plan(ReissueNodeToken(cluster="c", refs=(node.ref,)))
    assert any("dead at once" in text for text in plan.warnings)
    (outcome,) = await writer.send(plan.steps[0])
    assert outcome.result == "accepted" and outcome.secret
    assert outcome.secret not in str(outcome.record()) and outcome.secret not in outcome.message
