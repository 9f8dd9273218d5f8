"""Which model is asked and with which key; where a key never goes; when the SDK is loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from console.chat.endpoint import ANTHROPIC, Endpoint, endpoint_for
from console.chat.retry import Patience
from console.chat.settings import ChatSettings, join_chat
from console.chat.trouble import BrokenOff, Busy, NoConnection, NotSignedIn, Trouble, asked_to_wait
from console.config import Config, ConfigError, load
from tests.console.chat.endpoints import endpoint_at, one_request
from tests.doubles.messages_api import MessagesApi, message, serving, text
from tests.project.tree import ROOT

ENV = {"ANTHROPIC_API_KEY": "sk-of-the-environment", "ANTHROPIC_MODEL": "some-model"}


def configured(**chat: Any) -> Config:
    return Config.model_validate({"version": 1, "chat": chat})


def found(environ: dict[str, str], **chat: Any) -> Endpoint:
    endpoint = endpoint_for(configured(**chat), environ)
    assert endpoint is not None
    return endpoint


def test_without_a_model_or_a_key_there_is_none() -> None:
    assert endpoint_for(configured(), {}) is None
    assert endpoint_for(configured(), {"ANTHROPIC_API_KEY": "x"}) is None
    assert endpoint_for(configured(), {"ANTHROPIC_MODEL": "m"}) is None
    assert endpoint_for(configured(model="m"), {}) is None
    assert endpoint_for(configured(enabled=False), ENV) is None


def test_the_environment_is_enough() -> None:
    endpoint = found(ENV)
    assert (endpoint.base_url, endpoint.model, endpoint.key()) == (ANTHROPIC, "some-model", "sk-of-the-environment")
    assert endpoint.caches and endpoint.key_from == "the variable ANTHROPIC_API_KEY"
    assert "sk-of" not in repr(endpoint)
    token = found(
        {"ANTHROPIC_AUTH_TOKEN": "t0ken", "ANTHROPIC_MODEL": "m", "ANTHROPIC_BASE_URL": "https://gw.example/"}
    )
    assert (token.base_url, token.key(), token.caches) == ("https://gw.example", "t0ken", False)


def test_the_configuration_is_before_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("of-the-file\n")
    file.chmod(0o600)
    endpoint = found(ENV, model="other", key_file=str(file), base_url="https://models.example")
    assert (endpoint.model, endpoint.base_url, endpoint.key()) == ("other", "https://models.example", "of-the-file")
    asked = endpoint_for(configured(model="other"), ENV, model="third")
    assert asked is not None and asked.model == "third"


def test_a_key_of_the_environment_stays_with_its_address() -> None:
    there = {**ENV, "ANTHROPIC_BASE_URL": "https://one.example"}
    assert found(there, base_url="https://one.example/").key() == "sk-of-the-environment"
    assert endpoint_for(configured(base_url="https://two.example"), there) is None
    assert found(ENV, base_url="https://two.example").key() == "sk-of-the-environment"


def test_a_server_of_this_machine_needs_no_key() -> None:
    for url in ("http://127.0.0.1:11434", "http://localhost:8080", "http://[::1]:1"):
        assert found({}, base_url=url, model="m").key() is None
    for url in ("https://models.example", "http://127.0.0.1.example.org", "http://localhost.example"):
        assert endpoint_for(configured(base_url=url, model="m"), {}) is None


@pytest.mark.parametrize("url", ["ftp://x", "models.example", "http://[::1", "https://user:pass@models.example"])
async def test_an_address_of_the_environment_that_is_none_is_told(url: str) -> None:
    with pytest.raises(Trouble, match="is no address of a model") as failure:
        async with found({**ENV, "ANTHROPIC_BASE_URL": url}).client():
            pass
    assert "pass" not in failure.value.message


@pytest.mark.parametrize(
    ("url", "allowed"),
    [("http://models.example", False), ("http://10.0.0.8:8000", False), ("http://localhost.example.org", False),
     ("http://127.0.0.1.nip.example", False)],
)  # fmt: skip
async def test_plain_http_is_for_this_machine(url: str, allowed: bool) -> None:
    with pytest.raises(NoConnection, match="readable over the network"):
        async with found(ENV, base_url=url).client():
            pass
    async with found(ENV, base_url=url, allow_plain_http=True).client() as client:
        assert str(client.base_url).startswith(url)


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o604])
async def test_a_key_file_that_others_can_read_is_refused_with_the_cure(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "key"
    file.write_text("sk-x")
    file.chmod(mode)
    with pytest.raises(NotSignedIn) as refusal:
        async with found({}, base_url="http://127.0.0.1:1", model="m", key_file=str(file)).client():
            pass
    assert refusal.value.hint == f"chmod 600 {file}"


async def test_certificates_that_are_none_are_told(tmp_path: Path) -> None:
    for file in (tmp_path / "absent.pem", tmp_path / "empty.pem"):
        if "empty" in file.name:
            file.write_text("no certificate")
        with pytest.raises(Trouble, match="certificates"):
            async with found(ENV, ca_file=str(file)).client():
                pass


async def test_what_the_environment_says_else_does_not_move_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK itself reads these; it is given everything explicitly."""
    api = MessagesApi(message(text("hello")))
    async with serving(api) as url:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-another-one")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
        shown, _ = await one_request(endpoint_at(url))
    assert shown == "hello" and "sk-another-one" not in str(api.headers)


# -- the table [chat]


def write(path: Path, body: str) -> Path:
    path.write_text(f"version = 1\n[chat]\n{body}")
    path.chmod(0o600)
    return path


def test_the_table_of_the_file(tmp_path: Path) -> None:
    body = 'base_url = "https://models.example/"\nmodel = "m"\nkey_file = "keys/chat"\njson_tools = true\n'
    chat = load(write(tmp_path / "c.toml", body), site=tmp_path / "none").chat
    assert chat.base_url == "https://models.example" and chat.key_file == tmp_path / "keys" / "chat" and chat.json_tools


@pytest.mark.parametrize(
    "line",
    ['base_url = "models.example"', 'base_url = "https://user:pass@x.example"', 'base_url = "https://x.example?k=v"',
     "max_tokens = 0", 'timeout = "1"', "temperature = 3.0", 'model = ""', 'model = "a b"', 'key = "sk-1"',
     'key_file = "a"\ntoken_file = "b"', "json_tools = 1", 'base_url = "https://x.example:99999"'],
)  # fmt: skip
def test_mistakes_are_told(tmp_path: Path, line: str) -> None:
    with pytest.raises(ConfigError) as failure:
        load(write(tmp_path / "c.toml", line + "\n"), site=tmp_path / "none")
    assert "c.toml" in str(failure.value) and "chat" in str(failure.value)


def chat(**values: Any) -> ChatSettings:
    return ChatSettings.model_validate(values)


def test_the_site_turns_it_off_for_everybody() -> None:
    assert not join_chat(chat(enabled=False), chat(enabled=True, model="m")).enabled
    assert not join_chat(chat(), chat(enabled=False)).enabled


def test_the_sites_endpoint_is_the_only_one(tmp_path: Path) -> None:
    site = chat(base_url="https://site.example", key_file=str(tmp_path / "site"))
    both = join_chat(site, chat(base_url="https://mine.example", key_file=str(tmp_path / "mine"), model="m"))
    assert (both.base_url, both.key_file, both.model) == ("https://site.example", tmp_path / "site", "m")
    same = join_chat(site, chat(token_file=str(tmp_path / "mine")))
    assert (same.key_file, same.token_file) == (None, tmp_path / "mine")


def test_of_the_limits_the_stricter_counts() -> None:
    assert not join_chat(chat(allow_plain_http=False), chat(allow_plain_http=True)).allow_plain_http
    assert join_chat(chat(), chat(allow_plain_http=True)).allow_plain_http
    assert join_chat(chat(max_tokens=500), chat(max_tokens=4000)).max_tokens == 500
    assert join_chat(chat(model="a", timeout=5), chat(model="b")).model == "b"


# -- patience


def test_waits_grow_and_end() -> None:
    busy, patience = Busy("x", retry=True), Patience()
    assert [patience.wait(busy, attempt) for attempt in range(1, 7)] == [1, 2, 4, 8, 16, None]
    assert Patience().wait(Busy("x"), 1) is None
    assert [patience.wait(NoConnection("x", retry=True), n) for n in (1, 2, 3)] == [1, 2, None]


@pytest.mark.parametrize(("asked", "waited"), [(3600.0, 60.0), (0.0, 1.0), (7.5, 7.5), (float("inf"), 60.0)])
def test_what_the_endpoint_asks_for_counts_within_the_cap(asked: float, waited: float) -> None:
    assert Patience().wait(BrokenOff("x", retry=True, after=asked), 1) == waited


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({"retry-after": "3"}, 3.0), ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5), ({}, None),
     ({"retry-after": "Mon, 30 Nov 2026 12:00:30 GMT"}, 30.0), ({"retry-after": "soon"}, None),
     ({"retry-after": "-5"}, None), ({"retry-after": "nan"}, None),
     ({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT"}, None)],
)  # fmt: skip
def test_every_form_of_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert asked_to_wait(headers, datetime(2026, 11, 30, 12, tzinfo=UTC)) == seconds


# -- loading


@pytest.mark.parametrize(
    "argv", [["--help"], ["--config", "{config}", "jobs"], ["--config", "{config}", "doctor", "--offline"]]
)
def test_the_command_line_loads_no_sdk(tmp_path: Path, argv: list[str]) -> None:
    config = tmp_path / "c.toml"
    config.write_text('version = 1\n[chat]\nmodel = "m"\n[clusters.x]\ntype = "native"\nurl = "http://127.0.0.1:9"\n')
    config.chmod(0o600)
    script = (
        "import sys; from console.cli.parser import run\n"
        "try:\n    run([part.replace('{config}', sys.argv[1]) for part in sys.argv[2:]])\n"
        "except SystemExit:\n    pass\n"
        "print('LOADED', sorted({'anthropic', 'httpx2', 'mcp', 'openai'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", script, str(config), *argv],
        env=os.environ | ENV | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "LOADED []", done.stdout + done.stderr


FIRST_SENTENCE = """
import asyncio, sys, threading
from pathlib import Path
from console.agent import Agent
from console.audit import AuditLog
from console.chat.model import ModelPlanner
from console.chat.planner import Turn
from console.chat.transcript import add_text
from console.engine import Engine
from tests.console.chat.endpoints import endpoint
from tests.console.conftest import config
from tests.doubles.memory_backend import MemoryBackend
from tests.doubles.messages_api import MessagesApi, message, text

here = []

class Finder:
    def find_spec(self, name, path=None, target=None):
        if threading.current_thread() is threading.main_thread():
            here.append(name)

async def main():
    audit = AuditLog(Path(sys.argv[1]) / "audit")
    async with endpoint(MessagesApi(message(text("hello")))) as at:
        async with Engine(config(), feeds=False, audit=audit, open_with=MemoryBackend().open) as engine:
            await asyncio.to_thread(int)
            turn = Turn("s.1", "hello", Agent(engine, "chat"))
            add_text(turn.messages, "hello")
            sys.meta_path.insert(0, Finder())
            events = [event async for event in ModelPlanner(at).answer(turn)]
            print(len(events), here, "anthropic" in sys.modules)

asyncio.run(main())
"""


def test_the_first_sentence_loads_nothing_in_the_thread_that_paints(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", FIRST_SENTENCE, str(tmp_path)], env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert done.stdout.split(" ", 1)[1:] == ["[] True\n"], done.stdout + done.stderr


def test_knowing_of_an_endpoint_loads_no_sdk() -> None:
    script = (
        "import sys\nfrom console.chat.endpoint import endpoint_for\nfrom console.config import Config\n"
        f"assert endpoint_for(Config.model_validate({{'version': 1}}), {ENV!r}) is not None\n"
        "import console.chat.stream, console.chat.retry, console.chat.trouble\n"
        "print(sorted({'anthropic', 'httpx2', 'mcp'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", script], env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True,
        text=True, timeout=100,
    )  # fmt: skip
    assert done.stdout.strip() == "[]", done.stderr
