"""New jobs, jobs again, and changes of jobs, from the keyboard."""

from __future__ import annotations

import json
from pathlib import Path

from textual.widgets import Input

from adapters.base import Capabilities
from adapters.intents import INTENTS
from console.screens.form import ModifyScreen, SubmitScreen
from console.screens.job import JobScreen
from console.screens.main import MainScreen
from tests.doubles.memory_backend import MemoryBackend
from tests.ui.scene import jobs, open_scene, rows
from tests.ui.test_flows import ask


def _sent(backend: MemoryBackend) -> dict:  # type: ignore[type-arg]
    body = backend.sent[-1].body
    assert body is not None
    return json.loads(body)["parameters"]  # type: ignore[no-any-return]


async def test_a_new_job_from_the_form(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        await scene.press("N")
        assert isinstance(scene.app.screen, SubmitScreen)
        await scene.press("ctrl+s")
        assert "Type a command" in scene.text
        await scene.press(*"true", "tab", "tab", *"hello", "tab", "tab", *"x", "ctrl+s")
        assert "is no whole number" in scene.text
        await scene.press("backspace", "2")
        await ask(scene, "ctrl+s")
        await scene.press("end", "y")
        await scene.until(lambda: isinstance(scene.app.screen, MainScreen))
        spec = _sent(scene.backend)["spec"]
        assert spec["command"] == ["true"] and spec["name"] == "hello" and spec["cores"] == 2


async def test_a_declined_form_keeps_what_was_typed(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        await ask(scene, "N", *"true", "ctrl+s")
        await scene.press("escape")
        await scene.until(lambda: isinstance(scene.app.screen, SubmitScreen))
        assert scene.app.screen.query_one("#field-command", Input).value == "true"
        assert "nothing was sent" in scene.text and not scene.backend.sent
        await scene.press("escape")
        assert isinstance(scene.app.screen, MainScreen)


async def test_a_failed_job_again_with_more_memory(tmp_path: Path) -> None:
    failed = next(job for job in jobs() if job.status == "failed")._replace(
        extensions={"command": ["sh", "-c", "work 1"]}
    )
    async with open_scene(tmp_path, [failed]) as scene:
        await scene.press("enter")
        assert isinstance(scene.app.screen, JobScreen)
        await scene.press("A")
        await scene.until(lambda: isinstance(scene.app.screen, SubmitScreen))
        screen = scene.app.screen
        assert screen.query_one("#field-command", Input).value == "sh -c 'work 1'"
        screen.query_one("#field-memory", Input).value = "64GB"
        await ask(scene, "ctrl+s")
        await scene.press("end", "y")
        await scene.until(lambda: scene.backend.sent)
        spec = _sent(scene.backend)["spec"]
        assert spec["memory_bytes"] == 64 * 10**9 and spec["command"] == ["sh", "-c", "work 1"]


async def test_a_change_sends_only_what_differs(tmp_path: Path) -> None:
    mine = next(job for job in jobs() if job.status == "pending")._replace(owner="alice")
    async with open_scene(tmp_path, [mine]) as scene:
        await scene.press("M")
        assert isinstance(scene.app.screen, ModifyScreen)
        await scene.press("ctrl+s")
        assert "Nothing is changed yet" in scene.text
        scene.app.screen.query_one("#field-walltime", Input).value = "4h"
        await ask(scene, "ctrl+s")
        await scene.press("y")
        await scene.until(lambda: scene.backend.sent)
        sent = {name: value for name, value in _sent(scene.backend).items() if value}
        assert sent == {"walltime_seconds": 14400}


async def test_what_the_backend_cannot_do_is_said_before_a_form_opens(tmp_path: Path) -> None:
    backend = MemoryBackend(rows=rows())
    verbs = frozenset(INTENTS) - {"submit", "modify"}
    backend.capabilities = Capabilities("memory 1", supported=verbs, unsupported={"submit": "Nobody submits here."})
    async with open_scene(tmp_path, backend=backend) as scene:
        await scene.press("N")
        assert "Nobody submits here." in scene.text and isinstance(scene.app.screen, MainScreen)


async def test_an_operator_closes_limits_and_reserves(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        await scene.press("2", "C")
        await ask(scene, *"repair", "enter")
        await scene.press("y")
        await scene.until(lambda: scene.backend.sent)
        assert _sent(scene.backend) == {"what": "submissions", "reason": "repair"}
        await scene.until(lambda: isinstance(scene.app.screen, MainScreen))
        await scene.press("Q", *"pods", "ctrl+s")
        assert "is not RESOURCE=LIMIT" in scene.text
        await ask(scene, *"=20 cpu=none", "ctrl+s")
        await scene.press("y")
        await scene.until(lambda: len(scene.backend.sent) == 2)
        assert _sent(scene.backend) == {"limits": {"pods": 20, "cpu": None}}
        await scene.until(lambda: isinstance(scene.app.screen, MainScreen))
        await scene.press("3", "V", *"upgrade", "ctrl+s")
        await ask(scene)
        await scene.press("end", "y")
        await scene.until(lambda: len(scene.backend.sent) == 3)
        assert _sent(scene.backend)["name"] == "upgrade" and _sent(scene.backend)["nodes"] == ["node-1"]
