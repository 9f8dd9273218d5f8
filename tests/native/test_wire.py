"""Values, states and forms of the native wire. The names of tests marked [known] are facts of the live systems."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import (
    AdapterError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    ProtocolError,
    Unauthenticated,
    Unavailable,
    Unsupported,
)
from adapters.model import Dependency
from adapters.native import wire
from adapters.native.answers import row_of, rows_of, unwrap

VALUES = st.one_of(st.none(), st.integers(-(2**40), 2**60), st.text(max_size=20), st.lists(st.integers(), max_size=3))
ROWS = st.lists(
    st.dictionaries(st.sampled_from(sorted(wire.JOB_FIELDS - {"jobid"})), VALUES, max_size=6).map(
        lambda row: {"jobid": 1, **row}
    ),
    max_size=5,
)


def forms(rows: list[dict[str, Any]]) -> list[Any]:
    """The same rows in every form but columns."""
    return [
        rows,
        [[{"key": key, "value": value} for key, value in row.items()] for row in rows],
        [[{"name": key, "value": value} for key, value in row.items()] for row in rows],
        [{"keys": list(row), "values": list(row.values())} for row in rows],
    ]


@given(ROWS)
def test_known_every_form_of_rows_reads_the_same(rows: list[dict[str, Any]]) -> None:
    for form in forms(rows):
        assert rows_of(json.loads(json.dumps(form)), wire.JOB_FIELDS, "x") == rows


@given(ROWS.filter(bool))
def test_known_one_object_of_equally_long_lists_is_rows(rows: list[dict[str, Any]]) -> None:
    names = sorted({name for row in rows for name in row})
    columns = {name: [row.get(name) for row in rows] for name in names}
    full = [{name: row.get(name) for name in names} for row in rows]
    assert rows_of(columns, wire.JOB_FIELDS, "x") == full
    assert (
        rows_of({"keys": names, "values": [[row[name] for name in names] for row in full]}, wire.JOB_FIELDS, "x")
        == full
    )


@given(st.lists(st.dictionaries(st.text(max_size=8).filter(lambda k: k not in wire.JOB_FIELDS), VALUES), min_size=1))
def test_known_rows_without_a_known_field_are_an_error_and_never_empty_rows(rows: list[dict[str, Any]]) -> None:
    with pytest.raises(ProtocolError) as caught:
        rows_of(rows, wire.JOB_FIELDS, "Listing jobs")
    assert "Listing jobs" in caught.value.message


@given(
    st.recursive(
        VALUES, lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(max_size=6), inner)), max_leaves=12
    )
)
def test_any_json_is_rows_or_a_protocol_error(data: Any) -> None:
    try:
        rows = rows_of(data, wire.JOB_FIELDS, "x")
    except ProtocolError:
        return
    assert all(not wire.JOB_FIELDS.isdisjoint(row) for row in rows)


@pytest.mark.parametrize(
    "data",
    [
        {"jobid": [1, 2], "user": ["ann"]},
        [{"keys": ["jobid", "user"], "values": [1]}],
        [1, 2],
        "jobs",
        [["jobid", 1]],
    ],
)
def test_rows_that_do_not_fit_together_are_an_error(data: Any) -> None:
    with pytest.raises(ProtocolError):
        rows_of(data, wire.JOB_FIELDS, "x")


def test_rows_may_lie_one_level_deeper() -> None:
    assert rows_of({"jobs": [{"jobid": 1}]}, wire.JOB_FIELDS, "x") == [{"jobid": 1}]
    assert rows_of({"nodes": [{"name": "n"}], "total": 1}, wire.NODE_FIELDS, "x") == [{"name": "n"}]
    assert rows_of(None, wire.JOB_FIELDS, "x") == []
    with pytest.raises(ProtocolError):
        row_of([], wire.JOB_FIELDS, "x")


# -- the envelope ----------------------------------------------------------------------------------------------------


def body(**more: Any) -> bytes:
    return json.dumps({"code": 200, "msg": "", "data": [], "count": 0, **more}).encode()


@pytest.mark.parametrize("code", [200, 201, 202, 202.0])
def test_known_success_is_http_200_with_a_code_of_200_201_or_202(code: float) -> None:
    assert unwrap(200, body(code=code, data=[1], count=7, msg="ok"), "x")[:2] == ([1], 7)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (400, Invalid),
        (401, Unauthenticated),
        (403, Forbidden),
        (404, NotFound),
        (405, Unsupported),
        (409, Conflict),
        (412, Conflict),
        (413, Invalid),
        (422, Invalid),
        (429, Unavailable),
        (500, Unavailable),
        (501, Unsupported),
        (503, Unavailable),
        (302, ProtocolError),
        (418, ProtocolError),
    ],
)
def test_known_an_error_is_one_by_http_status_and_by_code(code: int, expected: type[AdapterError]) -> None:
    for status, answer in ((code, body(code=code, msg="its words")), (200, body(code=code, msg="its words"))):
        with pytest.raises(AdapterError) as caught:
            unwrap(status, answer, "Doing it")
        assert type(caught.value) is expected
        assert "its words" in caught.value.message and "Doing it" in caught.value.message


def test_hostile_words_of_a_server_are_cleaned() -> None:
    with pytest.raises(Invalid) as caught:
        unwrap(422, body(code=422, msg="no\x1b[2J\u202e"), "x")
    assert "\x1b" not in caught.value.message and "\u202e" not in caught.value.message


@pytest.mark.parametrize(
    "answer", [b"", b"<html>", b"[1, 2]", b'{"data": []}', b'{"code": "200"}', b'{"code": true}', b"[" * 5000]
)
def test_what_is_no_envelope_is_a_protocol_error(answer: bytes) -> None:
    with pytest.raises(ProtocolError):
        unwrap(200, answer, "x")


def test_the_node_service_may_answer_without_an_envelope() -> None:
    assert unwrap(200, b'[{"name": "n"}]', "x", envelope=False).data == [{"name": "n"}]
    assert unwrap(200, body(data=[3]), "x", envelope=False).data == [3]


# -- values ----------------------------------------------------------------------------------------------------------


def test_known_sizes_are_mb_read_as_decimal() -> None:
    assert wire.bytes_of_mb(4096) == 4_096_000_000
    assert wire.bytes_of_mb("4096 MB") == 4_096_000_000
    assert wire.bytes_of_mb("4 GB") == 4_096_000_000, "GB there means 1024 MB"
    assert [wire.bytes_of_mb(value) for value in (None, "much", -1, float("nan"), float("inf"))] == [None] * 5


@given(st.integers(1, 2**50))
def test_known_a_memory_limit_is_text_in_mb_rounded_up(size: int) -> None:
    text = wire.mem_limit(size)
    assert text.endswith(" MB")
    sent = wire.bytes_of_mb(text)
    assert sent is not None and size <= sent < size + 1_000_000


@given(st.integers(1, 10**8))
def test_known_a_run_limit_is_hh_mm_rounded_up(seconds: int) -> None:
    hours, minutes = wire.run_limit(seconds).split(":")
    assert len(minutes) == 2 and int(minutes) < 60
    assert seconds <= int(hours) * 3600 + int(minutes) * 60 < seconds + 60


@pytest.mark.parametrize(
    "value",
    [
        1_700_000_000,
        1_700_000_000.0,
        "1700000000",
        "2023-11-14T22:13:20Z",
        "2023-11-14T23:13:20+01:00",
        "2023-11-14 22:13:20",
    ],
)
def test_a_time_is_seconds_or_iso_and_comes_out_in_utc(value: Any) -> None:
    assert wire.moment(value) == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


@pytest.mark.parametrize("value", [None, "", 0, "0", "-", "soon", [], {}, 10**30, float("nan"), True and "x-y"])
def test_what_is_no_time_is_not_known(value: Any) -> None:
    assert wire.moment(value) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (4, 4),
        (4.0, 4),
        ("4", 4),
        (2**60, 2**60),
        (2**64, None),
        (1e300, None),
        (True, None),
        ("x", None),
        (None, None),
        ([], None),
    ],
)
def test_known_a_number_may_come_as_int_int64_or_float(value: Any, expected: int | None) -> None:
    assert wire.whole(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        [{"id": "12", "kind": "afterok"}, {"id": 13, "kind": "afterany"}],
        [{"jobid": 12}, {"jobid": "13", "type": "afterany"}],
        "afterok:12,afterany:13",
        "done(12) && ended(13)",
        'done("12")&&ended("13")',
        ["afterok:12", "ended(13)"],
    ],
)
def test_dependencies_come_in_several_ways(value: Any) -> None:
    assert wire.dependencies_of(value) == (Dependency("12", "afterok"), Dependency("13", "afterany"))


def test_dependencies_on_several_jobs_at_once() -> None:
    assert wire.dependencies_of("afterok:12:13,14") == (
        Dependency("12", "afterok"),
        Dependency("13", "afterok"),
        Dependency("14", "afterok"),
    )
    assert wire.dependencies_of(None) == wire.dependencies_of("") == wire.dependencies_of(7) == ()


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("Open:Active", "active"),
        ("Open:Inact", "inactive"),
        ("Closed:Active", "draining"),
        ("Closed:Inact", "inactive"),
        ("", "unknown"),
        ("Strange", "unknown"),
    ],
)
def test_queue_states(raw: str, expected: str) -> None:
    assert wire.queue_status(raw) == expected


@pytest.mark.parametrize(
    ("host", "service", "enabled", "busy", "expected"),
    [
        ("ok", "idle", True, False, "idle"),
        ("ok", "busy", True, True, "busy"),
        ("closed_Full", "busy", True, True, "busy"),
        ("closed_Adm", "idle", False, False, "drain"),
        ("ok", "online", False, True, "drain"),
        ("unreach", "offline", False, False, "down"),
        ("unavail", "", None, False, "down"),
        ("", "", None, False, "unknown"),
        ("on_fire", "", None, False, "unknown"),
    ],
)
def test_node_states(host: str, service: str, enabled: bool | None, busy: bool, expected: str) -> None:
    assert wire.node_status(host, service, enabled, busy) == expected


def test_paths_are_quoted() -> None:
    assert wire.job_path("../hosts?x") == "/xce/v1/jobs/..%2Fhosts%3Fx"
    assert wire.node_path("a/b", "quota") == "/api/admin/nodes/a%2Fb/quota"


def test_no_id_leads_upwards() -> None:
    assert wire.job_path("..") == "/xce/v1/jobs/%2E%2E"
    assert wire.job_logs_path(".") == "/xce/v1/jobs/%2E/logs"
    assert wire.job_control_path("..") == "/xce/v1/jobs/%2E%2E/control"
    assert wire.queue_control_path("..") == "/xce/v1/queues/%2E%2E/control"
    assert wire.node_path("..", "token") == "/api/admin/nodes/%2E%2E/token"
    assert wire.key_path(".") == "/xce/v1/apikeys/%2E"
    assert wire.job_path("1.5") == "/xce/v1/jobs/1.5"
