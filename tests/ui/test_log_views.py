"""The views of a log: both streams beside each other or as one, colours, wide characters, and what keeps its place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from adapters.base import LogChunk, Unsupported
from console.screens import log_open
from console.screens.log import LogScreen
from tests.doubles.memory_backend import MemoryReader
from tests.ui.scene import Scene, open_scene
from widgets import log_text


class Feed:
    """What a test lets a job write. Every reading gets what was written before, then what comes."""

    def __init__(self) -> None:
        self._chunks: list[LogChunk] = []
        self._news = asyncio.Event()

    def write(self, stream: Any, data: bytes, **more: Any) -> None:
        offset = sum(len(chunk.data) for chunk in self._chunks if chunk.stream == stream)
        self._chunks.append(LogChunk(stream, data, offset, **more))
        self._news.set()

    async def read(self, stream: str, since: int | None, follow: bool) -> AsyncIterator[LogChunk]:
        at = 0
        while True:
            while at < len(self._chunks):
                chunk, at = self._chunks[at], at + 1
                if chunk.stream == stream and (since is None or chunk.offset >= since):
                    yield chunk
            if not follow:
                return
            self._news.clear()
            await self._news.wait()


@pytest.fixture
def feed(monkeypatch: pytest.MonkeyPatch) -> Feed:
    source = Feed()

    async def job_logs(
        self: Any, id: str, stream: str = "stdout", tail: int | None = None, since: int | None = None,
        follow: bool = False,
    ) -> AsyncIterator[LogChunk]:  # fmt: skip
        async for chunk in source.read(stream, since, follow):
            yield chunk

    monkeypatch.setattr(MemoryReader, "job_logs", job_logs)
    return source


async def _open(scene: Scene, views: int = 0) -> LogScreen:
    await scene.press("l", *["e"] * views)
    screen = scene.app.screen
    assert isinstance(screen, LogScreen)
    return screen


def _row(scene: Scene, words: str) -> int:
    found = [n for n, line in enumerate(scene.text.splitlines()) if words in line]
    assert found, f"{words!r} is not on screen:\n{scene.text}"
    return found[0]


async def test_e_goes_through_the_four_views_and_round(tmp_path: Path, feed: Feed) -> None:
    feed.write("stdout", b"to stdout\n")
    feed.write("stderr", b"to stderr\n")
    async with open_scene(tmp_path) as scene:
        await _open(scene)
        await scene.until(lambda: "to stdout" in scene.text and "to stderr" not in scene.text)
        await scene.press("e")
        await scene.until(lambda: "to stderr" in scene.text and "to stdout" not in scene.text)
        await scene.press("e")
        await scene.until(lambda: "to stderr" in scene.text and "to stdout" in scene.text)
        assert _row(scene, "to stdout") == _row(scene, "to stderr")
        await scene.press("e")
        await scene.until(lambda: "e to stderr" in scene.text and "order of arrival" in scene.text)
        feed.write("stderr", b"second\n")
        await scene.until(lambda: "e second" in scene.text)
        feed.write("stdout", b"third\n")
        await scene.until(lambda: "third" in scene.text)
        rows = [_row(scene, words) for words in ("to stdout", "to stderr", "order of arrival", "second", "third")]
        assert rows == sorted(rows)
        await scene.press("e")
        await scene.until(lambda: "to stdout" in scene.text and "to stderr" not in scene.text)


async def test_beside_stands_one_above_the_other_where_it_is_narrow_and_tab_changes(tmp_path: Path, feed: Feed) -> None:
    feed.write("stdout", b"".join(b"out %d\n" % n for n in range(100)))
    feed.write("stderr", b"".join(b"err %d\n" % n for n in range(100)))
    async with open_scene(tmp_path, size=(80, 24)) as scene:
        screen = await _open(scene, 2)
        await scene.until(lambda: "out 99" in scene.text and "err 99" in scene.text)
        assert _row(scene, "out 99") < _row(scene, "err 99")
        await scene.press("g")
        await scene.until(lambda: "out 0" in scene.text and "err 99" in scene.text)
        await scene.press("tab", "k")
        assert screen.panes[1].view.is_mounted and screen.view is screen.panes[1].view
        assert not screen.panes[1].view.following
        await scene.press("G", "tab", "G")
        await scene.until(lambda: all(pane.view.following for pane in screen.panes))
        await scene.press("slash", *"err 5", "enter")
        await scene.until(lambda: "'err 5' is not in it" in scene.text)
        await scene.press("tab", "n")
        await scene.until(lambda: "line 6" in scene.text)
        await scene.pilot.resize_terminal(160, 40)
        await scene.until(lambda: _row(scene, "stdout of job") == _row(scene, " stderr "))


async def test_what_is_on_screen_stays_while_lines_come_and_old_ones_are_dropped(
    tmp_path: Path, feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_text, "KEEP", 1000)
    feed.write("stdout", b"".join(b"line %d end\n" % n for n in range(1000)))
    async with open_scene(tmp_path, size=(80, 24)) as scene:
        screen = await _open(scene)
        await scene.until(lambda: "line 999 end" in scene.text)
        for wrapped in (False, True):
            if wrapped:
                await scene.press("w")
            await scene.press("pageup", "pageup", "pageup")
            top = screen.view.text.line(screen.view.top)
            row = _row(scene, top)
            feed.write("stdout", b"".join(b"more %d end\n" % n for n in range(100)))
            dropped = screen.view.text.dropped
            await scene.until(lambda d=dropped: screen.view.text.dropped >= d + 100 and not screen.view.fresh)
            await scene.settle()
            assert _row(scene, top) == row
            await scene.press("G")
            await scene.until(lambda: "more 99 end" in scene.text)


async def test_a_file_that_begins_anew_is_shown_anew_and_in_the_merged_view_said(tmp_path: Path, feed: Feed) -> None:
    feed.write("stdout", b"before\n")
    async with open_scene(tmp_path) as scene:
        await _open(scene)
        await scene.until(lambda: "before" in scene.text)
        feed.write("stdout", b"after\n", reset=True)
        await scene.until(lambda: "after" in scene.text and "before" not in scene.text)
        await scene.press("e", "e", "e")
        await scene.until(lambda: "after" in scene.text)
        feed.write("stdout", b"once more\n", reset=True)
        await scene.until(lambda: "stdout was cut or replaced and begins anew" in scene.text)
        await scene.until(lambda: "once more" in scene.text)


async def test_colours_bars_binary_and_wide_names(tmp_path: Path, feed: Feed) -> None:
    feed.write("stdout", b"\x1b[32mgreen\x1b[0m plain\n")
    feed.write("stdout", b" 10%\r 50%\r100% \xe6\x97\xa5\xe6\x9c\xac\n")
    feed.write("stdout", bytes(range(256)) + b"\n")
    feed.write("stdout", b"\x1b]52;c;aGVsbG8=\x07clipboard\x1b[2J\n")
    async with open_scene(tmp_path, size=(80, 24)) as scene:
        screen = await _open(scene)
        await scene.until(lambda: "clipboard" in scene.text)
        strip = screen.view.render_line(0)
        assert [(s.text, str(s.style.color and s.style.color.name)) for s in list(strip)[:1]] == [("green", "green")]
        assert strip.text.rstrip() == "green plain"
        assert screen.view.render_line(1).text.rstrip() == "100% 日本"
        assert all(screen.view.render_line(y).cell_length == screen.view.size.width for y in range(6))
        assert "␀␁␂" in scene.text and "\x1b" not in scene.text


async def test_a_backend_with_one_log_says_so_in_every_view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def job_logs(self: Any, id: str, stream: str = "stdout", **_: Any) -> AsyncIterator[LogChunk]:
        if stream == "stderr":
            raise Unsupported("A container has one log.", "It holds both.")
        yield LogChunk("stdout", b"both\n", at_end=True)

    monkeypatch.setattr(MemoryReader, "job_logs", job_logs)
    async with open_scene(tmp_path) as scene:
        await _open(scene, 2)
        await scene.until(lambda: "both" in scene.text and "A container has one log." in scene.text)
        await scene.press("e")
        await scene.until(lambda: "both" in scene.text and "A container has one log." in scene.text)


def _look(file: Path, *, private: bool) -> str:
    """What an editor finds there."""
    assert not private or file.stat().st_mode & 0o777 == 0o600
    return file.read_text()


@pytest.mark.parametrize("kind", ["file", "no file", "unreadable", "large"])
async def test_the_editor_gets_the_file_itself_or_a_copy(
    tmp_path: Path, feed: Feed, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """The program that would run is taken down here; that it runs is tested on a real terminal."""
    file = tmp_path / "slurm-1.out"
    file.write_bytes(b"all of it\n")
    if kind == "large":
        monkeypatch.setattr(log_open, "MOST_EDITED", 5)
    path = {"no file": "", "unreadable": str(tmp_path / "nope")}.get(kind, str(file))
    feed.write("stdout", b"\x1b[31mwhat was read\x07\n", path=path)
    ran: list[tuple[list[str], str]] = []

    async def run(app: Any, argv: Sequence[str], text: bytes | None = None) -> int:
        ran.append((list(argv), _look(Path(argv[-1]), private=kind != "file")))
        return 0

    monkeypatch.setattr(log_open, "run_outside", run)
    monkeypatch.setenv("EDITOR", "my-editor --wait 'a b'")
    async with open_scene(tmp_path) as scene:
        await _open(scene)
        await scene.until(lambda: "what was read" in scene.text)
        await scene.press("E")
        await scene.until(lambda: ran)
        (argv, text) = ran[0]
        assert argv[:3] == ["my-editor", "--wait", "a b"]
        if kind == "file":
            assert argv[3:] == [str(file)] and text == "all of it\n"
            return
        assert text == "what was read␇\n"
        await scene.until(lambda: "that was a copy of what was read" in scene.text)
        assert not Path(argv[-1]).parent.exists()


async def test_a_pager_that_cannot_run_is_said(tmp_path: Path, feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    feed.write("stdout", b"text\n")
    async with open_scene(tmp_path) as scene:
        await _open(scene)
        monkeypatch.setenv("PAGER", "less 'unbalanced")
        await scene.press("v")
        await scene.until(lambda: "cannot be read: No closing quotation" in scene.text)
        monkeypatch.setenv("PAGER", "less")
        await scene.press("v")
        await scene.until(lambda: "no other program can run here" in scene.text)  # this test has no terminal
