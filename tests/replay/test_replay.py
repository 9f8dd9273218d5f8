"""Recordings: written, read, played at their times; secrets hidden, broken ones refused with a sentence."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import (
    Capabilities,
    Delta,
    Identity,
    Interest,
    InterestCell,
    ProtocolError,
    SourceState,
    Unavailable,
    Unreachable,
    WatchItem,
)
from adapters.model import ArrayInfo, Dependency, Job, Metrics, Node, Queue, Ref, ResourceSpec, Row, as_json
from adapters.replay import open_replay
from adapters.replay.record import record
from adapters.replay.recording import RecordingWriter, in_pieces, load
from adapters.replay.rows import RowDecoder, encode_row
from adapters.replay.secrets import hide
from adapters.text import clean

BEGAN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
DEMO = Path(__file__).parents[1] / "data" / "replay" / "demo_feed.jsonl"


class Clock:
    """Seconds that go on as somebody sleeps: a replay in no time."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)
        self.seconds += seconds


def write(path: Path, *items: tuple[float, WatchItem], push: bool = True) -> Path:
    clock = Clock()
    can = Capabilities("double 1.0", push=push, absent={"node": frozenset({"gpus_used"})})
    with RecordingWriter(path, "source", can, Identity("ann", "user"), recorded=BEGAN, clock=clock) as file:
        for at, item in items:
            clock.seconds = at
            file.write(item)
    return path


def job(id: str, **more: Any) -> Job:
    return Job(id, f"job {id}", submission_time=BEGAN, owner="ann", cluster="source", **more)


def snapshot(*rows: Row) -> Delta:
    return Delta(rows, reset=frozenset({"job"}), snapshot=True, at=BEGAN)


def play(path: Path, clock: Clock, **more: Any) -> Any:
    options = {"now": lambda: BEGAN, "clock": clock, "sleep": clock.sleep, **more}
    return open_replay("c", path, **options)[0]


async def told(reader: Any, count: int, cell: InterestCell | None = None) -> list[WatchItem]:
    items: list[WatchItem] = []
    async with asyncio.timeout(10), aclosing(reader.watch(cell or InterestCell())) as source:
        async for item in source:
            items.append(item)
            if len(items) >= count:
                return items
    raise AssertionError


# -- rows ------------------------------------------------------------------------------------------------------------

TEXT = st.text(max_size=8).map(clean)
TIME = st.none() | st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
NUMBER = st.none() | st.integers(0, 2**50)
JOBS = st.fixed_dictionaries(
    {"id": TEXT.filter(bool)},
    optional={
        "name": TEXT,
        "status": st.sampled_from(["pending", "running", "unknown"]),
        "queue": st.none() | TEXT,
        "cores": NUMBER,
        "dependencies": st.lists(st.builds(Dependency, TEXT, TEXT), max_size=2).map(tuple),
        "submission_time": TIME,
        "node_names": st.lists(TEXT, max_size=2).map(tuple),
        "array": st.none() | st.builds(ArrayInfo, TEXT, NUMBER, st.none() | TEXT),
        "extensions": st.dictionaries(TEXT, st.one_of(NUMBER, TEXT, st.lists(TEXT, max_size=2).map(tuple)), max_size=2),
    },
).map(lambda fields: Job(cluster="c", **fields))
OTHERS: list[Row] = [
    Queue("q", "active", 1, 2, 3, 60, ResourceSpec(1, 2, None, 4), "c", {"a": 1}),
    Node("n", "busy", 8, slots_quota=0, slots_total=4, features=("x",), heartbeat_time=BEGAN, cluster="c"),
    Metrics({"running": 1}, {"busy": 1}, {"q": (1, 2)}, cores_total=3, at=BEGAN, cluster="c"),
]


@given(JOBS)
def test_a_job_is_read_as_it_was_written(row: Job) -> None:
    assert RowDecoder("c", timedelta()).row(json.loads(json.dumps(encode_row(row)))) == row


@pytest.mark.parametrize("row", OTHERS)
def test_other_rows_are_read_as_they_were_written(row: Row) -> None:
    assert RowDecoder("c", timedelta()).row(json.loads(json.dumps(encode_row(row)))) == row


def test_times_move_and_so_does_born() -> None:
    decoder = RowDecoder("c", timedelta(days=1))
    moved = decoder.row(encode_row(job("1")))
    assert moved.ref.born == (BEGAN + timedelta(days=1)).isoformat()
    assert decoder.ref(["job", "1", job("1").born]) == moved.ref
    assert decoder.ref(["job", "1", "some-uid"]).born == "some-uid"


def test_texts_of_a_recording_are_cleaned() -> None:
    row = RowDecoder("c", timedelta()).row(
        {"kind": "job", "id": "1", "name": "a\x1b[2J", "extensions": {"k\u202e": "\x07"}}
    )
    assert "\x1b" not in row.name and all(clean(text) == text for pair in row.extensions.items() for text in pair)


@pytest.mark.parametrize(
    "text",
    [
        "curl -H 'Authorization: Bearer abc.def'",
        "run --key xce_ak_Ab1-_x",
        "TOKEN=hunter2 ./x",
        "export AWS_SECRET_ACCESS_KEY=wJalrXUtn",
        "psql postgres://me:hunter2@db/x",
        "password=hunter2",
        "sk-ant-REDACTED",
        "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeKKF2QT4",
    ],
)
def test_what_looks_like_a_credential_is_hidden(text: str) -> None:
    hidden = hide(text)
    assert "[hidden]" in hidden
    for secret in ("abc.def", "Ab1-_x", "hunter2", "wJalrXUtn", "api03", "SflKxwRJ"):
        assert secret not in hidden


def test_ordinary_text_is_left_as_it_is() -> None:
    for text in ("sleep 60", "python train.py --tokens 512", "a job of the keynote", "http://host:80/x", "secretary"):
        assert hide(text) == text


def test_variables_of_a_job_are_never_recorded(tmp_path: Path) -> None:
    file = write(tmp_path / "f", (0, snapshot(job("1", extensions={"env": {"A": "hunter2"}, "project": "p"}))))
    assert "hunter2" not in file.read_text() and file.stat().st_mode & 0o777 == 0o600


# -- playing ---------------------------------------------------------------------------------------------------------


async def test_batches_come_at_their_times(tmp_path: Path) -> None:
    running, done = job("1", status="running"), job("1", status="succeeded")
    file = write(
        tmp_path / "f", (0, snapshot(job("1"))), (0, SourceState("live")), (2, Delta((running,))), (5, Delta((done,)))
    )
    clock = Clock()
    items = await told(play(file, clock), 5)
    assert [item.label if isinstance(item, SourceState) else item.upserts[0].status for item in items] == [
        "connecting", "unknown", "live", "running", "succeeded",
    ]  # fmt: skip
    assert clock.seconds == 5.0


async def test_speed_and_beginning(tmp_path: Path) -> None:
    file = write(tmp_path / "f", (0, snapshot(job("1"))), (10, Delta((job("2"),))), (20, Delta((job("3"),))))
    clock = Clock()
    first, *_ = [item for item in await told(play(file, clock, speed=10.0, at=10.0), 4) if isinstance(item, Delta)]
    assert first.snapshot and {row.id for row in first.upserts} == {"1", "2"}
    assert clock.seconds == 1.0
    still = play(file, Clock(), speed=0.0, at=15.0)
    assert {job.id for job in await still.list_jobs()} == {"1", "2"}


async def test_times_seem_to_be_now(tmp_path: Path) -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    reader = play(write(tmp_path / "f", (0, snapshot(job("1")))), Clock(), now=lambda: now)
    assert (await reader.get_job("1")).submission_time == now


async def test_a_list_does_not_take_lines_away_from_the_watch(tmp_path: Path) -> None:
    file = write(tmp_path / "f", (0, snapshot(job("1"))), (0, SourceState("live")), (1, Delta((job("2"),))))
    clock = Clock()
    reader = play(file, clock)
    async with aclosing(reader.watch(InterestCell())) as items:
        for _ in range(3):
            await anext(items)
        clock.seconds = 2.0
        assert len(await reader.list_jobs()) == 2
        delta = await anext(items)
        assert isinstance(delta, Delta) and [row.id for row in delta.upserts] == ["2"]


async def test_the_end_is_said_and_the_rows_stay(tmp_path: Path) -> None:
    reader = play(write(tmp_path / "f", (0, snapshot(job("1"))), (0, SourceState("live"))), Clock())
    items = await told(reader, 4)
    assert isinstance(items[-1], SourceState) and items[-1].note == "The recording has ended."
    assert len(await reader.list_jobs()) == 1


async def test_errors_and_states_are_played_too(tmp_path: Path) -> None:
    lost = SourceState("stale", frozenset({"job"}), error=Unavailable("gone", "wait"), retry_at=BEGAN, note="n")
    items = await told(play(write(tmp_path / "f", (0, snapshot()), (1, lost)), Clock()), 4)
    state = next(item for item in items if isinstance(item, SourceState) and item.label == "stale")
    assert type(state.error) is Unavailable and (state.error.message, state.retry_at, state.note) == (
        "gone",
        BEGAN,
        "n",
    )


async def test_interest_is_kept_to(tmp_path: Path) -> None:
    rows = (job("1"), job("2")._replace(owner="bob"), Node("n", cluster="source"))
    file = write(tmp_path / "f", (0, Delta(rows, reset=frozenset({"job", "node"}), snapshot=True)))
    cell = InterestCell(Interest(kinds=frozenset({"job"}), owner="mine"))
    delta = next(item for item in await told(play(file, Clock()), 2, cell) if isinstance(item, Delta))
    assert [row.id for row in delta.upserts] == ["1"] and delta.reset == {"job"}


async def test_removals_take_only_what_was_meant(tmp_path: Path) -> None:
    new = job("1")._replace(submission_time=BEGAN + timedelta(hours=1))
    gone = Delta((new,), (job("1").ref,))
    file = write(
        tmp_path / "f", (0, snapshot(job("1"), job("2"))), (1, gone), (1, Delta(removals=(Ref("source", "job", "2"),)))
    )
    clock = Clock()
    clock.seconds = 0.0
    reader = play(file, clock)
    await reader.list_jobs()
    clock.seconds = 3.0
    assert [row.submission_time for row in await reader.list_jobs()] == [new.submission_time]


def test_a_large_snapshot_is_written_in_pieces() -> None:
    pieces = list(in_pieces(snapshot(*(job(str(i)) for i in range(5))), 2))
    assert [(len(p.upserts), bool(p.reset), p.more) for p in pieces if isinstance(p, Delta)] == [
        (2, True, True),
        (2, False, True),
        (1, False, False),
    ]


# -- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        "",
        "\n",
        "no json\n",
        "[]\n",
        '{"format": "pilothouse-feed"}\n',
        '{"format": "pilothouse-feed", "version": 2}\n',
        '{"format": "pilothouse-feed", "version": 1}\n',
        '{"format": "pilothouse-feed", "version": 1, "cluster": "c", "recorded": "soon"}\n',
        '{"format": "pilothouse-feed", "version": 1, "cluster": "c", "recorded": "2026-01-01", "absent": 3}\n',
    ],
)
async def test_what_is_no_recording_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "f").write_text(content)
    with pytest.raises(ProtocolError):
        await play(tmp_path / "f", Clock()).list_jobs()


@pytest.mark.parametrize(
    "line",
    ["no time", '{"t":"x","delta":{}}', '{"t":0,"delta":7}', '{"t":0,"delta":{"upserts":[{"kind":"job"}]}}',
     '{"t":0,"delta":{"upserts":[{"kind":"ship","id":"1"}]}}', '{"t":0,"state":{}}', '{"t":0,"delta":{"upserts":[7]}}',
     '{"t":0,"delta":{"upserts":[{"kind":"job","id":"1","start_time":"soon"}]}}', '{"t":0,"delta":'],
)  # fmt: skip
async def test_a_broken_line_is_a_protocol_error(tmp_path: Path, line: str) -> None:
    file = write(tmp_path / "f")
    file.write_text(file.read_text() + line + "\n")
    with pytest.raises(ProtocolError):
        await play(file, Clock()).list_jobs()


async def test_a_last_line_that_was_cut_short_is_left_out(tmp_path: Path) -> None:
    file = write(tmp_path / "f", (0, snapshot(job("1"))), (0, Delta((job("2"),))))
    file.write_bytes(file.read_bytes()[:-20])
    assert [row.id for row in await play(file, Clock()).list_jobs()] == ["1"]


async def test_a_file_that_is_not_there_is_unreachable(tmp_path: Path) -> None:
    with pytest.raises(Unreachable) as caught:
        await play(tmp_path / "missing", Clock()).capabilities()
    assert "missing" in caught.value.message


async def test_recording_a_replay_gives_the_same_again(tmp_path: Path) -> None:
    """Everything but the time of the recording and the state at its end survives."""
    copy = tmp_path / "copy"
    clock = Clock()
    original = play(DEMO, clock, at=10.0, speed=0.0)
    await record(original, copy, 0.5, clock=clock)
    again = open_replay("c", copy, now=lambda: load(copy)[0].recorded, speed=0.0)[0]
    first, second = await original.list_jobs(), await again.list_jobs()
    assert len(first) > 20 and [as_json(row) for row in first] == [as_json(row) for row in second]


# -- the demonstration -----------------------------------------------------------------------------------------------


async def test_the_demo_recording_is_whole_and_clean() -> None:
    reader = play(DEMO, Clock(), speed=0.0, at=60.0)
    jobs, nodes, queues = await reader.list_jobs(), await reader.list_nodes(), await reader.list_queues()
    assert {job.status for job in jobs} >= {"pending", "running", "succeeded", "failed"}
    assert len(nodes) == 3 and {node.slots_total for node in nodes} == {8} and len(queues) == 3
    done = next(job for job in jobs if job.status == "succeeded")
    assert b"".join([chunk.data async for chunk in reader.job_logs(done.id)])
    text = DEMO.read_text()
    assert "xce_ak_" not in text and "/tmp/" not in text and "/home/" not in text
