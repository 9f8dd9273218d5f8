"""A job's output on screen: search, the first error, wrapping, following."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from adapters.base import LogChunk, NotFound
from console.screens.log import LogScreen
from console.screens.prompt import PromptScreen
from tests.doubles.memory_backend import MemoryReader
from tests.ui.scene import Scene, open_scene

LINES = [f"step {n} of 500" for n in range(500)]
LINES[200] = "RuntimeError: CUDA out of memory"
LINES[300] = "needle " + "x" * 300


def _logs(monkeypatch: pytest.MonkeyPatch, chunks: list[LogChunk] | Exception) -> None:
    async def job_logs(self: Any, id: str, stream: str = "stdout", **_: Any) -> AsyncIterator[LogChunk]:
        if isinstance(chunks, Exception):
            raise chunks
        for chunk in chunks:
            if chunk.stream == stream:
                yield chunk

    monkeypatch.setattr(MemoryReader, "job_logs", job_logs)


async def _open(scene: Scene) -> LogScreen:
    await scene.press("l")
    screen = scene.app.screen
    assert isinstance(screen, LogScreen)
    return screen


async def test_it_follows_the_end_searches_and_finds_the_first_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _logs(monkeypatch, [LogChunk("stdout", "\n".join(LINES).encode() + b"\n"), LogChunk("stdout", at_end=True)])
    async with open_scene(tmp_path, size=(80, 24)) as scene:
        screen = await _open(scene)
        await scene.until(lambda: "step 499 of 500" in scene.text and "the job is over" in scene.text)
        await scene.press("x")
        assert "CUDA out of memory" in scene.text and "line 201" in scene.text
        await scene.press("slash")
        assert isinstance(scene.app.screen, PromptScreen)
        await scene.press(*"needle", "enter")
        assert "line 301" in scene.text and not screen.view.following
        await scene.press("w")
        await scene.until(lambda: scene.text.count("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx") >= 3)
        await scene.press("G")
        assert screen.view.following
        await scene.press("k")
        assert not screen.view.following


async def test_streams_are_told_apart_and_an_empty_one_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _logs(monkeypatch, [LogChunk("stdout", b"to stdout\n")])
    async with open_scene(tmp_path, size=(80, 24)) as scene:
        await _open(scene)
        await scene.until(lambda: "to stdout" in scene.text)
        await scene.press("e")
        await scene.until(lambda: "wrote nothing to stderr" in scene.text)


async def test_a_log_that_cannot_be_read_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _logs(monkeypatch, NotFound("The log of job 4100 is gone.", "It was removed."))
    async with open_scene(tmp_path, size=(80, 24)) as scene:
        await _open(scene)
        await scene.until(lambda: "The log of job 4100 is gone." in scene.text)
