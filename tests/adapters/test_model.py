"""Rows: names, reused ids, JSON form."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

from adapters.model import ArrayInfo, Dependency, Job, Metrics, Node, Ref, as_json

SUBMITTED = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


def test_a_ref_reads_as_cluster_and_id() -> None:
    assert str(Ref("demo", "job", "17")) == "demo/17"


def test_a_reused_id_is_another_object() -> None:
    first = Job("17", cluster="demo", submission_time=SUBMITTED)
    second = Job("17", cluster="demo", submission_time=SUBMITTED + timedelta(days=1))
    assert first.ref != second.ref
    assert first.ref.id == second.ref.id


def test_the_backends_own_uid_outranks_the_submission_time() -> None:
    assert Job("a", submission_time=SUBMITTED, extensions={"uid": "u-1"}).born == "u-1"


def test_finished_is_what_cannot_change_any_more() -> None:
    assert [s for s in ("pending", "running", "failed", "cancelled", "unknown") if Job("1", status=s).finished] == [  # type: ignore[arg-type]
        "failed",
        "cancelled",
    ]


def test_json_has_the_field_names_of_the_model_and_utc_times() -> None:
    job = Job(
        "17",
        submission_time=datetime(2026, 5, 1, 14, 0, tzinfo=timezone(timedelta(hours=2))),
        dependencies=(Dependency("16", "afterok"),),
        array=ArrayInfo("9", index=3),
        cluster="demo",
        extensions={"signal": 9},
    )
    out = json.loads(json.dumps(as_json(job)))
    assert set(out) == set(Job._fields)
    assert out["submission_time"] == "2026-05-01T12:00:00Z"
    assert out["dependencies"] == [{"id": "16", "kind": "afterok"}]
    assert out["array"] == {"id": "9", "index": 3, "range": None}
    assert out["extensions"] == {"signal": 9}
    assert out["cores"] is None


def test_every_row_names_itself() -> None:
    assert Node("n1", cluster="demo").ref == Ref("demo", "node", "n1")
    assert Metrics(cluster="demo").ref == Ref("demo", "metrics", "metrics")
