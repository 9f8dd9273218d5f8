"""`pilothouse doctor llm`, as a program of its own, against scripted endpoints that can do more or less."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.doubles.messages_api import HANG, MessagesApi, message, raw, serving, status, text, use
from tests.doubles.serving import closed_port
from tests.project.tree import ROOT

KEY = "sk-doctor-0123456789abcdef"
GET, QUEUES = "scheduler_get_job", "scheduler_list_queues"
Body = dict[str, Any]
Answer = Callable[[Body], Any]


def able(body: Body) -> Any:
    """A model that does what it is asked to."""
    asked = body["messages"][-1]["content"]
    if isinstance(asked, list):
        return message(text("It is in the queue quokka."))
    if "ids 12 and 13" in asked:
        return message(use(GET, {"id": "12"}, "a"), use(GET, {"id": "13"}, "b"))
    if "id 12" in asked or "tool_choice" in body:
        return message(use(GET, {"id": "12"}))
    if "queues" in asked:
        return message(use(QUEUES, {}))
    if "300" in asked:
        return [*message(text("one, two, three, four, five, six"))[:7], HANG]
    return message(text("ready"))


def writes_json(body: Body) -> Any:
    """A weak model whose server does not see its calls."""
    if "tools" not in body:
        return able(body)
    if "tool_choice" in body:
        return status(400, "invalid_request_error", "tool_choice is not supported")(body)  # type: ignore[operator]
    name = GET if len(body["tools"]) == 1 else QUEUES
    return message(text(json.dumps({"name": name, "arguments": {"id": "12"} if name == GET else {}})))


def ends_wrongly(body: Body) -> Any:
    found = able(body)
    for event in found:
        if event["type"] == "message_delta":
            event["delta"]["stop_reason"] = "end_turn"
    return found


def short_of_context(body: Body) -> Any:
    if len(body.get("tools", ())) > 1:
        return status(400, "invalid_request_error", "the request exceeds the available context size")(body)  # type: ignore[operator]
    return able(body)


def no_caching(body: Body) -> Any:
    if "cache_control" in json.dumps(body):
        return status(400, "invalid_request_error", "cache_control: unknown field")(body)  # type: ignore[operator]
    return able(body)


def silent(body: Body) -> Any:
    return message(text("I cannot do that.")) if "tools" in body else able(body)


async def run(tmp_path: Path, url: str, *options: str, more: str = "") -> tuple[int, list[Body], str]:
    """Exit code, what was reported, and everything that was written."""
    key = tmp_path / "key"
    key.write_text(KEY)
    key.chmod(0o600)
    config = tmp_path / "c.toml"
    config.write_text(f'version = 1\n[chat]\nbase_url = "{url}"\nmodel = "scripted"\nkey_file = "key"\n{more}')
    config.chmod(0o600)
    argv = [sys.executable, "-P", "-m", "console", "--config", str(config), "doctor", *options]
    process = await asyncio.create_subprocess_exec(
        *argv, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    out, _ = await process.communicate()
    assert process.returncode is not None
    told = out.decode()
    lines = [json.loads(line) for line in told.splitlines()] if "--json" in options else []
    assert KEY not in told and "Traceback" not in told, told
    return process.returncode, lines, told


async def against(
    tmp_path: Path, answer: Answer, *, tokens: int | None = 3, more: str = ""
) -> tuple[int, dict[str, Body]]:
    api = MessagesApi(*[answer] * 20, tokens=tokens, secrets=(KEY,), same_tools=False)
    async with serving(api) as url:
        code, lines, _ = await run(tmp_path, url, "llm", "--json", more=more)
    assert not api.problems, api.problems
    return code, {line["name"]: line for line in lines}


def states(found: dict[str, Body]) -> dict[str, str]:
    return {name: line["state"] for name, line in found.items()}


async def test_an_endpoint_that_can_do_everything(tmp_path: Path) -> None:
    code, found = await against(tmp_path, able)
    assert code == 0
    assert states(found) == {
        "model": "ok", "text": "ok", "one tool": "ok", "parallel tools": "ok", "all tools": "ok", "tool_choice": "ok",
        "stop in mid-stream": "ok", "count_tokens": "ok", "caching": "note", "to set": "note",
    }  # fmt: skip
    assert found["to set"]["message"] == "[chat] caching = true"


async def test_a_model_that_writes_its_calls_as_text(tmp_path: Path) -> None:
    code, found = await against(tmp_path, writes_json, tokens=None)
    assert code == 1 and found["one tool"]["state"] == "bad" and "json_tools = true" in found["to set"]["message"]
    assert (found["tool_choice"]["state"], found["count_tokens"]["state"]) == ("note", "note")
    code, found = await against(tmp_path, writes_json, tokens=None, more="json_tools = true\n")
    assert code == 0 and (found["one tool"]["state"], found["all tools"]["state"]) == ("ok", "ok")


@pytest.mark.parametrize(
    ("answer", "name", "words"),
    [(ends_wrongly, "one tool", "never run"), (short_of_context, "all tools", "context"),
     (silent, "one tool", "no call")],
)  # fmt: skip
async def test_what_makes_a_model_useless_is_told(tmp_path: Path, answer: Answer, name: str, words: str) -> None:
    code, found = await against(tmp_path, answer)
    assert code == 1 and found[name]["state"] == "bad" and words in found[name]["message"] and found[name]["hint"]


async def test_caching_that_is_not_taken(tmp_path: Path) -> None:
    code, found = await against(tmp_path, no_caching)
    assert code == 0 and found["caching"]["state"] == "ok"
    code, found = await against(tmp_path, no_caching, more="caching = true\n")
    assert code == 1 and "caching = false" in found["to set"]["message"]


@pytest.mark.parametrize(
    ("step", "words"),
    [(status(401, "authentication_error"), "Not signed in"), (raw("<html>", "text/html"), "Not a Messages API"),
     (status(404, "not_found_error", "model: scripted"), "model: scripted")],
)  # fmt: skip
async def test_where_even_text_fails_nothing_else_is_tried(tmp_path: Path, step: Any, words: str) -> None:
    api = MessagesApi(step)
    async with serving(api) as url:
        code, _, told = await run(tmp_path, url, "llm")
    assert code == 1 and words in told and len(api.requests) == 1


async def test_nobody_there_is_told_apart(tmp_path: Path) -> None:
    code, _, told = await run(tmp_path, closed_port(), "llm")
    assert code == 3 and "Cannot reach the model" in told


async def test_offline_asks_nobody(tmp_path: Path) -> None:
    code, _, told = await run(tmp_path, closed_port(), "llm", "--offline")
    assert code == 0 and told.startswith("ok    model: scripted at http://127.0.0.1:") and "the file" in told


async def test_no_model_and_a_turned_off_one(tmp_path: Path) -> None:
    code, _, told = await run(tmp_path, closed_port(), "llm", more="enabled = false\n")
    assert code == 1 and "turned off" in told
    (tmp_path / "c.toml").unlink()
    config = tmp_path / "d.toml"
    config.write_text("version = 1\n")
    config.chmod(0o600)
    argv = [sys.executable, "-P", "-m", "console", "--config", str(config), "doctor", "llm"]
    process = await asyncio.create_subprocess_exec(
        *argv, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode == 1 and b"no model, or no key for it" in out


async def test_a_key_that_others_can_read(tmp_path: Path) -> None:
    (tmp_path / "open").write_text(KEY)
    (tmp_path / "open").chmod(0o644)
    (tmp_path / "c.toml").write_text("")
    config = tmp_path / "e.toml"
    config.write_text(f'version = 1\n[chat]\nbase_url = "{closed_port()}"\nmodel = "m"\nkey_file = "open"\n')
    config.chmod(0o600)
    argv = [sys.executable, "-P", "-m", "console", "--config", str(config), "doctor", "llm"]
    process = await asyncio.create_subprocess_exec(
        *argv, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode == 1 and f"chmod 600 {tmp_path / 'open'}".encode() in out
