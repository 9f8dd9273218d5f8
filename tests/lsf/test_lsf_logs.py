"""Output: bpeek while a job runs, its file afterwards, and what is said where there is none."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from adapters.base import Forbidden, LogChunk, NotFound
from adapters.lsf import logs
from adapters.lsf.reader import LsfReader
from tests.doubles.lsf.double import LsfDouble
from tests.lsf.support import add, lsf, opened

TEXT = b"one\ntwo \xff\x1b[31m\nthree\n"


async def read(reader: LsfReader, id: str, **options: Any) -> list[LogChunk]:
    return [chunk async for chunk in reader.job_logs(id, **options)]


def written(double: LsfDouble, name: str, data: bytes) -> str:
    path = double.folder / name
    path.write_bytes(data)
    return str(path)


async def test_a_running_job_is_peeked_at(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    id = add(double, stat="RUN", output=written(double, "out", TEXT))
    reader, _ = opened(double)
    (chunk,) = await read(reader, id)
    assert (chunk.data, chunk.offset, chunk.size, chunk.at_end) == (TEXT, 0, len(TEXT), False)
    (chunk,) = await read(reader, id, tail=1)
    assert (chunk.data, chunk.offset) == (b"three\n", len(TEXT) - 6)
    (chunk,) = await read(reader, id, since=4)
    assert chunk.data == TEXT[4:]
    (chunk,) = await read(reader, id, stream="stderr")
    assert chunk.data == b""


async def test_a_finished_job_has_a_file_of_its_own_name(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    id = add(double, stat="DONE", end=int(time.time()), output="out.%J.%I.txt", cwd=str(double.folder))
    written(double, f"out.{id}.0.txt", TEXT)
    (chunk,) = await read(opened(double)[0], id)
    assert (chunk.data, chunk.at_end) == (TEXT, True)


async def test_an_element_and_a_folder(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    now = int(time.time())
    id = add(double, stat="DONE", end=now, name="arr", index=3, output=str(double.folder / "o.%J.%I"))
    written(double, f"o.{id}.3", b"element\n")
    reader, _ = opened(double)
    assert (await read(reader, f"{id}[3]"))[0].data == b"element\n"
    other = add(double, stat="DONE", end=now, output=str(double.folder))
    written(double, f"{other}.out", b"in a folder\n")
    assert (await read(reader, other))[0].data == b"in a folder\n"


async def test_large_files_come_in_pieces_and_only_their_end_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "PIECE", 1000)
    data = b"".join(b"line %d\n" % number for number in range(1000))
    double = lsf(tmp_path)
    id = add(double, stat="DONE", end=int(time.time()), output=written(double, "out", data))
    reader, _ = opened(double)
    chunks = await read(reader, id)
    assert b"".join(chunk.data for chunk in chunks) == data and len(chunks) == len(data) // 1000 + 1
    assert [chunk.at_end for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    for lines in (1, 10, 300, 1000, 5000):
        chunks = await read(reader, id, tail=lines)
        assert b"".join(chunk.data for chunk in chunks).splitlines() == data.splitlines()[-lines:], lines
    assert (await read(reader, id, tail=0))[0].data == b""


async def test_a_job_that_has_not_started_says_so(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    id = add(double)
    (chunk,) = await read(opened(double)[0], id)
    assert chunk.data == b"" and "Not yet started" in chunk.note and not chunk.at_end


async def test_output_that_went_by_mail_or_to_one_file(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    id = add(double, stat="DONE", end=int(time.time()))
    reader, _ = opened(double)
    (chunk,) = await read(reader, id)
    assert "by mail" in chunk.note and chunk.at_end
    (chunk,) = await read(reader, id, stream="stderr")
    assert "Both streams" in chunk.note and chunk.at_end


async def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    id = add(double, stat="DONE", end=int(time.time()), output="/nowhere/out\x1b")
    with pytest.raises(NotFound) as caught:
        await read(opened(double)[0], id)
    assert "/nowhere/out␛" in caught.value.message and id in caught.value.message


async def test_the_output_of_another_persons_job(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    with double.world() as world:
        world["admins"] = []
    id = add(double, user="ben", stat="RUN")
    with pytest.raises(Forbidden) as caught:
        await read(opened(double)[0], id)
    assert "User permission denied" in caught.value.message


async def test_following_a_job_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "PEEK_INTERVAL", 0.05)
    double = lsf(tmp_path)
    id = add(double, stat="RUN", output=written(double, "out", b"one\n"))
    seen: list[LogChunk] = []
    async for chunk in opened(double)[0].job_logs(id, follow=True):
        seen.append(chunk)
        if len(seen) == 1:
            written(double, "out", b"one\ntwo\n")
        elif any(b"two" in part.data for part in seen) and not seen[-1].at_end:
            with double.world() as world:
                world["jobs"][0] |= {"stat": "DONE", "end": int(time.time())}
            written(double, "out", b"Sender: LSF System\none\ntwo\nthree\n")
    assert seen[0].data == b"one\n"
    grown = next(part for part in seen[1:] if part.data)
    assert (grown.data, grown.offset) == (b"two\n", 4)
    last = seen[-1]
    assert last.at_end and last.reset and last.data.endswith(b"three\n")
