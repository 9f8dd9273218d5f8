"""Anonymous recordings: whose it is is gone, what happened is still there."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from adapters.base import Capabilities, Delta, Identity, SourceState, Unavailable
from adapters.model import ArrayInfo, Dependency, Job, Metrics, Node, Queue
from adapters.replay import open_replay
from adapters.replay.anonymise import Anonymiser
from adapters.replay.recording import RecordingWriter

BEGAN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SECRET = (
    "alice",
    "bob",
    "fusion",
    "secretproj",
    "tokamak",
    "rack7",
    "10.1.2.3",
    "/home/alice",
    "hpc.example.org",
    "batch-x",
)
JOB = Job(
    "fusion/tokamak-run", "tokamak-run", "pending", "PEND", "batch-x", owner="alice", cores=4, submission_time=BEGAN,
    dependencies=(Dependency("fusion/first", "afterok"), Dependency("12", "afterany")), node_names=("rack7n1",),
    array=ArrayInfo("fusion/tokamak-run", range="1-9"), logs_url="https://hpc.example.org/logs/1", cluster="c",
    reason="Waiting for 4 cores of rack7n1, held by alice (tokamak)",
    extensions={"project": "secretproj", "command": "run /home/alice/x", "priority": 50, "uid": "fusion-uid"},
)  # fmt: skip
NODE = Node(
    "rack7n1", "drain", 8, features=("rack7",), reason="bob: fan of rack7n1 failed", cluster="c",
    extensions={"load": {"r1m": 0.5}, "address": "10.1.2.3", "mixed": {"a": 1, "b": "tokamak"}},
)  # fmt: skip
QUEUE = Queue("batch-x", "active", running_jobs=3, cluster="c", extensions={"hosts": ("rack7n1",), "priority": 3})
TOTALS = Metrics({"pending": 1}, {"drain": 1}, {"batch-x": (1, 3)}, at=BEGAN, cluster="c")


def recorded(path: Path) -> Path:
    can = Capabilities("double 1.0", push=True)
    with RecordingWriter(
        path, "hpc.example.org", can, Identity("alice", "user"), recorded=BEGAN, clock=lambda: 0.0, anonymous=True
    ) as file:
        kinds = frozenset({"job", "node", "queue", "metrics"})
        file.write(Delta((NODE, QUEUE, JOB, JOB._replace(id="77", name="x"), TOTALS), reset=kinds, snapshot=True))
        file.write(Delta(removals=(NODE.ref, JOB.ref)))
        file.write(SourceState("stale", error=Unavailable("rack7n1 does not answer alice", "ask bob"), note="bob"))
        file.log("77", "stdout", b"alice was here")
    return path


def test_nothing_tells_whose_it_was(tmp_path: Path) -> None:
    text = recorded(tmp_path / "f").read_text()
    assert [word for word in SECRET if word in text] == []
    assert "log" not in [key for line in text.splitlines() for key in json.loads(line)]


async def test_what_happened_is_still_there(tmp_path: Path) -> None:
    lines = recorded(tmp_path / "f").read_text().splitlines()
    (tmp_path / "g").write_text("\n".join(lines[:2]) + "\n")
    reader, _ = open_replay("c", tmp_path / "g", now=lambda: BEGAN, speed=0.0)
    first, second = await reader.list_jobs()
    (node,) = await reader.list_nodes()
    assert (first.status, first.cores, first.submission_time, dict(first.extensions)) == (
        "pending",
        4,
        BEGAN,
        {"priority": 50},
    )
    assert second.id == "77" and first.owner == second.owner == "user1"
    assert (
        first.node_names == (node.name,) and node.extensions["load"] == {"r1m": 0.5} and "mixed" not in node.extensions
    )
    assert first.reason == f"Waiting for 4 cores of {node.name}, held by user1 (...)"
    assert (
        first.dependencies[1] == Dependency("12", "afterany") and first.array is not None and first.array.id == first.id
    )
    assert set((await reader.metrics()).queues) == {first.queue}


def test_removals_name_what_was_shown(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in recorded(tmp_path / "f").read_text().splitlines()]
    rows = lines[1]["delta"]["upserts"]
    assert lines[2]["delta"]["removals"] == [["node", rows[0]["name"], None], ["job", rows[2]["id"], None]]


def test_the_same_name_is_always_the_same_stand_in() -> None:
    anonymiser = Anonymiser()
    assert [anonymiser.name("user", name) for name in ("a", "b", "a")] == ["user1", "user2", "user1"]
    assert anonymiser.name("node", "a") == "node1"
