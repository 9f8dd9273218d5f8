"""Reading a log for a screen: one stream, both as one, and what is said where their order is not known."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Literal, cast

from adapters.base import AdapterError, Forbidden, LogChunk, NotFound, Reader, Unsupported
from console.log_reading import FROM_NOW_ON, ONE_FILE, OVER, UNKNOWN_ORDER, follow, follow_both

Stream = Literal["stdout", "stderr"]


class ScriptedReader:
    """A double of a Reader: what its two files hold now, and the pieces that come while they are followed."""

    def __init__(self, now: dict[str, Any], then: dict[str, Any] | None = None) -> None:
        self._now = now
        self._then = then or {}
        self.asked: list[tuple[str, int | None, bool]] = []

    async def job_logs(
        self, id: str, stream: Stream, tail: int | None = None, since: int | None = None, follow: bool = False
    ) -> AsyncIterator[LogChunk]:
        self.asked.append((stream, since, follow))
        pieces = self._then.get(stream, []) if since is not None else self._now.get(stream, [])
        if isinstance(pieces, AdapterError):
            raise pieces
        for piece in pieces:
            yield piece


class Screen:
    """A double of a screen: what it was told, in order."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def fed(self, chunk: LogChunk) -> None:
        if chunk.data or chunk.reset:
            self.told.append(f"{chunk.stream}{' anew' if chunk.reset else ''}: {chunk.data.decode()}")

    def noted(self, stream: Stream, text: str) -> None:
        if text:
            self.told.append(f"note {stream}: {text}")

    def said(self, text: str) -> None:
        self.told.append(f"said: {text}")


def piece(stream: Stream, data: bytes = b"", offset: int = 0, **more: Any) -> LogChunk:
    return LogChunk(stream, data, offset, **more)


async def _both(reader: ScriptedReader) -> list[str]:
    screen = Screen()
    await follow_both(cast("Reader", reader), "7", screen)
    return screen.told


async def test_what_is_there_is_shown_stream_by_stream_which_is_said_and_then_what_comes() -> None:
    reader = ScriptedReader(
        {"stdout": [piece("stdout", b"a\n", 10)], "stderr": [piece("stderr", b"E\n", 20)]},
        {
            "stdout": [piece("stdout", b"b\n", 12), piece("stdout", offset=14, at_end=True)],
            "stderr": [piece("stderr", offset=22, at_end=True)],
        },
    )
    told = await _both(reader)
    assert told[:4] == ["stdout: a\n", "stderr: E\n", f"said: {UNKNOWN_ORDER}", f"said: {FROM_NOW_ON}"]
    assert "stdout: b\n" in told[4:] and told[-1] == f"note stdout: {OVER}"
    assert ("stdout", 12, True) in reader.asked and ("stderr", 22, True) in reader.asked


async def test_with_one_stream_alone_there_is_no_order_to_speak_of() -> None:
    told = await _both(
        ScriptedReader(
            {"stdout": [piece("stdout", b"a\n", at_end=True)], "stderr": [piece("stderr", at_end=True)]},
        )
    )
    assert told == ["stdout: a\n", f"note stdout: {OVER}"]


async def test_a_job_that_wrote_nothing_is_said_to() -> None:
    told = await _both(
        ScriptedReader({"stdout": [piece("stdout", at_end=True)], "stderr": [piece("stderr", at_end=True)]})
    )
    assert told == ["note stdout: -- the job wrote nothing --"]


async def test_two_streams_in_one_file_are_shown_once() -> None:
    both = {
        s: [piece(s, b"mixed\n", path="/home/ada/slurm-7.out")]  # type: ignore[arg-type]
        for s in ("stdout", "stderr")
    }
    end = [piece("stdout", b"more\n", 6, at_end=True, path="/home/ada/slurm-7.out")]
    told = await _both(ScriptedReader(both, {"stdout": end}))
    assert told == ["stdout: mixed\n", f"said: {ONE_FILE}", "stdout: more\n", f"note stdout: {OVER}"]


async def test_two_streams_whose_one_file_is_not_there_yet_are_shown_once_when_it_comes() -> None:
    waiting = NotFound("The job has not started.")
    name = {"path": "/home/ada/slurm-7.out"}
    then = {
        "stdout": [piece("stdout", note="There is no file yet.", **name), piece("stdout", b"x\n", at_end=True, **name)],
        "stderr": [piece("stderr", note="There is no file yet.", **name), piece("stderr", b"x\n", at_end=True, **name)],
    }
    told = await _both(ScriptedReader({"stdout": waiting, "stderr": waiting}, then))
    assert told.count("stdout: x\n") == 1 and "stderr: x\n" not in told
    assert f"said: {ONE_FILE}" in told


async def test_a_backend_with_one_log_says_so_and_is_simply_followed() -> None:
    reader = ScriptedReader(
        {
            "stderr": Unsupported("A container has one log.", "Standard error is in it."),
            "stdout": [piece("stdout", b"a\n"), piece("stdout", offset=2, at_end=True)],
        }
    )
    told = await _both(reader)
    assert told == [
        "said: -- A container has one log. Standard error is in it. --",
        "stdout: a\n",
        f"note stdout: {OVER}",
    ]
    assert all(since is None for _, since, _ in reader.asked)  # such a log cannot be gone on with from an offset


async def test_an_error_of_one_stream_does_not_hide_the_other() -> None:
    told = await _both(
        ScriptedReader(
            {"stdout": [piece("stdout", b"a\n")], "stderr": Forbidden("You may not read it.", "Ask its owner.")},
            {"stdout": [piece("stdout", offset=2, at_end=True)], "stderr": Forbidden("You may not read it.")},
        )
    )
    assert "stdout: a\n" in told
    assert told.count("said: -- You may not read it. Ask its owner. --") == 1


async def test_one_stream_says_its_end_or_what_is_wrong() -> None:
    for given, last in (
        ([piece("stdout", b"a\n"), piece("stdout", at_end=True)], f"note stdout: {OVER}"),
        ([piece("stdout", at_end=True)], "note stdout: -- the job wrote nothing to stdout --"),
        (NotFound("It is gone.", "It was removed."), "note stdout: -- It is gone. It was removed. --"),
        ([piece("stdout", b"new\n", reset=True, note="Lost. Trying again.")], "note stdout: -- Lost. Trying again. --"),
    ):
        screen = Screen()
        await follow(cast("Reader", ScriptedReader({"stdout": given})), "7", "stdout", screen)
        assert screen.told[-1] == last
