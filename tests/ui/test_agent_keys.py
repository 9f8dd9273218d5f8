"""Scope and autopilot from the keyboard: forms, the typed question, the banner, and the end at once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from adapters.intents import HoldJob
from console.agent import Agent
from console.app import ConsoleApp
from console.gate import AgentScope, Grant
from console.grants import parse
from console.screens.autopilot import AutopilotScreen
from console.screens.confirm import QuestionScreen
from console.screens.keyguard import KeyGuard
from console.screens.main import MainScreen
from console.screens.scope import ScopeScreen
from tests.doubles.counting_driver import CountingDriver
from tests.doubles.memory_backend import MemoryBackend
from tests.doubles.settle import settle, until
from tests.ui.chat_scene import answer_typed, ask, open_chat, to_inbox
from tests.ui.scene import NOW, Scene, make_app, open_scene, rows
from widgets.banner import Banner

GRANT = Grant(frozenset({"hold"}), 5, 1.0, NOW + timedelta(minutes=30))


async def form(scene: Scene, key: str, screen: type) -> None:
    """Open a form and wait until it listens."""
    await scene.press(key)
    await scene.until(lambda: isinstance(scene.app.screen, screen))
    guard: KeyGuard = scene.app.screen._guard  # type: ignore[attr-defined]
    await scene.until(guard.look)
    await scene.settle()


async def fill(scene: Scene, *values: str) -> None:
    """Type a value into each field and leave it by Enter."""
    for value in values:
        await scene.press("end", *["backspace"] * 12, *value, "enter")


def banner(scene: Scene) -> str:
    found = list(scene.app.main.query(Banner))
    return str(found[0].render()) if found and found[0].display else ""


class TestScope:
    async def test_the_form_sets_it_and_the_record_says_by_key(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path) as chat:
            await chat.scene.press("escape")
            await form(chat.scene, "S", ScopeScreen)
            assert "Now: only my jobs, any queue, any cluster." in chat.text
            await fill(chat.scene, "all", "gpu short", "demo")
            await chat.scene.until(lambda: isinstance(chat.scene.app.screen, MainScreen))
            agents = chat.scene.engine.gate.agents
            assert agents.scope == AgentScope("all", frozenset({"gpu", "short"}), frozenset({"demo"}))
            await chat.scene.until(lambda: "anybody's jobs, queue gpu, short" in chat.text.replace("\n", " "))
            line = [record for record in chat.scene.engine.audit.records() if record["kind"] == "scope"][-1]
            assert (line["decision"], line["origin"]) == ("set by key", "key")

    async def test_esc_changes_nothing(self, tmp_path: Path) -> None:
        async with open_scene(tmp_path) as scene:
            await form(scene, "S", ScopeScreen)
            await scene.press("backspace", *"x", "escape")
            assert scene.engine.gate.agents.scope == AgentScope()
            assert not [record for record in scene.engine.audit.records() if record["kind"] == "scope"]

    @pytest.mark.parametrize(
        ("values", "told"),
        [(("everybody", "", ""), "mine or all, not 'everybody'"), (("all", "", "hpc"), "no cluster 'hpc'")],
    )
    async def test_what_is_wrong_is_said_at_its_field(self, tmp_path: Path, values: tuple[str, ...], told: str) -> None:
        async with open_scene(tmp_path) as scene:
            await form(scene, "S", ScopeScreen)
            await fill(scene, *values)
            assert told in scene.text and isinstance(scene.app.screen, ScopeScreen)
            assert scene.engine.gate.agents.scope == AgentScope()

    async def test_keys_that_were_still_being_typed_do_not_reach_it(self, tmp_path: Path) -> None:
        """A person typing into the chat does not fill in a form that came up."""
        async with open_scene(tmp_path) as scene:
            await scene.press("S")
            await scene.until(lambda: isinstance(scene.app.screen, ScopeScreen))
            scene.app.screen._guard = KeyGuard(lambda: 0.0)  # type: ignore[attr-defined]
            await scene.press(*"all", "enter", "enter", "enter")
            assert isinstance(scene.app.screen, ScopeScreen)
            assert scene.engine.gate.agents.scope == AgentScope()
            await scene.press("escape")
            assert isinstance(scene.app.screen, MainScreen)


class TestAutopilot:
    async def test_form_typed_answer_banner_and_brake(self, tmp_path: Path) -> None:
        async with open_scene(tmp_path) as scene:
            assert banner(scene) == ""
            await form(scene, "B", AutopilotScreen)
            await fill(scene, "hold, submit", "7", "2.5", "30", "gpu", "")
            await scene.until(lambda: type(scene.app.screen) is QuestionScreen)
            question = scene.app.screen
            assert isinstance(question, QuestionScreen)
            await scene.until(lambda: question._guard.look())
            for part in ("Verbs: hold, submit", "Actions: 7 at most", "Core-hours: 2.5", "30 minutes", "queue gpu"):
                assert part in scene.text
            assert "Never covered" in scene.text
            await answer_typed(scene, "7")
            await scene.until(lambda: scene.engine.gate.agents.autopilot is not None)
            await scene.until(lambda: isinstance(scene.app.screen, MainScreen))
            await scene.until(lambda: "autopilot: hold, submit; 7 actions" in scene.text)
            assert scene.text.splitlines()[0].startswith(" autopilot: hold, submit; 7 actions, 2.5 core-hours, 30 min")
            await scene.press("b")
            assert scene.engine.gate.agents.autopilot is None
            await scene.until(lambda: banner(scene) == "")
            kinds = [(r["kind"], r["decision"]) for r in scene.engine.audit.records() if r["kind"] == "autopilot"]
            assert kinds == [("autopilot", "on"), ("autopilot", "off")]

    @pytest.mark.parametrize("keys", [("escape",), ("y",), ("enter",)])
    async def test_nothing_but_the_number_turns_it_on(self, tmp_path: Path, keys: tuple[str, ...]) -> None:
        async with open_scene(tmp_path) as scene:
            await form(scene, "B", AutopilotScreen)
            await fill(scene, "hold", "7", "2.5", "30", "", "")
            await scene.until(lambda: type(scene.app.screen) is QuestionScreen)
            question = scene.app.screen
            assert isinstance(question, QuestionScreen)
            await scene.until(lambda: question._guard.look())
            await scene.press(*keys)
            assert scene.engine.gate.agents.autopilot is None
            await scene.press("escape", "escape")
            assert scene.engine.gate.agents.autopilot is None

    async def test_a_wrong_field_is_said(self, tmp_path: Path) -> None:
        async with open_scene(tmp_path) as scene:
            await form(scene, "B", AutopilotScreen)
            await fill(scene, "drain", "7", "2.5", "30", "", "")
            assert "Autopilot never covers drain." in scene.text
            assert isinstance(scene.app.screen, AutopilotScreen)

    async def test_the_banner_stands_above_every_screen_and_dialog(self, tmp_path: Path) -> None:
        """Also in a small terminal, where a dialog would take every line."""
        async with open_scene(tmp_path, size=(80, 24)) as scene:
            await scene.engine.gate.agents.engage(GRANT)
            scene.app.show_agents()
            for keys in ((), ("a",), ("S",), ("question_mark",), ("3", "e"), ("1", "l"), ("N",)):
                await scene.press("1", *keys)
                await scene.until(lambda: scene.text.splitlines()[0].startswith(" autopilot: hold; 5 actions"))
                await scene.press("escape", "escape")
            assert scene.app._exception is None

    async def test_a_long_question_can_still_be_seen_to_its_end_and_answered(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path, size=(80, 24), opened=False) as chat:
            await chat.scene.engine.gate.agents.engage(GRANT)
            chat.scene.app.show_agents()
            job = chat.scene.backend.job("4113")
            proposal = await chat.propose(HoldJob(cluster="demo", refs=(job.ref,)), said="x " * 900)
            await to_inbox(chat.scene, "a")
            await ask(chat.scene, "A")
            assert "scroll to its end" in chat.text
            await chat.scene.press("end")
            assert "Confirm" in chat.text and "y confirms" in chat.text
            await chat.scene.press("y")
            await chat.scene.until(lambda: proposal.answer == "approved")

    async def test_b_when_it_is_off_says_so(self, tmp_path: Path) -> None:
        async with open_scene(tmp_path) as scene:
            await scene.press("b")
            assert "Autopilot is off." in scene.text

    async def test_b_works_in_the_inbox_and_over_the_transcript(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path) as chat:
            agents = chat.scene.engine.gate.agents
            for keys in (("escape", "b"), ("a", "b")):
                await agents.engage(GRANT)
                await chat.scene.press(*keys)
                assert agents.autopilot is None
                await chat.scene.press("escape")

    async def test_what_it_does_is_seen_in_the_head_of_the_chat(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path, real=True, size=(200, 60)) as chat:
            agents = chat.scene.engine.gate.agents
            await agents.engage(GRANT)
            agent = Agent(chat.scene.engine, "chat")
            answer, proposal = await agent.propose("scheduler_hold", {"ids": ["4113"]}, "t")
            assert (answer.state, proposal) == ("sent", None)
            agents.read_untrusted("job logs 4113")
            chat.scene.app.show_agents()
            await chat.scene.until(
                lambda: "4 actions" in chat.text and "suspended: job logs 4113 was read" in chat.text
            )
            assert "Read from outside  job logs 4113" in chat.text

    async def test_given_on_the_command_line_it_is_on_from_the_start_and_on_record(self, tmp_path: Path) -> None:
        app = make_app(tmp_path, MemoryBackend(rows=rows()))
        wish = parse("verbs=hold actions=3 core_hours=1 minutes=15")
        app = ConsoleApp(app.engine, driver_class=CountingDriver, autopilot=wish)
        try:
            async with app.run_test(headless=False, size=(120, 40)) as pilot:
                await until(pilot, lambda: app.engine.gate.agents.autopilot is not None, 30)
                grant = app.engine.gate.agents.autopilot
                assert grant is not None and grant.grant.expires == NOW + timedelta(minutes=15)
                await until(pilot, lambda: app.main.query(Banner), 30)
                await settle(pilot, 30)
        finally:
            await app.engine.stop()
        line = next(record for record in app.engine.audit.records() if record["kind"] == "autopilot")
        assert (line["decision"], line["origin"]) == ("on", "command_line")

    async def test_it_is_off_at_the_next_start(self, tmp_path: Path) -> None:
        async with open_scene(tmp_path) as scene:
            await scene.engine.gate.agents.engage(Grant(frozenset({"hold"}), 5, 1.0, datetime(2100, 1, 1, tzinfo=UTC)))
        async with open_scene(tmp_path) as scene:
            assert scene.engine.gate.agents.autopilot is None and banner(scene) == ""
