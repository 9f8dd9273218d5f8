"""The chat in the console with a model behind a scripted endpoint: what is loaded when, and a sentence that reaches the
cluster by way of the inbox."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.doubles.messages_api import MessagesApi, message, serving, text, use
from tests.project.tree import ROOT
from tests.ui.chat_scene import ask, to_inbox
from tests.ui.scene import open_scene

LOADED = """
import asyncio, sys
from pathlib import Path
from tests.doubles.messages_api import MessagesApi, message, serving, text
from tests.ui.scene import open_scene

def told(when):
    with (Path(sys.argv[1]) / "told").open("a") as file:  # standard output is the terminal's
        print(when, *sorted({"anthropic", "mcp", "openai"} & set(sys.modules)), file=file)

async def main():
    api = MessagesApi(message(text("Good morning.")))
    async with serving(api) as url:
        chat = {"chat": {"base_url": url, "model": "scripted"}}
        async with open_scene(Path(sys.argv[1]), more=chat) as scene:
            await scene.press("2", "3", "1", "j", "question_mark", "escape", "enter", "escape")
            told("before")
            await scene.press("c")
            await scene.until(lambda: scene.app.main.panel is not None)
            told("opened")
            scene.app.main.panel.input.put("hello")
            await scene.press("enter")
            await scene.until(lambda: "Good morning." in scene.text)
            told("said")

asyncio.run(main())
"""


def test_the_sdk_is_loaded_with_the_first_sentence(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", LOADED, str(tmp_path)], env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=110,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    assert (tmp_path / "told").read_text().splitlines() == ["before", "opened", "said anthropic"]


async def test_a_sentence_reaches_the_cluster_by_way_of_the_inbox(tmp_path: Path) -> None:
    api = MessagesApi(
        message(text("I propose it."), use("scheduler_cancel", {"ids": ["4103"]})),
        message(text("It is **cancelled**.")),
    )
    async with (
        serving(api) as url,
        open_scene(tmp_path, more={"chat": {"base_url": url, "model": "scripted"}}) as scene,
    ):
        await scene.press("c")
        await scene.until(lambda: scene.app.main.chat_context == "say")
        assert scene.app.main.panel is not None
        scene.app.main.panel.input.put("cancel job 4103")
        await scene.press("enter")
        await scene.until(lambda: len(scene.engine.gate.agents.inbox) == 1)
        await scene.until(lambda: "I propose it." in scene.text)
        assert scene.backend.sent == []
        await to_inbox(scene, "ctrl+o")
        await ask(scene, "A")
        await scene.press("y")
        await scene.until(lambda: scene.backend.sent)
        await scene.until(lambda: not api.steps)
    assert scene.backend.job("4103").status == "cancelled"
    intents = [line for line in scene.engine.audit.records() if line["kind"] == "intent"]
    assert [(line["origin"], line["decision"]) for line in intents] == [("chat", "confirmed by dialog")]
    api.check()
