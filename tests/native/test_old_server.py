"""A server of before the optional parts: everything it has is used, what it lacks is said, and it is polled."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from adapters.base import Invalid, JobFilter, NotFound, Unauthenticated, Unsupported
from adapters.intents import CancelJob, SetNodeQuota, SubmitJob
from adapters.model import JobSpec
from adapters.native import open_native
from adapters.native.token import fixed_token
from tests.doubles.old_native_server import TOKEN, OldServer
from tests.doubles.serving import serve_app
from tests.native.watching import until, watching


@pytest_asyncio.fixture
async def opened() -> AsyncIterator[tuple[OldServer, Any, Any, str]]:
    double = OldServer()
    async with serve_app(double.app()) as url:
        reader, writer = open_native("old", url, fixed_token(TOKEN))
        try:
            yield double, reader, writer, url
        finally:
            await writer.close()
            await reader.close()


async def test_its_columnar_rows_are_read(opened: Any) -> None:
    _, reader, _, _ = opened
    assert [(job.id, job.owner, job.status) for job in await reader.list_jobs()] == [
        ("101", "ann", "running"),
        ("102", "bob", "pending"),
        ("103", "ann", "succeeded"),
    ]
    assert (await reader.get_job("102")).owner == "bob"
    nodes = await reader.list_nodes()
    assert [(node.name, node.cores_total, node.slots_total) for node in nodes] == [("h1", 16, None), ("h2", 32, None)]
    metrics = await reader.metrics()
    assert metrics.jobs == {"running": 1, "pending": 1, "succeeded": 1}
    with pytest.raises(NotFound):
        await reader.get_job("999")


async def test_a_filter_it_does_not_know_is_sifted_here(opened: Any) -> None:
    _, reader, _, _ = opened
    assert [job.id for job in await reader.list_jobs(JobFilter(owner="ann"))] == ["101", "103"]
    assert [job.id for job in await reader.list_jobs(JobFilter(ids=("102", "777")))] == ["102"]
    assert [job.id for job in await reader.list_jobs(JobFilter(statuses=frozenset({"running"})))] == ["101"]


async def test_its_capabilities_are_found_by_trying(opened: Any) -> None:
    _, reader, _, _ = opened
    found = await reader.capabilities()
    assert found.supported == {"submit", "cancel", "hold", "release", "suspend", "resume"}
    assert found.push is False and "events" not in found.parts
    assert {"slots_quota", "slots_total", "heartbeat_time"} <= found.absent["node"]
    assert {"cores", "exit_code", "start_time", "logs_url"} <= found.absent["job"]
    assert "owner" not in found.absent["job"]
    assert all(found.unsupported[verb] for verb in ("modify", "set_node_quota", "requeue"))
    assert any("polled" in note for note in found.notes)


async def test_it_is_polled_and_says_so(opened: Any) -> None:
    double, _, _, url = opened
    async with watching(url, token=TOKEN, clock=lambda: time.monotonic() * 30) as told:
        await until(lambda: told.jobs() == {"101": "RUN", "102": "PEND", "103": "DONE"})
        double.jobs[102]["status"] = "RUN"
        await until(lambda: told.jobs().get("102") == "RUN")
        polling = next(state for state in told.states if state.label == "polling")
        assert polling.note and polling.interval and polling.calls_per_minute
        assert "live" not in told.labels


async def test_what_it_can_do_is_done(opened: Any) -> None:
    double, reader, writer, _ = opened
    made = await writer.plan(SubmitJob(cluster="old", spec=JobSpec(command=("sleep", "5"))))
    (outcome,) = await writer.send(made.steps[0])
    assert outcome.result == "accepted" and outcome.created.id == "104", "a number that comes as a float"
    job = await reader.get_job("101")
    cancel = await writer.plan(CancelJob(cluster="old", refs=(job.ref,)))
    (outcome,) = await writer.send(cancel.steps[0])
    assert outcome.result == "accepted" and double.jobs[101]["status"] == "EXIT"


async def test_what_it_cannot_do_is_refused_with_a_reason(opened: Any) -> None:
    _, reader, writer, _ = opened
    node = (await reader.list_nodes())[0]
    with pytest.raises(Unsupported) as caught:
        await writer.plan(SetNodeQuota(cluster="old", refs=(node.ref,), slots=1))
    assert "node service" in caught.value.message
    with pytest.raises(Unsupported):
        await reader.find_intent("00000000-0000-4000-8000-000000000000")
    with pytest.raises(Unsupported):
        await reader.history()


async def test_who_we_are_is_not_known_and_not_made_up(opened: Any) -> None:
    _, reader, _, url = opened
    who = await reader.whoami()
    assert (who.operator, who.role) == (None, None)
    with pytest.raises(Invalid) as caught:
        await reader.list_jobs(JobFilter(mine=True))
    assert "owner" in caught.value.hint
    named, writer = open_native("old", url, fixed_token(TOKEN), owner="ann")
    assert [job.id for job in await named.list_jobs(JobFilter(mine=True))] == ["101", "103"]
    await writer.close()
    await named.close()


async def test_a_wrong_key_is_not_signed_in(opened: Any) -> None:
    *_, url = opened
    reader, writer = open_native("old", url, fixed_token("wrong"))
    with pytest.raises(Unauthenticated):
        await reader.capabilities()
    await writer.close()
    await reader.close()
