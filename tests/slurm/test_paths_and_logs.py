"""Where output lies, and how it is read, followed, and missed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.base import Forbidden, LogChunk, NotFound
from adapters.slurm import logs
from adapters.slurm.logs import Place, read_log
from adapters.slurm.paths import default_output, output_path, resolve

ELEMENT = {
    "JobID": "37", "JobArrayID": "29_2", "ArrayJobID": "29", "ArrayTaskID": "2", "UserName": "alice", "Name": "scan[1]",
    "NodeList": "n[03-04]", "WorkDir": "/home/alice/run", "STDOUT": "%x-%A_%a.out", "STDERR": "(null)",
}  # fmt: skip
PLAIN = ELEMENT | {"JobID": "31", "ArrayJobID": "31", "ArrayTaskID": "N/A", "Name": "plain"}


@pytest.mark.parametrize(
    ("pattern", "job", "path"),
    [
        ("%A_%a.out", ELEMENT, "/home/alice/run/29_2.out"), ("%5a", ELEMENT, "/home/alice/run/00002"),
        ("%j", ELEMENT, "/home/alice/run/37"), ("%x-%u-%N", ELEMENT, "/home/alice/run/scan[1]-alice-n03"),
        ("/abs/%j.log", PLAIN, "/abs/31.log"), ("%A", PLAIN, "/home/alice/run/31"),
        ("100%%", PLAIN, "/home/alice/run/100%"),
        ("%a", PLAIN, "/home/alice/run/4294967294"), ("%b", ELEMENT, "/home/alice/run/2"),
        ("%z", PLAIN, "/home/alice/run/%z"),
        ("%6j", PLAIN, "/home/alice/run/000031"), ("%3x", PLAIN, "/home/alice/run/plain"),
        ("%t.%n.%s", PLAIN, "/home/alice/run/0.0.batch"),
        ("a\\%j", PLAIN, "/home/alice/run/a%j"), ("%99j", PLAIN, "/home/alice/run/0000000031"),
    ],
)  # fmt: skip
def test_patterns(pattern: str, job: dict[str, str], path: str) -> None:
    assert resolve(pattern, job) == path


def test_streams() -> None:
    assert output_path(ELEMENT, "stdout") == output_path(ELEMENT, "stderr") == "/home/alice/run/scan[1]-29_2.out"
    assert output_path(ELEMENT | {"STDERR": "err"}, "stderr") == "/home/alice/run/err"
    assert output_path(ELEMENT | {"STDOUT": "(null)"}, "stdout") is None
    assert default_output(ELEMENT) == "/home/alice/run/slurm-29_2.out"
    assert default_output(PLAIN) == "/home/alice/run/slurm-31.out"


async def never() -> bool:
    return False


async def soon(_: float) -> None:
    await asyncio.sleep(0.005)


def chunks(path: Path, *, over: bool = True, **options: object) -> AsyncIterator[LogChunk]:
    settings = {"tail": None, "since": None, "follow": False, "finished": never, "sleep": soon} | options
    return read_log("stdout", Place(str(path), ("n03",), True), over=over, **settings)  # type: ignore[arg-type]


async def text(found: AsyncIterator[LogChunk]) -> bytes:
    return b"".join([chunk.data async for chunk in found])


async def test_all_of_it_the_end_of_it_and_from_a_byte_on(tmp_path: Path) -> None:
    file = tmp_path / "out"
    file.write_bytes(b"one\ntwo\xff\nthree\n")
    assert await text(chunks(file)) == b"one\ntwo\xff\nthree\n"
    assert await text(chunks(file, tail=2)) == b"two\xff\nthree\n"
    assert await text(chunks(file, tail=0)) == b""
    assert await text(chunks(file, tail=99)) == b"one\ntwo\xff\nthree\n"
    assert await text(chunks(file, since=8)) == b"\nthree\n"
    last = [chunk async for chunk in chunks(file)][-1]
    assert last.at_end and last.offset == last.size == 15


@pytest.mark.parametrize("content", [b"", b"no newline", b"a\n\n\nb", b"x" * 700_000 + b"\nend"])
async def test_tails_of_odd_files(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "out"
    file.write_bytes(content)
    lines = content.split(b"\n") if not content.endswith(b"\n") else content[:-1].split(b"\n")
    for count in (1, 2, 5):
        assert await text(chunks(file, tail=count)) == b"\n".join(lines[-count:])


async def test_a_follower_gets_what_is_written_and_the_rest_at_the_end(tmp_path: Path) -> None:
    file = tmp_path / "out"
    file.write_bytes(b"begin\n")
    asked = 0

    async def finished() -> bool:
        nonlocal asked
        asked += 1
        with file.open("ab") as more:
            more.write(b"last words\n")
        return True

    seen: list[LogChunk] = []
    async for chunk in chunks(file, over=False, follow=True, finished=finished):
        seen.append(chunk)
        if chunk.data == b"begin\n":
            file.write_bytes(b"begin\nmore\n")
    assert b"".join(chunk.data for chunk in seen) == b"begin\nmore\nlast words\n"
    assert asked == 1 and seen[-1].at_end


async def test_a_follower_notices_that_the_file_was_replaced_or_cut(tmp_path: Path) -> None:
    file = tmp_path / "out"
    file.write_bytes(b"old old old\n")
    stream = chunks(file, over=False, follow=True)
    assert (await anext(stream)).data == b"old old old\n"
    file.write_bytes(b"new\n")
    assert (await anext(stream)).reset
    assert (await anext(stream)).data == b"new\n"
    other = tmp_path / "other"
    other.write_bytes(b"another file\n")
    other.replace(file)
    assert (await anext(stream)).reset
    assert (await anext(stream)).data == b"another file\n"
    await stream.aclose()  # type: ignore[attr-defined]


async def test_a_follower_waits_for_a_file_and_says_so(tmp_path: Path) -> None:
    file = tmp_path / "out"
    stream = chunks(file, over=False, follow=True)
    first = await anext(stream)
    assert "There is no file" in first.note and not first.data
    file.write_bytes(b"here\n")
    assert (await anext(stream)).data == b"here\n"
    await stream.aclose()  # type: ignore[attr-defined]


async def test_a_missing_file_is_said_plainly(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="There is no file") as caught:
        await text(chunks(tmp_path / "nope"))
    assert "The job ran on n03: look there." in caught.value.hint
    with pytest.raises(NotFound, match="has not started"):
        async for _ in read_log("stdout", Place(str(tmp_path / "x"), (), False), tail=5, since=None, follow=False,
                                over=False, finished=never):  # fmt: skip
            pass


async def test_a_file_that_may_not_be_read_is_forbidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(*_: object) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(logs, "_look", deny)  # root may read everything, so the refusal is made here
    with pytest.raises(Forbidden, match="You may not read"):
        await text(chunks(tmp_path / "out"))


async def test_a_named_pipe_does_not_hang_the_console(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert await asyncio.wait_for(text(chunks(pipe)), 10) == b""


async def test_hostile_names_in_errors_are_cleaned(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as caught:
        await text(chunks(tmp_path / "a\x1b[2J\udcff"))
    assert "\x1b" not in caught.value.message and "\\xff" in caught.value.message


async def test_five_gigabytes_are_read_by_their_end_also_when_they_take_the_place_of_a_followed_file(
    tmp_path: Path,
) -> None:
    huge = tmp_path / "huge"
    with huge.open("wb") as file:  # sparse: it takes no room
        file.truncate(5_000_000_000)
        file.seek(0, os.SEEK_END)
        file.write(b"\nlast but one\nlast\n")
    assert await text(chunks(huge, tail=2)) == b"last but one\nlast\n"
    followed = tmp_path / "out"
    followed.write_bytes(b"begin\n")
    stream = chunks(followed, over=False, follow=True, tail=2)
    assert (await anext(stream)).data == b"begin\n"
    huge.replace(followed)
    reset = await anext(stream)
    assert reset.reset and reset.offset > 4_999_999_000
    assert (await anext(stream)).data == b"last but one\nlast\n"
    await stream.aclose()  # type: ignore[attr-defined]
