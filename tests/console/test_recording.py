"""A session on record plays back what was shown."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from adapters.model import Job, Node
from adapters.replay import open_replay
from console.config import Config
from console.engine import Engine
from console.recording import Recorder, RecordingFailed
from tests.doubles.memory_backend import MemoryBackend


async def _until(condition: object, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "the condition did not come true"
        await asyncio.sleep(0.01)


def _engine(backend: MemoryBackend, file: Path, anonymous: bool = False) -> Engine:
    config = Config.model_validate(
        {"version": 1, "clusters": {"demo": {"type": "native", "url": "http://127.0.0.1:1"}}}
    )
    return Engine(config, open_with=backend.open, read_through=Recorder(file, anonymous=anonymous).through)


async def test_what_was_watched_plays_back(tmp_path: Path, state_dir: Path) -> None:
    backend = MemoryBackend(rows=[Job("1", "train", "running", owner="ada"), Node("n1", "idle")])
    file = tmp_path / "session.jsonl"
    async with _engine(backend, file) as engine:
        await _until(lambda: engine.store.state("demo", "job").loaded)
        backend.put(Job("2", "later", "pending", owner="bob"))
        await _until(lambda: engine.store.count("job") == 2)
    reader, _ = open_replay("replay", file, speed=0.0, at=10_000)
    assert {job.name for job in await reader.list_jobs()} == {"train", "later"}
    assert [node.name for node in await reader.list_nodes()] == ["n1"]


async def test_an_anonymous_recording_names_nobody(tmp_path: Path, state_dir: Path) -> None:
    backend = MemoryBackend(rows=[Job("1", "secret-project", "running", owner="ada-lovelace")])
    file = tmp_path / "session.jsonl"
    async with _engine(backend, file, anonymous=True) as engine:
        await _until(lambda: engine.store.state("demo", "job").loaded)
    text = file.read_text()
    assert "lovelace" not in text and "secret" not in text


def test_a_recording_never_replaces_a_file(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    Recorder(file)
    with pytest.raises(RecordingFailed, match="cannot be written"):
        Recorder(file)
    with pytest.raises(RecordingFailed):
        Recorder(tmp_path / "nowhere" / "x.jsonl")
