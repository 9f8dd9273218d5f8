"""The language of the filter line."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.model import Job, Kind, Node
from console.filters import FilterError, compile_filter, timed

NOW = datetime.now(UTC)
JOBS = [
    Job("1", "train-resnet", "running", owner="ada", queue="gpu", cores=8, gpus=2, memory_bytes=32 * 10**9,
        walltime_seconds=7200, submission_time=NOW - timedelta(days=3), start_time=NOW - timedelta(hours=2)),
    Job("2", "qc-7", "failed", owner="bob", queue="short", cores=1, exit_code=137, reason="out of memory",
        submission_time=NOW - timedelta(hours=5), start_time=NOW - timedelta(hours=4),
        end_time=NOW - timedelta(hours=3)),
    Job("3", "qc-note", "pending", owner="ada", queue="gpu", cores=64, submission_time=NOW - timedelta(minutes=40),
        extensions={"comment": "urgent", "priority": 12}),
    Job("4", "Train", "cancelled", owner="eve"),
]  # fmt: skip


def found(text: str) -> str:
    test = compile_filter("job", text)
    return "".join(job.id for job in JOBS if test is None or test(job))


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", "1234"),
        ("qc", "23"),
        ("qc ada", "3"),
        ('"out of memory"', "2"),
        ('"out of', "2"),
        ("owner:ada,bob", "123"),
        ("state:failed,cancelled", "24"),
        ("name=train", "4"),
        ("name!=train", "123"),
        ("cores>=8", "13"),
        ("cores<8", "2"),
        ("cores>8 owner:ada", "3"),
        ("mem>16GB", "1"),
        ("mem<=32GB", "1"),
        ("limit>=2h", "1"),
        ("age>2d", "1"),
        ("age<1h", "3"),
        ("time>90m", "1"),
        ("time<=1h", "2"),
        ("waited>30m", "123"),
        ("gpus>0", "1"),
        ("exit>0", "2"),
        ("/qc-[0-9]+/", "2"),
        ("name:/^qc/", "23"),
        ("/^TRAIN/i", "14"),
        ("!/qc/", "14"),
        ("~trn", "14"),
        ("~rsnt", "1"),
        ("ext.comment:urgent", "3"),
        ("ext.priority>10", "3"),
        ("!cores>=8", "24"),
        ("-owner:ada", "24"),
        ("/not/closed", ""),
        ("user:ada state:pending", "3"),
        ("nothing:here", ""),
    ],
)
def test_what_a_filter_finds(text: str, ids: str) -> None:
    assert found(text) == ids


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("job", "cores>=many", "compared with a number"),
        ("job", "mem>5", "unit"),
        ("job", "age>5", "duration"),
        ("job", "/[/", "no regular expression"),
        ("job", "warp>9", "no warp"),
        ("node", "age>1h", "A node has no age"),
    ],
)
def test_what_means_nothing_is_said(kind: Kind, text: str, words: str) -> None:
    with pytest.raises(FilterError, match=words):
        compile_filter(kind, text)


def test_nodes_too() -> None:
    node = Node("n1", "idle", slots_used=3, slots_total=8, heartbeat_time=NOW - timedelta(minutes=9), features=("ssd",))
    for text in ("slots>2", "heartbeat>5m", "ssd", "features:ssd", "state=idle"):
        test = compile_filter("node", text)
        assert test is not None and test(node), text


def test_which_filters_change_with_time() -> None:
    assert timed("owner:ada age>2d") and timed("!time>1h") and not timed("cores>4 ada")


@given(st.text(max_size=60))
def test_any_text_is_a_filter_or_a_sentence(text: str) -> None:
    try:
        test = compile_filter("job", text)
    except FilterError as error:
        assert str(error)
    else:
        for job in JOBS:
            assert test is None or isinstance(test(job), bool)
