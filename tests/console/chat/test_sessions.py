"""Sessions on disk: whole at every moment, of the owner's alone, and never more than what was said."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from console.chat.events import Notice
from console.chat.keeping import Keeping
from console.chat.session import Chat
from console.chat.sessions import KEPT, VERSION, SessionError, SessionFile, chats_folder, listed, prune
from console.engine import Engine
from console.gate import AgentScope

AT = datetime(2026, 1, 2, tzinfo=UTC)
ID = "20260102-000000-abcdef"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "chats"


@pytest.fixture
async def chat(engine: Engine, folder: Path) -> AsyncIterator[Chat]:
    chat = Chat(engine, folder=folder)
    yield chat
    await chat.close()


async def say(chat: Chat, text: str) -> None:
    async for _ in chat.say(text):
        pass


def modes(folder: Path) -> tuple[int, list[int]] | None:
    """Of the folder and of the files in it."""
    if not folder.exists():
        return None
    return folder.stat().st_mode & 0o777, [file.stat().st_mode & 0o777 for file in folder.iterdir()]


def message(text: str, role: str = "user") -> dict[str, object]:
    return {"role": role, "content": [{"type": "text", "text": text}]}


def file_of(folder: Path, *texts: str) -> Path:
    made = SessionFile(folder, ID)
    made.begin(AT)
    made.add([{"kind": "message", "message": message(text)} for text in texts])
    made.close()
    return folder / f"{ID}.jsonl"


async def test_a_session_is_kept_and_goes_on(chat: Chat, engine: Engine, folder: Path) -> None:
    await say(chat, "list jobs")
    await say(chat, "watch 1")
    first, kept = chat.id, list(chat.messages)
    assert modes(folder) == (0o700, [0o600])
    await chat.close()
    other = Chat(engine, folder=folder)
    (one,) = await other.sessions()
    assert (one.id, one.title, one.turns, one.watches) == (first, "list jobs", 2, 1)
    await other.resume(first)
    assert other.messages == kept and [watch.id for watch in other.watches.all] == ["1"]
    await say(other, "nodes")
    await other.close()
    again = Chat(engine, folder=folder)
    await again.resume(first)
    assert len(again.messages) > len(kept) and again.messages[: len(kept)] == kept
    await again.close()


async def test_an_empty_session_leaves_no_file(chat: Chat, folder: Path) -> None:
    await chat.new()
    assert modes(folder) is None


async def test_scope_and_autopilot_are_no_part_of_it(chat: Chat, engine: Engine, folder: Path) -> None:
    await say(chat, "only look at queue gpu")
    await say(chat, "cancel job 2")
    first = chat.id
    await chat.close()
    engine.gate.agents.scope = AgentScope("mine")
    other = Chat(engine, folder=folder)
    await other.resume(first)
    assert engine.gate.agents.scope == AgentScope("mine") and not other.waiting
    await other.close()


async def test_secrets_are_not_written(chat: Chat, folder: Path) -> None:
    await say(chat, "the password=hunter2secret and Bearer abcdef123456")
    written = (folder / f"{chat.id}.jsonl").read_text()
    assert "hunter2secret" not in written and "abcdef123456" not in written
    assert "hunter2secret" not in chat.export()


async def test_an_export_tells_who_said_what(chat: Chat) -> None:
    await say(chat, "list jobs")
    told = chat.export()
    assert "**You:**\n\nlist jobs" in told and "**Call** `scheduler_list_jobs`" in told and "4 jobs" in told
    assert told.startswith(f"# Chat {chat.id}\n")


@pytest.mark.parametrize("torn", [b'{"kind":"mess', b"\x00\x00\x00\n", b"not json\n", b'{"kind":"message"'])
def test_a_torn_line_is_left_out_and_cut_off(folder: Path, torn: bytes) -> None:
    path = file_of(folder, "one", "two")
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    again = SessionFile(folder, ID)
    assert [m["content"][0]["text"] for m in again.open().messages] == ["one", "two"]
    assert path.read_bytes() == whole
    again.add([{"kind": "message", "message": message("three")}])
    again.close()
    (found,) = listed(folder)
    assert (found.title, found.turns) == ("one", 3)


def test_every_beginning_of_a_file_can_be_read(folder: Path) -> None:
    path = file_of(folder, "one", "two", "three")
    whole = path.read_bytes()
    head = whole.index(b"\n") + 1
    for end in range(head, len(whole) + 1):
        path.write_bytes(whole[:end])
        one = SessionFile(folder, ID)
        assert len(one.open().messages) == whole[:end].count(b"\n") - 1
        one.close()


def test_a_call_without_a_result_is_given_one(folder: Path) -> None:
    path = file_of(folder, "one")
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "x", "name": "y", "input": {}}]}
    with path.open("ab") as out:
        out.write(json.dumps({"kind": "message", "message": call}).encode() + b"\n")
    one = SessionFile(folder, ID)
    assert one.open().messages[-1]["content"][0]["tool_use_id"] == "x"
    one.close()


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 200_000, b'{"kind": "message", "message": ' + b"[" * 200_000,
        b'{"kind": "message", "message": {"role": "assistant", "content": [{"type": "tool_use"}]}}',
        b'{"kind": "message", "message": {"role": "assistant", "content": '
        b'[{"type": "tool_use", "id": [1], "name": {}, "input": 3}]}}',
        b'{"kind": "message", "message": {"role": "user", "content": [{"type": "text", "text": 5}]}}',
        b'{"kind": "message", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": {}}]}}',
        b'{"kind": "message", "message": {"role": "user", "content": [{"type": {}}]}}',
        b'{"kind": "compacted", "messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": 1}]}]}',
    ],
    ids=range(8),
)  # fmt: skip
async def test_what_is_no_message_is_left_out_and_hides_no_other_session(
    folder: Path, engine: Engine, line: bytes
) -> None:
    """A damaged file is one session's own trouble: the list and the others go on."""
    other = "20260102-000001-abcdef"
    for id in (ID, other):
        file = SessionFile(folder, id)
        file.begin(AT)
        file.add([{"kind": "message", "message": {"role": "user", "content": "list jobs"}}])
        file.close()
    with (folder / f"{ID}.jsonl").open("ab") as damaged:
        damaged.write(line + b"\n")
    assert [one.id for one in listed(folder)] == [other, ID]
    chat = Chat(engine, folder=folder)
    await chat.resume(ID)
    assert "[" not in chat.export() and not any(m["role"] == "assistant" for m in chat.messages)
    await chat.close()


def test_a_newer_version_is_refused_with_a_sentence(folder: Path) -> None:
    path = file_of(folder, "one")
    path.write_bytes(path.read_bytes().replace(f'"version":{VERSION}'.encode(), b'"version":99'))
    before = path.read_bytes()
    with pytest.raises(SessionError, match="newer Pilothouse"):
        SessionFile(folder, ID).open()
    assert path.read_bytes() == before and listed(folder) == []


@pytest.mark.parametrize("id", ["../../etc/passwd", "", "x", "20260102-000000-abcdef/../y"])
def test_an_id_is_no_path(folder: Path, id: str) -> None:
    with pytest.raises(SessionError, match="not the id"):
        SessionFile(folder, id).open()


def test_what_is_not_there_is_said(folder: Path) -> None:
    with pytest.raises(SessionError, match="no session"):
        SessionFile(folder, ID).open()


def test_a_file_that_others_can_read_is_refused(folder: Path) -> None:
    path = file_of(folder, "one")
    path.chmod(0o644)
    with pytest.raises(SessionError, match="open to others"):
        SessionFile(folder, ID).open()


def test_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    path = file_of(folder, "one")
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SessionError):
        SessionFile(folder, ID).open()


def test_a_session_is_open_once(folder: Path) -> None:
    file_of(folder, "one")
    first = SessionFile(folder, ID)
    first.open()
    with pytest.raises(SessionError, match="another console"):
        SessionFile(folder, ID).open()
    first.close()


def test_the_oldest_go(folder: Path) -> None:
    file_of(folder, "newest")
    for number in range(KEPT + 4):
        (folder / f"20250101-000000-{number:06x}.jsonl").write_text("")
        (folder / f"20250101-000000-{number:06x}.jsonl").chmod(0o600)
    held = SessionFile(folder, "20250101-000000-000001")
    held._fd = os.open(folder / f"{held.id}.jsonl", os.O_WRONLY)
    held._lock()
    prune(folder)
    held.close()
    left = sorted(path.stem for path in folder.iterdir())
    assert len(left) == KEPT + 1 and left[0] == held.id and left[-1] == ID


async def test_a_disk_that_takes_nothing_is_told_once_and_the_chat_goes_on(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    chat = Chat(engine, folder=tmp_path / "file" / "chats")
    events = [event async for event in chat.say("list jobs")] + [event async for event in chat.say("nodes")]
    notices = [event for event in events if isinstance(event, Notice)]
    assert len(notices) == 1 and notices[0].kind == "warning" and "not kept" in notices[0].text
    assert "audit" not in notices[0].text
    await chat.close()


async def test_what_was_made_short_is_what_is_read_again(folder: Path) -> None:
    keeping = Keeping(folder, ID)
    messages = [message("one"), message("a", "assistant"), message("two")]
    await keeping.keep(AT, messages, [])
    messages[-1] = message("two and more")
    await keeping.keep(AT, messages, [])
    watches = [{"cluster": "demo", "id": "1"}]
    await keeping.keep(AT, messages, watches)
    await keeping.keep(AT, [message("short")], watches)
    assert modes(folder) == (0o700, [0o600])
    assert b"two and more" not in (folder / f"{ID}.jsonl").read_bytes()
    with pytest.raises(SessionError, match="another console"):
        SessionFile(folder, ID).open()
    await keeping.keep(AT, [message("short"), message("b", "assistant")], watches)
    keeping.close()
    again = Keeping(folder, ID)
    stored = again.open()
    assert stored.messages == [message("short"), message("b", "assistant")] and stored.watches == watches
    again.close()


def test_a_disk_that_is_full_leaves_the_old_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file_of(folder, "one")
    whole = path.read_bytes()
    made = SessionFile(folder, ID)
    made.open()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("console.chat.sessions.write_all", full)
    with pytest.raises(SessionError, match="No space left"):
        made.rewrite(AT, [{"kind": "compacted", "messages": []}])
    monkeypatch.undo()
    assert path.read_bytes() == whole and [file.name for file in folder.iterdir()] == [path.name]
    made.add([{"kind": "message", "message": message("two")}])
    made.close()
    again = SessionFile(folder, ID)
    assert len(again.open().messages) == 2
    again.close()


def test_sessions_have_a_folder_of_their_own() -> None:
    assert chats_folder().parts[-2:] == ("pilothouse", "chats")
