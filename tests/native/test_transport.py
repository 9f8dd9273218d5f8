"""HTTP towards a native cluster: what each way of failing means, on a loopback server that does as it is told."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adapters import outgoing
from adapters.base import (
    AdapterError,
    Conflict,
    Forbidden,
    Invalid,
    ProtocolError,
    Unauthenticated,
    Unavailable,
    UnknownOutcome,
    Unreachable,
)
from adapters.native.token import environment_token, file_token, fixed_token
from adapters.native.transport import Timeouts, Transport, check_url
from adapters.plan import HttpRequest, Request
from tests.doubles.serving import Handler, closed_port, serve_bytes

QUICK = Timeouts(connect=2.0, read=0.3, write=0.3)
WRITE = HttpRequest(
    "POST", "/xce/v1/jobs", (("Content-Type", "application/json"), ("Idempotency-Key", "k")), b'{"a":1}'
)


def http(status: int, body: bytes, head: str = "") -> bytes:
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n{head}\r\n".encode() + body


def envelope(code: int, msg: str = "") -> bytes:
    return f'{{"code": {code}, "msg": "{msg}", "data": {{"jobid": 7}}, "count": 1}}'.encode()


@asynccontextmanager
async def transport_to(handler: Handler, keep_alive: bool = False) -> AsyncIterator[Transport]:
    async with serve_bytes(handler) as url:
        transport = Transport("c", url, fixed_token("xce_ak_secret"), timeouts=QUICK, keep_alive=keep_alive)
        try:
            yield transport
        finally:
            await transport.close()


class Answers:
    """Writes the answer, and keeps the requests."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = list(answers)
        self.requests: list[bytes] = []

    async def __call__(self, request: bytes, writer: asyncio.StreamWriter) -> None:
        self.requests.append(request)
        writer.write(self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])


async def silent(request: bytes, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(1.5)


async def test_a_write_goes_out_as_it_is_with_the_credential_added() -> None:
    answers = Answers(http(200, envelope(201)))
    async with transport_to(answers) as transport:
        answer = await transport.send(WRITE, "Submit")
    assert (answer.code, answer.data) == (201, {"jobid": 7})
    head, _, body = answers.requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /xce/v1/jobs HTTP/1.1\r\n") and body == WRITE.body
    assert b"Authorization: xce_ak_secret\r\n" in head and b"Idempotency-Key: k\r\n" in head
    assert b"xce_ak_secret" not in repr(WRITE).encode()


@pytest.mark.parametrize("status", [500, 502, 503, 504])
async def test_known_a_5xx_after_a_write_is_unknown_and_it_is_sent_once(status: int) -> None:
    answers = Answers(http(status, envelope(status, "no controller")))
    async with transport_to(answers) as transport:
        with pytest.raises(UnknownOutcome) as caught:
            await transport.send(WRITE, "Submit")
    assert "no controller" in caught.value.message and len(answers.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{",
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"co',
        b"HTTP/1.1 200",
        b"\x00\x01\x02",
        http(200, b"<html>"),
        http(200, b"{}}"),
        http(302, b"", "Location: http://127.0.0.1:1/\r\n"),
    ],
)
async def test_an_answer_to_a_write_that_is_lost_or_unreadable_is_unknown(answer: bytes) -> None:
    answers = Answers(answer)
    async with transport_to(answers) as transport:
        with pytest.raises(UnknownOutcome):
            await transport.send(WRITE, "Submit")
    assert len(answers.requests) == 1, "never repeated by itself, and no redirect followed"


async def test_no_answer_to_a_write_in_time_is_unknown() -> None:
    async with transport_to(silent) as transport:
        with pytest.raises(UnknownOutcome) as caught:
            await transport.send(WRITE, "Submit")
    assert "may have been done or not" in caught.value.message


@pytest.mark.parametrize(
    ("status", "expected"),
    [(400, Invalid), (401, Unauthenticated), (403, Forbidden), (412, Conflict), (429, Unavailable)],
)
async def test_a_refused_write_is_a_refusal_in_the_servers_words(status: int, expected: type[AdapterError]) -> None:
    async with transport_to(Answers(http(status, envelope(status, "not you")))) as transport:
        with pytest.raises(expected) as caught:
            await transport.send(WRITE, "Submit")
    assert "not you" in caught.value.message


async def test_nobody_there_means_nothing_was_sent() -> None:
    transport = Transport("c", closed_port(), fixed_token("x"), timeouts=QUICK)
    try:
        with pytest.raises(Unreachable):
            await transport.send(WRITE, "Submit")
        with pytest.raises(Unreachable):
            await transport.get("/xce/v1/jobs", what="Listing jobs")
    finally:
        await transport.close()


async def test_each_write_is_reported_before_it_leaves_and_a_read_is_not() -> None:
    seen: list[tuple[str, Request]] = []
    end = outgoing.observe(lambda cluster, request: seen.append((cluster, request)))
    try:
        async with transport_to(Answers(http(200, envelope(200)))) as transport:
            await transport.get("/xce/v1/jobs", what="x")
            await transport.send(WRITE, "Submit")
    finally:
        end()
    assert seen == [("c", WRITE)]


async def test_a_read_is_repeated_once_when_the_connection_breaks() -> None:
    answers = Answers(b"", http(200, envelope(200)))
    async with transport_to(answers) as transport:
        assert (await transport.get("/xce/v1/jobs", what="x")).code == 200
    async with transport_to(broken := Answers(b"")) as transport:
        with pytest.raises(Unavailable):
            await transport.get("/xce/v1/jobs", what="x")
    assert len(broken.requests) == 2


async def test_a_read_without_an_answer_is_unavailable() -> None:
    async with transport_to(silent) as transport:
        with pytest.raises(Unavailable) as caught:
            await transport.get("/xce/v1/jobs", what="Listing jobs")
    assert "Listing jobs" in caught.value.message


async def test_an_absurdly_large_answer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapters.native.transport.LARGEST_ANSWER", 1 << 20)
    async with transport_to(Answers(http(200, b"x" * (2 << 20)))) as transport:
        with pytest.raises(ProtocolError):
            await transport.get("/xce/v1/jobs", what="x")


async def test_a_query_is_encoded_and_what_is_none_is_left_out() -> None:
    answers = Answers(http(200, envelope(200)))
    async with transport_to(answers) as transport:
        await transport.get("/xce/v1/jobs", [("filter", "user:a b&c"), ("limit", 5), ("after", None)], what="x")
    assert answers.requests[0].startswith(b"GET /xce/v1/jobs?filter=user%3Aa+b%26c&limit=5 HTTP/1.1")


async def test_the_path_of_the_url_comes_before_every_path() -> None:
    answers = Answers(http(200, envelope(200)))
    async with serve_bytes(answers) as url:
        transport = Transport("c", f"{url}/site/", fixed_token(None), timeouts=QUICK)
        try:
            await transport.get("/xce/v1/jobs", what="x")
            assert transport.path("/xce/v1/jobs") == "/site/xce/v1/jobs"
        finally:
            await transport.close()
    assert answers.requests[0].startswith(b"GET /site/xce/v1/jobs HTTP/1.1")
    assert b"uthorization" not in answers.requests[0]


async def test_a_proxy_of_the_environment_is_not_used_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", closed_port())
    monkeypatch.setenv("ALL_PROXY", closed_port())
    async with transport_to(Answers(http(200, envelope(200)))) as transport:
        assert (await transport.get("/x", what="x")).code == 200


@pytest.mark.parametrize(
    "url",
    [
        "http://cluster.example.org",
        "http://10.0.0.1:8080",
        "ftp://localhost",
        "localhost:80",
        "https://",
        "https://u:p@h",
        "https://h/?a=b",
        "",
    ],
)
def test_urls_that_are_refused(url: str) -> None:
    with pytest.raises(Invalid):
        check_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:1",
        "http://127.0.0.1:1",
        "http://127.9.9.9",
        "http://[::1]:1",
        "https://cluster.example.org/api",
    ],
)
def test_urls_that_are_fine(url: str) -> None:
    assert str(check_url(url)).startswith(url)


def test_plain_http_over_the_network_can_be_allowed() -> None:
    assert check_url("http://cluster.example.org", allow_insecure=True).host == "cluster.example.org"


# -- the token -------------------------------------------------------------------------------------------------------


def test_a_token_file_is_read_anew_each_time(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("one\n")
    file.chmod(0o600)
    read = file_token(file)
    assert read() == "one"
    file.write_text("two\n")
    assert read() == "two"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644, 0o666])
def test_a_token_file_open_to_others_is_refused_with_the_command_that_mends_it(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "key"
    file.write_text("secret-value")
    file.chmod(mode)
    with pytest.raises(Unauthenticated) as caught:
        file_token(file)()
    assert caught.value.hint == f"chmod 600 {file}" and "secret-value" not in str(caught.value)


@pytest.mark.parametrize("content", ["", "  \n", "two words", "tab\tin", "line\nline", "n\u00e4me", "x" * 20_000])
def test_what_cannot_be_a_token_is_refused_and_not_shown(tmp_path: Path, content: str) -> None:
    file = tmp_path / "key"
    file.write_text(content, "utf-8")
    file.chmod(0o600)
    with pytest.raises(Unauthenticated) as caught:
        file_token(file)()
    assert not content.strip() or content.strip() not in str(caught.value)


def test_what_is_no_plain_file_is_refused_without_waiting(tmp_path: Path) -> None:
    for name, make in (("fifo", os.mkfifo), ("folder", os.mkdir)):
        make(tmp_path / name)
        (tmp_path / name).chmod(0o600)
        with pytest.raises(Unauthenticated):
            file_token(tmp_path / name)()
    with pytest.raises(Unauthenticated) as caught:
        file_token(tmp_path / "missing")()
    assert "missing" in caught.value.message


def test_a_token_may_be_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", " abc ")
    assert environment_token("SOME_KEY")() == "abc"
    monkeypatch.delenv("SOME_KEY")
    with pytest.raises(Unauthenticated) as caught:
        environment_token("SOME_KEY")()
    assert "SOME_KEY" in caught.value.message
