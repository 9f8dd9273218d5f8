"""The output of jobs: pieces, tails, following, and that nothing outside the logs folder is ever read."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import httpx_sse
import pytest

from adapters.local.routes_logs import log_path
from tests.local.conftest import Server


def write(server: Server, job: int, data: bytes, stream: str = "stdout") -> Path:
    path = log_path(server.cluster.logs, job, stream)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path


def read(server: Server, job: int, query: str = "") -> tuple[bytes, dict[str, object]]:
    piece = server.admin.get(f"/xce/v1/jobs/{job}/logs{query}")
    return base64.b64decode(piece["data"]), piece


@pytest.mark.parametrize(
    ("query", "wanted"),
    [("", b"one\ntwo\nthr\xffee"), ("?tail=1", b"thr\xffee"), ("?tail=2", b"two\nthr\xffee"), ("?tail=0", b""),
     ("?tail=99", b"one\ntwo\nthr\xffee"), ("?since=4", b"two\nthr\xffee"), ("?since=14", b""),
     ("?stream=stderr", b"")],
)  # fmt: skip
def test_pieces_of_a_log(server: Server, query: str, wanted: bytes) -> None:
    job = server.admin.submit()
    write(server, job, b"one\ntwo\nthr\xffee")
    data, piece = read(server, job, query)
    assert data == wanted
    assert piece["at_end"] is False
    assert piece["offset"] == (0 if query in ("", "?tail=99", "?stream=stderr") else 14 - len(wanted))


def test_a_log_that_shrank_is_said(server: Server) -> None:
    job = server.admin.submit()
    write(server, job, b"short")
    data, piece = read(server, job, "?since=100")
    assert (data, piece["offset"], piece["reset"]) == (b"short", 0, True)


def test_a_large_log_comes_in_pieces(server: Server) -> None:
    job = server.admin.submit()
    server.admin.control(job, "kill")
    whole = bytes(range(256)) * 10_000
    write(server, job, whole)
    got, ends = b"", []
    while len(got) < len(whole):
        data, piece = read(server, job, f"?since={len(got)}")
        got += data
        ends.append(piece["at_end"])
    assert got == whole and ends == [False, False, True]


def test_following_goes_on_until_the_job_is_over_and_all_is_sent(server: Server) -> None:
    node = server.node()
    job = server.admin.submit()
    (task,) = node.claim()
    path = write(server, job, b"first\n")
    headers = {"authorization": server.admin.key}
    got = b""
    with httpx_sse.connect_sse(server.http, "GET", f"/xce/v1/jobs/{job}/logs?follow=1", headers=headers) as source:
        for event in source.iter_sse():
            piece = json.loads(event.data)
            got += base64.b64decode(piece["data"])
            assert event.event == "log" and int(event.id) == len(got)
            if got == b"first\n":
                with path.open("ab") as file:
                    file.write(b"second\n")
                node.report(task)
            if piece["at_end"]:
                break
    assert got == b"first\nsecond\n"


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_what_is_no_plain_file_in_the_folder_is_not_read(server: Server, tmp_path: Path, kind: str) -> None:
    import os

    job = server.admin.submit()
    path = write(server, job, b"")
    path.unlink()
    if kind == "link":
        (tmp_path / "secret").write_text("secret")
        path.symlink_to(tmp_path / "secret")
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    message = server.admin.refused(403, "GET", f"/xce/v1/jobs/{job}/logs")
    assert "secret" not in message


@pytest.mark.parametrize("number", ["..%2f..%2fcluster.db", "1%00", "-1", "abc", "٣", "9" * 40])
def test_a_number_that_is_none_is_not_found(server: Server, number: str) -> None:
    assert server.admin.send("GET", f"/xce/v1/jobs/{number}/logs").status_code == 404


@pytest.mark.parametrize("query", ["stream=both", "since=-1", "tail=x"])
def test_a_wrong_question_is_refused(server: Server, query: str) -> None:
    job = server.admin.submit()
    server.admin.refused(422, "GET", f"/xce/v1/jobs/{job}/logs?{query}")
