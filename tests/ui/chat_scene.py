"""The console with an open chat: a scripted one, or the real one without a model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from adapters.intents import Intent
from adapters.model import Row
from console.chat.session import Chat
from console.chat.slash import complete
from console.engine import Engine
from console.gate import Proposal
from console.screens.confirm import ConfirmScreen, QuestionScreen
from console.screens.inbox import InboxScreen
from tests.doubles.memory_backend import MemoryBackend
from tests.doubles.scripted_chat import Part, ScriptedChat
from tests.ui.scene import Scene, open_scene
from widgets.chat import ChatPanel

DEADLINE = 30.0


class ChatScene:
    """A scene and its chat."""

    def __init__(self, scene: Scene, chat: Any) -> None:
        self.scene = scene
        self.chat = chat

    @property
    def panel(self) -> ChatPanel:
        panel = self.scene.app.main.panel
        assert panel is not None
        return panel

    @property
    def text(self) -> str:
        return self.scene.text

    async def say(self, text: str) -> None:
        """Type a sentence and Enter."""
        self.panel.input.put(text)
        await self.scene.press("enter")

    async def propose(self, intent: Intent, turn: str = "t.1", said: str = "", source: str = "") -> Proposal:
        """Put a proposal into the inbox as an agent's call would."""
        gate = self.scene.engine.gate
        prepared = await gate.prepare(intent.model_copy(update={"origin": "chat"}))
        return gate.agents.inbox.add(prepared, turn, said, source)

    async def ask(self, *keys: str) -> QuestionScreen:
        """Press what leads to a question, and wait until it listens."""
        return await ask(self.scene, *keys)


async def ask(scene: Scene, *keys: str) -> QuestionScreen:
    """Press what leads to a question, and wait until it listens."""
    await scene.press(*keys)
    await scene.until(lambda: isinstance(scene.app.screen, QuestionScreen))
    screen = scene.app.screen
    assert isinstance(screen, QuestionScreen)
    await scene.until(lambda: screen._guard.look())
    await scene.settle()
    return screen


async def to_inbox(scene: Scene, *keys: str) -> InboxScreen:
    await scene.press(*keys)
    await scene.until(lambda: isinstance(scene.app.screen, InboxScreen))
    screen = scene.app.screen
    assert isinstance(screen, InboxScreen)
    await scene.settle()
    return screen


async def answer_typed(scene: Scene, text: str) -> None:
    """Type what a question asks for, and Enter twice."""
    await scene.press(*text, "enter")
    await scene.until(lambda: scene.app.screen.focused is not None and scene.app.screen.focused.id == "confirm-yes")
    screen = scene.app.screen
    assert isinstance(screen, QuestionScreen)
    await calm(scene, screen)
    await scene.press("enter")


async def calm(scene: Scene, screen: QuestionScreen) -> None:
    """Wait until a key would no longer be one of a burst."""
    import time

    end = time.monotonic() + 0.1
    await scene.until(lambda: time.monotonic() > end and screen._guard.armed)


def confirming(scene: Scene) -> bool:
    return isinstance(scene.app.screen, ConfirmScreen)


@asynccontextmanager
async def open_chat(
    folder: Path, turns: Mapping[str, Sequence[Part]] | None = None, data: Sequence[Row] | None = None, *,
    size: tuple[int, int] = (120, 40), backend: MemoryBackend | None = None, theme: str | None = "pilothouse-dusk",
    real: bool = False, opened: bool = True, read_only: bool = False,
) -> AsyncIterator[ChatScene]:  # fmt: skip
    """The console, its chat open and its input focused; `real`: the grammar answers, and sessions are not kept."""
    made: list[Any] = []

    def make(engine: Engine) -> Any:
        chat: Any = Chat(engine) if real else ScriptedChat(engine, turns)
        made.append(chat)
        return chat, lambda text: complete(text, chat if real else None)

    async with open_scene(folder, data, size=size, backend=backend, theme=theme, read_only=read_only) as scene:
        scene.app.make_chat = make
        if opened:
            await scene.press("c")
            await scene.until(lambda: scene.app.main.chat_context == "say")
            await scene.settle()
        yield ChatScene(scene, made[0] if made else None)
