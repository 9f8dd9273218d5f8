"""The `/` commands: each works without a model, and what needs a dialog says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from console.chat.events import Called, Ended, Event, Failure, Notice, Reply, Wants
from console.chat.offline import Offline
from console.chat.session import Chat
from console.chat.slash import COMMANDS, complete, is_command
from console.engine import Engine
from console.gate import Grant
from tests.console.waiting import until

CHAT = Path(__file__).parents[3] / "docs" / "chat.md"


class Named(Offline):
    """A double of a model's planner: it only has a name."""

    name = "some-model"


@pytest.fixture
async def chat(engine: Engine, tmp_path: Path) -> AsyncIterator[Chat]:
    chat = Chat(engine, folder=tmp_path / "chats", models=lambda name: Named() if name == "some-model" else None)
    yield chat
    await chat.close()


async def said(chat: Chat, text: str) -> list[Event]:
    return [event async for event in chat.say(text)]


def text(events: list[Event]) -> str:
    return "\n".join(event.text for event in events if isinstance(event, Reply | Notice))


async def test_help_names_every_command(chat: Chat) -> None:
    told = text(await said(chat, "/help"))
    assert all(f"`{command.usage}`" in told for command in COMMANDS.values())


def test_the_document_names_every_command() -> None:
    written = CHAT.read_text()
    assert [
        line for command in COMMANDS.values() if (line := f"| `{command.usage}` | {command.meaning} |") not in written
    ] == []


@pytest.mark.parametrize("sentence", ["/nonsense", "/", "/JOBS"])
async def test_a_command_that_is_none_is_said(chat: Chat, sentence: str) -> None:
    events = await said(chat, sentence)
    assert events[-1] == (Ended("failed") if is_command(sentence) else Ended("done"))


def test_a_path_is_no_command() -> None:
    assert not is_command("/home/alice/run.sh") and is_command("/jobs") and is_command("/why 12")


async def test_jobs(chat: Chat) -> None:
    assert "4 jobs" in text(await said(chat, "/jobs"))
    (call,) = [event.call for event in await said(chat, "/jobs my running") if isinstance(event, Called)]
    assert call.arguments == {"filter": {"owner": "me", "statuses": ["running"]}}
    (call,) = [event.call for event in await said(chat, "/jobs trai") if isinstance(event, Called)]
    assert call.arguments == {"filter": {"name": "trai"}}
    assert chat.messages == []


async def test_why(chat: Chat) -> None:
    (call,) = [event.call for event in await said(chat, "/why 2") if isinstance(event, Called)]
    assert (call.tool, call.arguments) == ("scheduler_why", {"id": "2"})
    (call,) = [event.call for event in await said(chat, "/why") if isinstance(event, Called)]
    assert call.arguments == {}
    (call,) = [event.call for event in await said(chat, "/why demo 2") if isinstance(event, Called)]
    assert call.arguments == {"id": "2", "cluster": "demo"}


async def test_submit_opens_the_form_or_proposes_and_esc_stops_it(chat: Chat) -> None:
    assert Wants("submit") in await said(chat, "/submit")
    task = asyncio.create_task(said(chat, "/submit sleep 30 on 2 cores in queue gpu"))
    await until(lambda: chat.waiting, 20)
    assert chat.busy
    await said(chat, "/stop")
    events = await task
    assert events[-1] == Ended("stopped") and not chat.waiting


async def test_scope(chat: Chat) -> None:
    events = await said(chat, "/scope")
    assert "only my jobs" in text(events) and Wants("scope") in events
    assert Wants("scope") not in await said(chat, "/scope queue gpu")
    assert chat.engine.gate.agents.scope.queues == frozenset({"gpu"})
    assert "names no scope" in text(await said(chat, "/scope whatever there is"))


async def test_autopilot_is_a_dialog_to_begin_and_a_word_to_end(chat: Chat) -> None:
    assert Wants("autopilot", {"words": "submit 5"}) in await said(chat, "/autopilot submit 5")
    assert "off already" in text(await said(chat, "/autopilot off"))
    await chat.engine.gate.agents.engage(Grant(frozenset({"submit"}), 5, 1.0, datetime(2100, 1, 1, tzinfo=UTC)))
    assert "Autopilot is off" in text(await said(chat, "/autopilot off"))
    assert chat.engine.gate.agents.autopilot is None


async def test_model(chat: Chat) -> None:
    assert "offline" in text(await said(chat, "/model"))
    assert isinstance((await said(chat, "/model nothing"))[0], Failure) and chat.planner.name == "offline"
    assert "some-model" in text(await said(chat, "/model some-model")) and chat.planner.name == "some-model"


async def test_compact(chat: Chat) -> None:
    for _ in range(30):
        await said(chat, "list queues")
    before = len(chat.messages)
    assert f"{before} messages" in text(await said(chat, "/compact")) and len(chat.messages) < before


async def test_what_would_change_the_conversation_waits_for_the_turn(chat: Chat) -> None:
    task = asyncio.create_task(said(chat, "cancel job 1"))
    await until(lambda: chat.waiting, 20)
    for command in ("/compact", "/model some-model"):
        assert "stop it first" in text(await said(chat, command))
    assert "4 jobs" in text(await said(chat, "/jobs")) and not task.done()
    await chat.stop()
    await task


async def test_export_names_a_file_of_the_working_folder_alone(chat: Chat) -> None:
    await said(chat, "list jobs")
    (wants, _) = await said(chat, "/export notes.md")
    assert isinstance(wants, Wants) and wants.arguments["name"] == "notes.md" and "4 jobs" in wants.arguments["text"]
    (wants, _) = await said(chat, "/export")
    assert isinstance(wants, Wants) and wants.arguments["name"] == f"chat-{chat.id}.md"
    for name in ("../notes.md", "/etc/passwd", ".bashrc", "a/b.md", "-rf"):
        assert isinstance((await said(chat, f"/export {name}"))[0], Failure)


async def test_sessions_new_and_resume(chat: Chat) -> None:
    assert "no session yet" in text(await said(chat, "/sessions"))
    await said(chat, "list jobs")
    first = chat.id
    assert complete("/resume ", chat) == [f"/resume {first}"]
    assert "A new session" in text(await said(chat, "/new")) and chat.id != first and chat.messages == []
    assert first in text(await said(chat, "/sessions"))
    assert "goes on" in text(await said(chat, f"/resume {first}")) and chat.id == first and chat.messages
    assert isinstance((await said(chat, "/resume 20200101-000000-000000"))[0], Failure) and chat.id == first
    assert first in text(await said(chat, "/resume")) and "you are in" in text(await said(chat, f"/resume {first}"))


async def test_watches(chat: Chat) -> None:
    assert "Nothing is watched" in text(await said(chat, "/watches"))
    await said(chat, "watch 1")
    assert "job 1 of demo, until it ends" in text(await said(chat, "/watches"))
    assert complete("/watches ", chat) == ["/watches 1"]
    assert "1 watches dropped" in text(await said(chat, "/watches drop 1")) and not chat.watches.all
    assert "not watched" in text(await said(chat, "/watches drop 1"))


def test_completion() -> None:
    assert complete("/s") == ["/submit", "/scope", "/sessions", "/stop"]
    assert complete("/jobs ru") == ["/jobs running"] and complete("/jobs my ru") == ["/jobs my running"]
    assert complete("list") == [] and complete("/nonsense x") == [] and complete("/a\nb") == []
    assert len(complete("/")) == len(COMMANDS)
