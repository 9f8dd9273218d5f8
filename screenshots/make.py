"""Makes the pictures of the README from the running application on a fixed cluster and a clock that stands still.

``make screenshots`` writes them beside this file; the same code gives the same pictures, byte for byte.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

# Read by Textual when it is first imported.
os.environ.update({"TERM": "xterm-256color", "COLORTERM": "truecolor", "TEXTUAL_ANIMATIONS": "none"})
os.environ.pop("NO_COLOR", None)

from adapters.base import Reader, Writer
from adapters.intents import Intent, Plan
from adapters.model import Node, Queue, Ref, Row
from adapters.native import probe
from adapters.native.observe import observe
from adapters.native.token import fixed_token
from adapters.native.writer import NativeWriter
from console.chat.session import Chat
from tests.doubles.memory_backend import MemoryBackend, MemoryReader
from tests.ui.scene import Scene, open_scene, rows

HERE = Path(__file__).resolve().parent
SIZE = (120, 36)
NODE = "node-3"
INTENT_ID = UUID("6f1c2b52-53a4-4c55-9d0e-0f6b6a1d2c3e")


class _Rows(MemoryReader):
    """The rows of the picture, as the writer of the native wire reads them for its plan."""

    async def probed(self) -> probe.Found:
        return probe.Found(frozenset({"events", "quota"}))

    async def observe(self, refs: Sequence[Ref]) -> Any:
        return await observe(self, refs)


class _Writer(NativeWriter):
    """The real plans of the native wire, with an intent id that does not change. Nothing is sent for a picture."""

    async def plan(self, intent: Intent) -> Plan:
        return await super().plan(intent.model_copy(update={"intent_id": INTENT_ID}))


class _Backend(MemoryBackend):
    def open(self, name: str = "", profile: object = None) -> tuple[Reader, Writer]:
        reader: Any = _Rows(self)
        return reader, _Writer(self.cluster, "http://127.0.0.1:1", fixed_token(None), reader=reader)


HOSTS = {
    "batch": ["node-1", "node-2", "node-3", "node-4"],
    "gpu": ["node-5", "node-6"],
    "short": ["node-1", "node-2", "node-6"],
}


def cluster() -> list[Row]:
    """The fixed cluster, its nodes known to the node service as well, and its queues with their nodes."""
    return [_told(row) for row in rows()]


def _told(row: Row) -> Row:
    if isinstance(row, Node):
        return row._replace(extensions={**row.extensions, "node_id": row.name})
    if isinstance(row, Queue) and row.name in HOSTS:
        return row._replace(extensions={**row.extensions, "hosts": HOSTS[row.name]})
    return row


async def main_screen(scene: Scene) -> None:
    """The three panes, the cursor on the third job."""
    await scene.press("j", "j")


async def node_dialog(scene: Scene) -> None:
    """The dialog of a node that has a quota."""
    await scene.press("3", "j", "j", "e")
    await scene.until(lambda: NODE in scene.text and "Quota" in scene.text)


async def confirmation(scene: Scene) -> None:
    """The question before a new quota."""
    await node_dialog(scene)
    await scene.press("2", "enter")
    await scene.until(lambda: "POST" in scene.text and "Wait a moment" not in scene.text)


async def job(scene: Scene) -> None:
    """A failed job, with everything that is known of it."""
    await scene.press(*"jjjjjjj", "enter")
    await scene.until(lambda: "Out of memory" in scene.text)


async def node_map(scene: Scene) -> None:
    """Every node as one cell, by queue."""
    await scene.press("m")
    await scene.until(lambda: "in no queue" in scene.text or "short" in scene.text)


async def chat(scene: Scene) -> None:
    """The chat beside the panes: a question with its answer, and a change that waits."""
    scene.app.make_chat = lambda engine: (Chat(engine), lambda text: ())
    await scene.press("c")
    await scene.until(lambda: scene.app.main.chat_context == "say")
    for sentence, seen in (("why is job 4104 pending", "Evidence"), ("set the quota of node-3 to 2", "1 to answer")):
        panel = scene.app.main.panel
        assert panel is not None
        panel.input.put(sentence)
        await scene.press("enter")
        await scene.until(lambda seen=seen: seen in scene.text)


async def inbox(scene: Scene) -> None:
    """What waits, with its plan."""
    await chat(scene)
    await scene.press("ctrl+o")
    await scene.until(lambda: "POST" in scene.text)


PICTURES: dict[str, Callable[[Scene], Awaitable[None]]] = {
    "main": main_screen,
    "node": node_dialog,
    "confirm": confirmation,
    "job": job,
    "map": node_map,
    "chat": chat,
    "inbox": inbox,
}


async def picture(play: Callable[[Scene], Awaitable[None]], theme: str = "pilothouse-dusk") -> str:
    """The SVG of the screen after `play`."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # the last audit line may still come
        async with open_scene(Path(folder), size=SIZE, theme=theme, backend=_Backend(rows=cluster())) as scene:
            await play(scene)
            await scene.settle()
            return scene.app.export_screenshot(title="pilothouse")


def make(folder: Path) -> list[Path]:
    """Write every picture into `folder`; returns the files."""
    made = []
    for name, play in PICTURES.items():
        path = folder / f"{name}.svg"
        path.write_text(asyncio.run(picture(play)))
        made.append(path)
    return made


if __name__ == "__main__":
    for path in make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE):
        print(path)
