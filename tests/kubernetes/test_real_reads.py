"""Reads and the watch on a real API server: what is shown is what the server holds."""

from __future__ import annotations

from pathlib import Path

from adapters.base import InterestCell, JobFilter
from adapters.kubernetes.doctor import report
from tests.contract.test_contract_watch import until_equal, watching
from tests.kubernetes.conftest import until, watched
from tests.kubernetes.real import Real

SLOW = 60.0


def names(rows: object) -> dict[str, str]:
    return {row.id: row.status for row in rows}  # type: ignore[attr-defined]


async def test_states_of_jobs_are_those_of_their_pods(real: Real) -> None:
    real.needs_controllers()
    space = real.namespace()
    real.job(space, "runs", "sleep", "3600")
    real.job(space, "ends", "true")
    real.job(space, "fails", "false")
    real.job(space, "huge", "sleep", "1", requests={"cpu": "9000"})
    reader, _ = real.opened(namespaces=[space])
    wanted = {"runs": "running", "ends": "succeeded", "fails": "failed", "huge": "pending"}
    async with watched(reader) as mirror:
        await until(
            lambda: names(mirror.of("job").values()) == {f"{space}/{name}": state for name, state in wanted.items()},
            "the states",
            SLOW,
        )
        huge = mirror.rows["job", f"{space}/huge"]
        assert "Insufficient cpu" in (huge.reason or ""), huge  # type: ignore[union-attr]
        failed = mirror.rows["job", f"{space}/fails"]
        assert failed.exit_code == 1, failed  # type: ignore[union-attr]
    await reader.close()


async def test_the_watch_agrees_with_a_fresh_list_and_the_server(real: Real) -> None:
    space = real.namespace()
    for number in range(12):
        real.job(space, f"many-{number}", "sleep", "3600", parallelism=1)
    reader, _ = real.opened(namespaces=[space])
    cell = InterestCell()
    async with watching(reader, cell) as mirror:
        await until(lambda: len(mirror.of("job")) == 12, "all jobs", SLOW)
        real.admin.delete(f"/apis/batch/v1/namespaces/{space}/jobs/many-3")
        real.job(space, "later")
        await until(lambda: f"{space}/later" in mirror.of("job"), "the new job", SLOW)
        await until(lambda: mirror.rows["job", f"{space}/many-3"].status == "cancelled", "the deleted job", SLOW)  # type: ignore[union-attr]
        await until_equal(mirror, reader, cell, True)
    held = {one["metadata"]["name"] for one in real.admin.items(f"/apis/batch/v1/namespaces/{space}/jobs")}
    listed = {row.id.partition("/")[2] for row in await reader.list_jobs() if row.status != "cancelled"}
    assert listed == held and len(held) == 12
    nodes = {one["metadata"]["name"] for one in real.admin.items("/api/v1/nodes")}
    assert {row.id for row in await reader.list_nodes()} == nodes
    await reader.close()


async def test_a_list_of_several_pages_is_whole(real: Real) -> None:
    space = real.namespace()
    path = f"/api/v1/namespaces/{space}/pods"
    container = {"name": "main", "image": real.image}
    gate = {"nodeSelector": {"pilothouse-test": "nowhere"}, "containers": [container]}
    for number in range(520):
        real.admin.create(path, {"metadata": {"name": f"p-{number:03}"}, "spec": gate})
    reader, _ = real.opened(namespaces=[space])
    assert len(await reader.list_jobs(JobFilter(limit=None))) == 520
    async with watched(reader) as mirror:
        await until(lambda: len(mirror.of("job")) == 520, "all pods", SLOW)
    await reader.close()


async def test_elements_of_an_indexed_job(real: Real) -> None:
    real.needs(24, "Indexed jobs")
    real.needs_controllers()
    space = real.namespace()
    real.job(space, "array", "sleep", "3600", completionMode="Indexed", completions=3, parallelism=2)
    reader, _ = real.opened(namespaces=[space])
    wanted = JobFilter(ids=(f"{space}/array",))
    async with watched(reader) as mirror:
        key = ("job", f"{space}/array")
        await until(lambda: key in mirror.rows and mirror.rows[key].status == "running", "it runs", SLOW)  # type: ignore[union-attr]
    rows = await reader.list_jobs(wanted)
    assert {f"{space}/array", f"{space}/array_0", f"{space}/array_1"} <= {row.id for row in rows}, names(rows)
    await reader.close()


async def test_quotas_and_namespaces_are_queues(real: Real) -> None:
    space = real.namespace()
    hard = {"requests.cpu": "3500m", "pods": "5"}
    real.admin.create(
        f"/api/v1/namespaces/{space}/resourcequotas", {"metadata": {"name": "compute"}, "spec": {"hard": hard}}
    )
    reader, _ = real.opened(namespaces=[space])
    async with watched(reader) as mirror:
        await until(lambda: space in mirror.of("queue"), "the queue", SLOW)
    assert space in {row.id for row in await reader.list_queues()}
    await reader.close()


async def test_doctor_names_version_rights_and_what_is_watched(real: Real, tmp_path: Path) -> None:
    space = real.namespace()
    reader, _ = real.opened()
    told = await report(reader)
    await reader.close()
    assert told.failures == () and told.backend.startswith(f"kubernetes 1.{real.minor}.")
    assert "jobs (the whole cluster)" in told.watched and "nodes (the whole cluster)" in told.watched
    reader, _ = real.opened(real.editor(tmp_path, space))
    told = await report(reader)
    await reader.close()
    assert f"jobs ({space})" in told.watched
    assert any(line.startswith("nodes: You have no right to list nodes") for line in told.unwatched)
    assert any(line.startswith("Cannot: Drain: You have no right to patch nodes") for line in told.lines)


async def test_logs_of_a_running_pod(real: Real) -> None:
    real.needs_controllers()
    if real.rig is None:
        real.job(space := real.namespace(), "talks", "sh", "-c", "echo line 1; sleep 3600")
    else:
        real.job(space := real.namespace(), "talks")
    reader, _ = real.opened(namespaces=[space])
    async with watched(reader) as mirror:
        key = ("job", f"{space}/talks")
        await until(lambda: key in mirror.rows and mirror.rows[key].status == "running", "it runs", SLOW)  # type: ignore[union-attr]
    text = b"".join([chunk.data async for chunk in reader.job_logs(f"{space}/talks")])
    assert b"line 1" in text
    await reader.close()
