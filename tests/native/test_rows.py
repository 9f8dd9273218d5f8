"""Rows of the wire as rows of the model."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import ProtocolError
from adapters.model import JOB_STATUSES, ArrayInfo, as_json
from adapters.native import rows, wire
from adapters.text import clean

KNOWN_JOB = {
    "jobid": 2**40, "user": "ann", "status": "PEND", "jobname": "n", "queue": "q", "projectname": "p", "command": "c",
    "resreq": "r", "submittime": 1_700_000_000, "jobdescription": "d",
}  # fmt: skip
KNOWN_HOST = {
    "hostName": "h1", "hostType": "X86_64", "hostModel": "Intel", "cpuFactor": 60.0, "maxCpus": 16, "maxMem": 64_000,
    "maxSwap": 100, "maxTmp": 200, "nDisks": 1, "resources": ["mg", "ssd"], "DResources": [], "busyThreshold": {},
    "isServer": True, "cores": 8, "hostAddr": "10.0.0.1", "pprocs": 1, "cores_per_proc": 8, "threads_per_core": 2,
}  # fmt: skip


def test_known_a_job_of_an_older_server_has_fewer_fields_and_none_is_invented() -> None:
    job = rows.job(dict(KNOWN_JOB), "c")
    assert (job.id, job.owner, job.status, job.raw_status, job.queue) == (str(2**40), "ann", "pending", "PEND", "q")
    assert job.submission_time == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    for name in ("nodes", "cores", "gpus", "memory_bytes", "walltime_seconds", "start_time", "end_time", "exit_code"):
        assert getattr(job, name) is None
    assert dict(job.extensions) == {"project": "p", "command": "c", "resreq": "r", "description": "d"}


@pytest.mark.parametrize(
    ("raw", "ended_by", "expected"),
    [
        ("PEND", None, "pending"),
        ("PSUSP", None, "pending"),
        ("RUN", None, "running"),
        ("USUSP", None, "suspended"),
        ("SSUSP", None, "suspended"),
        ("DONE", None, "succeeded"),
        ("EXIT", None, "failed"),
        ("EXIT", "owner", "cancelled"),
        ("EXIT", "admin", "cancelled"),
        ("EXIT", "limit", "failed"),
        ("EXIT", "system", "failed"),
        ("UNKWN", None, "unknown"),
        ("ZOMBI", None, "unknown"),
        ("BRAND_NEW", None, "unknown"),
        (17, None, "unknown"),
    ],
)
def test_known_raw_states(raw: Any, ended_by: str | None, expected: str) -> None:
    job = rows.job({"jobid": 1, "status": raw, "endedby": ended_by}, "c")
    assert (job.status, job.raw_status) == (expected, str(raw))


def test_a_held_job_waits_and_says_why() -> None:
    assert rows.job({"jobid": 1, "status": "PSUSP"}, "c").reason == "held"
    assert (
        rows.job({"jobid": 1, "status": "PSUSP", "pendreason": "Held by its owner"}, "c").reason == "Held by its owner"
    )


def test_units_and_places_of_a_full_job() -> None:
    more = {
        "mem": 512,
        "runlimit": 3600,
        "nodes": ["a", "b"],
        "arrayid": 7,
        "arrayindex": 3,
        "exitcode": 0,
        "maxmem": 2,
    }
    job = rows.job({**KNOWN_JOB, **more}, "c")
    assert (job.memory_bytes, job.walltime_seconds, job.nodes, job.node_names) == (512_000_000, 3600, 2, ("a", "b"))
    assert (job.array, job.exit_code) == (ArrayInfo("7", 3), 0)
    assert job.extensions["max_memory_bytes"] == 2_000_000


def test_queue_limits_are_minutes_and_mb() -> None:
    row = {"name": "q", "status": "Open:Active", "pend": 2, "run": 1.0, "runlimit": 90, "hosts": ["a"],
           "defaults": {"cores": 2, "mem": 10, "runlimit": 5}}  # fmt: skip
    queue = rows.queue(row, "c")
    assert (queue.max_walltime_seconds, queue.pending_jobs, queue.running_jobs, queue.node_count) == (5400, 2, 1, 1)
    assert queue.default_resources == (2, 10_000_000, None, 300)
    assert rows.queue({"name": "q"}, "c").node_count is None


def test_known_a_node_is_joined_by_name_of_host_and_node_service() -> None:
    service = {"id": 5, "name": "h1", "status": "busy", "enabled": True, "active_slots": 3, "max_slots": 8,
               "admin_max_slots": None, "last_heartbeat": 1.7e9, "load": {"mem": 60_000}, "version": 4}  # fmt: skip
    other = {"id": 6, "name": "h2", "enabled": False, "max_slots": 4, "admin_max_slots": 0, "active_slots": 0}
    first, second = rows.join_nodes([KNOWN_HOST], [other, service], "c")
    assert (first.name, first.status, first.slots_used, first.slots_quota, first.slots_total) == (
        "h1",
        "busy",
        3,
        None,
        8,
    )
    assert (first.memory_bytes_total, first.memory_bytes_used, first.cores_total) == (64 * 10**9, 4 * 10**9, 8)
    assert first.features == ("mg", "ssd") and first.extensions["version"] == "4"
    assert (second.name, second.status, second.slots_quota) == ("h2", "drain", 0)
    (alone,) = rows.join_nodes([KNOWN_HOST], [], "c")
    assert (alone.slots_total, alone.heartbeat_time, alone.memory_bytes_used) == (None, None, None)


def test_known_missing_load_indices_are_missing_and_not_zero() -> None:
    node = rows.node({**KNOWN_HOST, "load": {"r1m": 0.0, "ut": 0.5, "junk": 1}}, None, "c")
    assert node.extensions["load"] == {"r1m": 0.0, "ut": 0.5}


@pytest.mark.parametrize("make", [rows.job, rows.queue])
@pytest.mark.parametrize(
    "row", [{"user": "ann"}, {"jobid": None, "name": None}, {"jobid": "", "name": ""}, {"jobid": [1], "name": []}]
)
def test_a_row_that_names_nothing_is_an_error(make: Any, row: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError):
        make(row, "c")


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=5,
)


def texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in texts(part)]
    if isinstance(value, list | tuple):
        return [text for part in value for text in texts(part)]
    return [value] if isinstance(value, str) else []


@given(st.dictionaries(st.sampled_from(sorted(wire.JOB_FIELDS)), JSON))
def test_whatever_a_field_holds_a_job_comes_out_clean(row: dict[str, Any]) -> None:
    job = rows.job({**row, "jobid": 1}, "c")
    assert job.status in JOB_STATUSES
    assert all(clean(text) == text for text in texts(as_json(job)))


@given(
    st.dictionaries(st.sampled_from(sorted(wire.HOST_FIELDS)), JSON),
    st.dictionaries(st.sampled_from(sorted(wire.NODE_FIELDS)), JSON),
    st.dictionaries(st.sampled_from(sorted(wire.QUEUE_FIELDS)), JSON),
)
def test_whatever_a_field_holds_nodes_and_queues_come_out_clean(host: Any, service: Any, queue: Any) -> None:
    node = rows.node({**host, "hostName": "h"}, {**service, "name": "h"}, "c")
    made = rows.queue({**queue, "name": "q"}, "c")
    assert all(clean(text) == text for text in texts(as_json(node)) + texts(as_json(made)))


def test_equal_texts_are_shared() -> None:
    first, second = (
        rows.job({"jobid": i, "user": "".join(["an", "n"]), "queue": "".join(["no", "rm"])}, "c") for i in (1, 2)
    )
    assert first.owner is second.owner and first.queue is second.queue
