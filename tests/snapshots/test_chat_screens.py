"""What the chat and the inbox look like, on a fixed cluster and a chat that says what is written down here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from textual.pilot import Pilot

from adapters.intents import CancelJob, SetNodeQuota
from console.app import ConsoleApp
from console.chat.events import Answered, Call, Called, Reply, Waiting
from console.engine import Engine
from console.screens.inbox import InboxScreen
from console.screens.main import MainScreen
from tests.doubles.memory_backend import MemoryBackend
from tests.doubles.scripted_chat import Part, ScriptedChat
from tests.doubles.settle import settle, until
from tests.ui.scene import make_app, rows

Look = Callable[[ConsoleApp, Pilot[Any]], Awaitable[None]]
DEADLINE = 30.0
LOOKS = [
    ((80, 24), "pilothouse-ansi"),
    ((80, 24), "pilothouse-dusk"),
    ((120, 40), "pilothouse-dusk"),
    ((200, 60), "pilothouse-dusk"),
]
every_look = pytest.mark.parametrize(("size", "theme"), LOOKS, ids=[f"{w}x{h}-{theme}" for (w, h), theme in LOOKS])

WHY = Call("c1", "scheduler_analyze_failure", {"id": "4107"})
LIST = Call("c2", "scheduler_list_jobs", {"filter": {"owner": "me", "status": "running"}, "limit": 5})
CANCEL = Call("c3", "scheduler_cancel", {"ids": ["4103"]})
TEXT = """Job **4107** was killed: it used more memory than it had asked for.

| job | asked | used |
|---|---:|---:|
| 4107 | 16 GB | 16.4 GB |

1. Ask for `20GB`.
2. Or split the input."""


async def _proposed(app: ConsoleApp) -> list[Any]:
    """Two writes of one turn, always the same."""
    gate, store = app.engine.gate, app.engine.store
    job, node = store.find("demo", "job", "4103"), store.find("demo", "node", "node-2")
    assert job is not None and node is not None
    made = []
    for intent in (
        CancelJob(cluster="demo", refs=(job,), origin="chat", intent_id=UUID(int=1)),
        SetNodeQuota(cluster="demo", refs=(node,), slots=2, origin="chat", intent_id=UUID(int=2)),
    ):
        prepared = await gate.prepare(intent)
        said = "The job hangs since ten minutes, and the node should take less until the disk is checked."
        made.append(gate.agents.inbox.add(prepared, "20261130-140203-abc.2", said, "job logs 4103"))
    return made


def _compare(snap_compare: Callable[..., bool], folder: Path, size: tuple[int, int], theme: str, look: Look) -> bool:
    app = make_app(folder, MemoryBackend(rows=rows()), theme=theme)

    async def before(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: app.engine.store.state("demo", "job").loaded, DEADLINE)
        await until(pilot, lambda: app.engine.clusters["demo"].capabilities is not None, DEADLINE)
        await until(pilot, lambda: isinstance(app.screen, MainScreen) and app.screen.up_to_date, DEADLINE)
        await look(app, pilot)
        await settle(pilot, DEADLINE)

    return snap_compare(app, terminal_size=size, run_before=before)


async def _chat(app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """A question answered, a result unfolded, and two proposals that wait."""
    waiting = await _proposed(app)
    app.engine.gate.agents.read_untrusted("job logs 4107")
    why: list[Part] = [
        Called(WHY), Answered(WHY, True, "4107 failed: out of memory (certain)", '{"cause": "memory", "exit": 137}'),
        Reply(TEXT),
    ]  # fmt: skip
    more: list[Part] = [
        Called(LIST), Answered(LIST, False, "demo did not answer within 10 s"), Called(CANCEL), Waiting(tuple(waiting)),
        asyncio.Event(),
    ]  # fmt: skip

    def make(engine: Engine) -> Any:
        chat = ScriptedChat(engine, {"why did 4107 fail?": why, "cancel 4103 and limit node-2": more})
        chat.watches = ["4108"]
        return chat, lambda text: ()

    app.make_chat = make
    await pilot.press("c")
    await until(pilot, lambda: app.main.chat_context == "say", DEADLINE)
    panel = app.main.panel
    assert panel is not None
    panel.input.put("why did 4107 fail?")
    await pilot.press("enter")
    await until(pilot, lambda: "Or split the input" in panel.view.text and not app.main.talking, DEADLINE)
    await pilot.press("ctrl+t")
    panel.input.put("cancel 4103 and limit node-2")
    await pilot.press("enter")
    await until(pilot, lambda: "Ctrl+O opens the inbox" in panel.view.text.replace("\n  ", " "), DEADLINE)


async def _inbox(app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """Two proposals of one turn; the cursor on the second, which needs the name typed."""
    await _proposed(app)
    await pilot.press("a")
    await until(pilot, lambda: isinstance(app.screen, InboxScreen), DEADLINE)
    await settle(pilot, DEADLINE)
    await pilot.press("j")


@every_look
def test_chat(snap_compare: Callable[..., bool], tmp_path: Path, size: tuple[int, int], theme: str) -> None:
    """The chat beside the panes, or over them."""
    assert _compare(snap_compare, tmp_path, size, theme, _chat)


@every_look
def test_inbox(snap_compare: Callable[..., bool], tmp_path: Path, size: tuple[int, int], theme: str) -> None:
    """What waits for an answer."""
    assert _compare(snap_compare, tmp_path, size, theme, _inbox)
