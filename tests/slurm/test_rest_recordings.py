"""slurmrestd's recorded answers of three versions: rows, versions found, and errors wherever they stand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from adapters.base import AdapterError, NotFound, ProtocolError, Unavailable, Unsupported
from adapters.model import ArrayInfo
from adapters.plan import HttpRequest
from adapters.polling import CallMeter
from adapters.slurm import rest_rows
from adapters.slurm.rest_client import RestClient
from adapters.slurm.rest_reader import RestReader

DATA = Path(__file__).parent.parent / "data" / "slurm"
VERSIONS = {"22.05": 38, "24.11": 42, "26.05": 45}
ERRORS = {
    "job_missing": "not_found", "node_missing": "not_found", "no_auth": "unauthenticated",
    "bad_token": "unauthenticated", "bad_path": "unsupported",
}  # fmt: skip
WRITES = {
    "submit": None, "update_ok": None, "cancel_ok": None, "submit_bad_partition": {"not_found", "invalid"},
    "submit_no_env": {"invalid", "error"}, "update_other": {"forbidden"}, "cancel_other": {"forbidden"},
    "cancel_again": {"conflict", None}, "cancel_missing": {"not_found"},
    "node_drain_user": {"forbidden", "unsupported"},
}  # fmt: skip


class Recorded(httpx.AsyncBaseTransport):
    """Answers each request as slurmrestd did; a request that was not recorded gets its 404."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.seen: list[httpx.Request] = []
        self.entries = json.loads((DATA / version / "rest.json").read_text())

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request)
        path = request.url.raw_path.decode()
        for entry in self.entries:
            if (entry["method"], entry["path"]) == (request.method, path) and entry["name"] not in (
                "no_auth",
                "bad_token",
            ):
                return self.response(entry)
        return httpx.Response(404, text="Unable find requested URL. Please view /openapi/v3 for API reference.")

    def response(self, entry: dict[str, Any]) -> httpx.Response:
        if entry.get("file"):
            return httpx.Response(int(entry["http"]), content=(DATA / self.version / entry["file"]).read_bytes())
        answer = entry["answer"]
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return httpx.Response(int(entry["http"]), text=text)


class Single(httpx.AsyncBaseTransport):
    """Gives one recorded answer to everything but the search for the version."""

    def __init__(self, recorded: Recorded, name: str) -> None:
        self.recorded = recorded
        self.entry = next(entry for entry in recorded.entries if entry["name"] == name)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/ping"):
            return await self.recorded.handle_async_request(request)
        return self.recorded.response(self.entry)


@pytest.fixture(params=sorted(VERSIONS))
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def client(transport: httpx.AsyncBaseTransport) -> RestClient:
    return RestClient(
        "rec", CallMeter(limit=None), url="http://rest", token=lambda: "TOKEN", user="alice", transport=transport
    )


def body(version: str, name: str) -> Any:
    return json.loads((DATA / version / "rest" / f"{name}.json").read_bytes().decode("utf-8", "replace"))


async def test_the_newest_common_version_is_found(version: str) -> None:
    recorded = Recorded(version)
    found = client(recorded)
    assert await found.version() == VERSIONS[version]
    asked = len(recorded.seen)
    await found.version()
    assert len(recorded.seen) == asked, "it is asked once"
    assert recorded.seen[0].headers["x-slurm-user-token"] == "TOKEN"
    assert recorded.seen[0].headers["x-slurm-user-name"] == "alice"


async def test_no_common_version_is_said() -> None:
    none = httpx.MockTransport(lambda _: httpx.Response(404, text="Unable find requested URL."))
    with pytest.raises(Unsupported, match=r"none of the versions v0\.0\.38 to v0\.0\.45"):
        await client(none).version()


async def test_one_job(version: str) -> None:
    job = await RestReader(client(Recorded(version)), "alice").get_job("24")
    assert (job.name, job.status, job.raw_status, job.owner, job.queue) == (
        "train-a100",
        "running",
        "RUNNING",
        "bob",
        "gpu",
    )
    assert (job.cores, job.gpus, job.memory_bytes, job.walltime_seconds) == (2, 2, 4 * 2**30, 8 * 3600)
    assert job.node_names == ("n05",) and job.start_time is not None and job.exit_code is None
    assert job.extensions["work_dir"] == "/rig/out" and job.extensions["stdout"].startswith("/rig/out/")


async def test_reservations(version: str) -> None:
    found = await RestReader(client(Recorded(version)), "alice").list_reservations()
    assert "later" in {row.name for row in found}
    assert all(row.start_time is not None and row.end_time is not None for row in found)


def test_an_array_unfolded_and_folded(version: str) -> None:
    rows = {job.id: job for job in rest_rows.jobs_of(body(version, "job_array"), "rec")}
    assert rows["29_0"].array == ArrayInfo("29", index=0) and rows["29_0"].status == "running"
    folded = next(job for id, job in rows.items() if "_[" in id)
    assert folded.array is not None and (folded.array.range or "").endswith("%3") and folded.status == "pending"


def test_nodes_and_partitions(version: str) -> None:
    found = rest_rows.nodes_of(body(version, "nodes"), body(version, "partitions"), "rec")
    nodes, queues = ({row.name: row for row in rows} for rows in found)
    assert (nodes["n05"].gpu_count, nodes["n05"].gpus_used, nodes["n05"].cores_total, nodes["n05"].status) == (
        4,
        3,
        8,
        "busy",
    )
    assert (nodes["n07"].status, nodes["n07"].reason, nodes["n08"].status) == ("drain", "bad DIMM, ticket 4711", "down")
    assert {name: (q.status, q.max_walltime_seconds, q.node_count) for name, q in queues.items()} == {
        "batch": ("active", 172800, 6), "gpu": ("active", 86400, 2), "debug": ("active", 1800, 2),
        "maint": ("inactive", None, 2),
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(ERRORS))
async def test_errors_of_reads(version: str, name: str) -> None:
    reader = RestReader(client(Single(Recorded(version), name)), "alice")
    with pytest.raises(AdapterError) as caught:
        await reader.list_jobs()
    assert caught.value.code == ERRORS[name], caught.value


@pytest.mark.parametrize("name", sorted(WRITES))
async def test_errors_of_writes_are_read_whatever_the_code(version: str, name: str) -> None:
    recorded = Recorded(version)
    entry = next(entry for entry in recorded.entries if entry["name"] == name)
    request = HttpRequest(
        entry["method"], entry["path"], (), json.dumps(entry["body"]).encode() if entry["body"] else None
    )
    answer, error = await client(Single(recorded, name)).send(request)
    expected = WRITES[name]
    assert answer is not None and (error.code if error else None) in (expected or {None}), error


async def test_warnings_are_kept() -> None:
    recorded = Recorded("24.11")
    answer, error = await client(Single(recorded, "submit_bad_field")).send(
        HttpRequest("POST", "/slurm/v0.0.42/job/submit")
    )
    assert error is None and answer is not None and "no_such_field" in answer.warnings[0]


@pytest.mark.parametrize("broken", ['{"jobs": [', '{"jobs": 5}', "{}", '{"jobs": [1]}', "<html>busy</html>", ""])
async def test_a_broken_answer_is_never_an_empty_list(broken: str) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, text='{"pings": []}' if request.url.path.endswith("/ping") else broken)

    with pytest.raises(ProtocolError):
        await RestReader(client(httpx.MockTransport(answer)), "alice").list_jobs()


async def test_lost_answers() -> None:
    def slow(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/ping"):
            return httpx.Response(200, text='{"pings": []}')
        raise httpx.ReadTimeout("slow", request=request)

    broken = client(httpx.MockTransport(slow))
    with pytest.raises(Unavailable, match="did not answer"):
        await broken.get("/jobs")
    _, error = await broken.send(HttpRequest("DELETE", "/slurm/v0.0.45/job/1"))
    assert error is not None and error.code == "unknown"


async def test_bytes_that_are_no_utf8_do_not_break_an_answer() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/ping"):
            return httpx.Response(200, text='{"pings": []}')
        return httpx.Response(
            200, content=b'{"jobs": [{"job_id": 1, "name": "bad\xff\xfe", "job_state": ["RUNNING"]}]}'
        )

    (job,) = await RestReader(client(httpx.MockTransport(answer)), "alice").list_jobs()
    assert job.id == "1" and job.status == "running" and job.name.startswith("bad")


async def test_a_job_that_is_not_there() -> None:
    with pytest.raises(NotFound, match="no job 999999"):
        await RestReader(client(Recorded("26.05")), "alice").get_job("999999")
