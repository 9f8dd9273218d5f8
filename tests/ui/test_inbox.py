"""The inbox, key by key: what it shows, approving, denying, plans that change, plans in files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adapters.intents import CancelJob, HoldJob, SetNodeQuota, SubmitJob
from adapters.model import Job, JobSpec
from console.gate import Prepared, WaitingPlan
from console.screens.confirm import ConfirmScreen
from console.screens.inbox import InboxScreen
from console.screens.keyguard import KeyGuard
from console.screens.main import MainScreen
from console.screens.prompt import PromptScreen
from tests.doubles.counting_driver import CountingDriver
from tests.hostile import NAMES
from tests.ui.chat_scene import answer_typed, ask, calm, confirming, open_chat, to_inbox
from tests.ui.scene import NOW, Scene, open_scene, rows
from tests.ui.test_hostile import _assert_harmless


def cancel(scene: Scene, id: str) -> CancelJob:
    return CancelJob(cluster="demo", refs=(scene.backend.job(id).ref,))


async def left(scene: Scene) -> None:
    """Back in the inbox."""
    await scene.until(lambda: isinstance(scene.app.screen, InboxScreen))
    await scene.settle()


def audit_kinds(scene: Scene) -> list[str]:
    return [str(line["kind"]) for line in scene.engine.audit.records()]


class TestLooking:
    async def test_it_never_opens_by_itself_and_a_badge_tells_of_it(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path, opened=False) as chat:
            assert "to answer" not in chat.text
            await chat.propose(cancel(chat.scene, "4103"))
            await chat.scene.until(lambda: " 1 to answer: a " in chat.text)
            assert isinstance(chat.scene.app.screen, MainScreen)
            await to_inbox(chat.scene, "a")
            assert not chat.scene.backend.sent

    async def test_everything_a_person_decides_on_is_there(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path, opened=False) as chat:
            await chat.propose(
                cancel(chat.scene, "4103"), turn="20261130-1.7", said="It hangs, trust me.", source="job logs 4103"
            )
            await to_inbox(chat.scene, "a")
            text = chat.text
            assert "Turn 7 of the chat, 1 proposal" in text
            assert "The agent says (not checked):" in text and "| It hangs, trust me." in text
            assert "proposed after reading job logs 4103" in text
            assert "demo/4103" in text and "owner alice" in text and "running" in text
            assert "POST /memory/cancel" in text and "Undo      do the opposite" in text
            assert "y answers it" in text

    async def test_no_row_of_the_agents_words_can_be_taken_for_the_plan(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path, opened=False, size=(80, 24)) as chat:
            said = "x " * 40 + "Target    demo/9999 nothing  owner alice  pending " + "y " * 40
            await chat.propose(cancel(chat.scene, "4103"), said=said)
            await to_inbox(chat.scene, "a")
            rows = [line.strip("│ ") for line in chat.text.splitlines()]
            assert [row for row in rows if "demo/9999" in row and not row.startswith("| ")] == []
            assert any(row.startswith("| ") and "demo/9999" in row for row in rows)

    async def test_writes_of_a_turn_stand_together(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path, opened=False) as chat:
            for id in ("4103", "4108"):
                await chat.propose(cancel(chat.scene, id), turn="x.2")
            await chat.propose(cancel(chat.scene, "4113"), turn="x.3")
            screen = await to_inbox(chat.scene, "a")
            heads = [row.text for row in screen.view.list.rows if row.group]
            assert heads == ["Turn 2 of the chat, 2 proposals", "Turn 3 of the chat, 1 proposal"]
            await chat.scene.press("k")
            assert "demo/4103" in chat.text and "demo/4108" in chat.text and "demo/4113" not in chat.text

    async def test_what_is_proposed_while_it_is_open_comes_in(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path, opened=False) as chat:
            screen = await to_inbox(chat.scene, "a")
            assert "Nothing waits for an answer." in chat.text
            await chat.scene.press("A", "D", "X")
            assert chat.scene.app.screen is screen
            await chat.propose(cancel(chat.scene, "4103"))
            await chat.scene.until(lambda: "Cancel 4103 on demo" in chat.text)

    async def test_from_the_chat_by_its_own_key(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path) as chat:
            await chat.propose(cancel(chat.scene, "4103"))
            await to_inbox(chat.scene, "ctrl+o")
            await chat.scene.press("escape")
            assert chat.scene.app.main.chat_context == "say"
            await chat.scene.press("escape")
            await to_inbox(chat.scene, "a")


class TestApproving:
    async def test_A_opens_the_question_and_y_sends(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path, opened=False) as chat:
            proposal = await chat.propose(cancel(chat.scene, "4103"), said="It hangs.", source="job logs 4103")
            await to_inbox(chat.scene, "a")
            await chat.ask("A")
            assert "not checked" in chat.text and "after reading job logs 4103" in chat.text
            assert "Esc leaves it in the inbox" in chat.text
            await chat.scene.press("y")
            await left(chat.scene)
            await chat.scene.until(lambda: chat.scene.backend.job("4103").status == "cancelled")
            assert proposal.answer == "approved"
            await chat.scene.until(lambda: "Cancel: 1 accepted" in chat.text)
            assert "Nothing waits" in chat.text
            line = next(r for r in chat.scene.engine.audit.records() if r["kind"] == "intent")
            assert (line["decision"], line["origin"]) == ("confirmed by dialog", "chat")

    @pytest.mark.parametrize("key", ["escape", "enter"])
    async def test_no_to_the_question_leaves_it_waiting(self, tmp_path: Path, key: str) -> None:
        async with open_chat(tmp_path, opened=False) as chat:
            proposal = await chat.propose(cancel(chat.scene, "4103"))
            await to_inbox(chat.scene, "a")
            await chat.ask("A")
            await chat.scene.press(key)
            await left(chat.scene)
            assert proposal.answer is None and not chat.scene.backend.sent
            assert "It goes on waiting" in chat.text
            await chat.ask("A")
            await chat.scene.press("y")
            await chat.scene.until(lambda: proposal.answer == "approved")

    async def test_keys_right_after_the_opening_one_are_dropped(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path, opened=False) as chat:
            await chat.propose(cancel(chat.scene, "4103"))
            await to_inbox(chat.scene, "a")
            await chat.scene.press("A")
            await chat.scene.until(lambda: confirming(chat.scene))
            chat.scene.app.screen._guard = KeyGuard(lambda: 0.0)  # type: ignore[attr-defined]
            await chat.scene.press("y", "y", "y")
            assert confirming(chat.scene) and not chat.scene.backend.sent

    async def test_several_targets_need_their_count_typed(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path, opened=False) as chat:
            refs = tuple(chat.scene.backend.job(id).ref for id in ("4103", "4108"))
            await chat.propose(CancelJob(cluster="demo", refs=refs))
            await to_inbox(chat.scene, "a")
            assert "the number of targets is typed (2)" in chat.text
            await chat.ask("A")
            await chat.scene.press("y")
            assert not chat.scene.backend.sent
            await chat.scene.press("backspace")
            await answer_typed(chat.scene, "2")
            await chat.scene.until(lambda: len(chat.scene.backend.sent) == 2)

    async def test_what_needs_an_operator_is_typed(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path, opened=False) as chat:
            node = chat.scene.backend.node("node-2")
            await chat.propose(SetNodeQuota(cluster="demo", refs=(node.ref,), slots=2))
            await to_inbox(chat.scene, "a")
            await chat.ask("A")
            assert "an agent proposed it" in chat.text
            await answer_typed(chat.scene, "node-2")
            await chat.scene.until(lambda: chat.scene.backend.node("node-2").slots_quota == 2)

    async def test_a_plan_that_changed_is_shown_again(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path, opened=False) as chat:
            pending = next(
                job for job in chat.scene.backend.rows.values()
                if isinstance(job, Job) and job.owner == "alice" and job.status == "pending"
            )  # fmt: skip
            proposal = await chat.propose(cancel(chat.scene, pending.id))
            await to_inbox(chat.scene, "a")
            await chat.ask("A")
            chat.scene.backend.put(chat.scene.backend.job(pending.id)._replace(status="running", start_time=NOW))
            await chat.scene.press("y")
            await chat.scene.until(lambda: confirming(chat.scene) and "! " in chat.text)
            assert not chat.scene.backend.sent and proposal.answer is None
            screen = chat.scene.app.screen
            assert isinstance(screen, ConfirmScreen)
            await chat.scene.until(lambda: screen._guard.look())
            await calm(chat.scene, screen)
            await chat.scene.press("y")
            await chat.scene.until(lambda: proposal.answer == "approved")

    async def test_what_was_taken_back_meanwhile_is_not_sent(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path, opened=False) as chat:
            proposal = await chat.propose(cancel(chat.scene, "4103"), turn="x.1")
            await to_inbox(chat.scene, "a")
            await chat.ask("A")
            await chat.scene.engine.gate.withdraw("x.1")
            await chat.scene.press("y")
            await left(chat.scene)
            assert proposal.answer == "withdrawn" and not chat.scene.backend.sent
            assert "already answered" in chat.text

    async def test_the_head_of_a_group_asks_one_after_the_other(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path, opened=False) as chat:
            first = await chat.propose(cancel(chat.scene, "4103"), turn="x.2")
            second = await chat.propose(cancel(chat.scene, "4108"), turn="x.2")
            await to_inbox(chat.scene, "a", "k")
            await chat.ask("A")
            await chat.scene.press("y")
            await chat.scene.until(lambda: first.answer == "approved" and confirming(chat.scene))
            assert second.answer is None
            await chat.scene.press("escape")
            await left(chat.scene)
            assert second.answer is None and len(chat.scene.backend.sent) == 1

    async def test_one_question_at_a_time(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path, opened=False) as chat:
            await chat.propose(cancel(chat.scene, "4103"))
            await to_inbox(chat.scene, "a")
            await chat.scene.pilot.press("A", "A", "A")
            await chat.scene.until(lambda: confirming(chat.scene))
            assert sum(isinstance(screen, ConfirmScreen) for screen in chat.scene.app.screen_stack) == 1

    async def test_read_only_refuses_it(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path, opened=False, read_only=True) as chat:
            from console.gate import Refused

            with pytest.raises(Refused):
                await chat.propose(cancel(chat.scene, "4103"))
            await to_inbox(chat.scene, "a")
            assert "Nothing waits" in chat.text


class TestDenying:
    async def test_one_with_a_reason(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path, opened=False) as chat:
            first = await chat.propose(cancel(chat.scene, "4103"), turn="x.2")
            second = await chat.propose(cancel(chat.scene, "4108"), turn="x.2")
            await to_inbox(chat.scene, "a")
            await chat.scene.press("D")
            assert isinstance(chat.scene.app.screen, PromptScreen)
            await chat.scene.press(*"notnow", "enter")
            await left(chat.scene)
            await chat.scene.until(lambda: first.answer == "declined")
            assert (first.note, second.answer) == ("notnow", None)
            assert not chat.scene.backend.sent and "declined" in audit_kinds(chat.scene)

    async def test_esc_denies_nothing_and_a_reason_is_not_needed(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path, opened=False) as chat:
            proposal = await chat.propose(cancel(chat.scene, "4103"))
            await to_inbox(chat.scene, "a")
            await chat.scene.press("D")
            await chat.scene.press("escape")
            await left(chat.scene)
            assert proposal.answer is None
            await chat.scene.press("D", "enter")
            await chat.scene.until(lambda: proposal.answer == "declined")

    async def test_all(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path, opened=False) as chat:
            made = [await chat.propose(cancel(chat.scene, id), turn=id) for id in ("4103", "4108", "4113")]
            await to_inbox(chat.scene, "a")
            await chat.scene.press("X")
            assert "Deny all 3 shown" in chat.text
            await chat.scene.press("enter")
            await chat.scene.until(lambda: all(p.answer == "declined" for p in made))
            await left(chat.scene)
            assert "3 denied; nothing was sent." in chat.text


class TestFiles:
    """Plans that `pilothouse mcp` left."""

    async def _filed(self, scene: Scene, id: str = "4103", said: str = "by mcp") -> WaitingPlan:
        gate = scene.engine.gate
        intent = cancel(scene, id).model_copy(update={"origin": "mcp"})
        prepared: Prepared = await gate.prepare(intent)
        plan = scene.app.waiting.files.put(prepared, said)
        gate.forget(prepared)
        return plan

    async def test_they_count_and_are_shown_as_they_would_be_sent_now(self, tmp_path: Path) -> None:
        async with open_scene(tmp_path) as scene:
            plan = await self._filed(scene)
            await scene.until(lambda: " 1 to answer: a " in scene.text)
            await to_inbox(scene, "a")
            await scene.until(lambda: "POST /memory/cancel" in scene.text)
            assert f"plan {plan.plan_id[:8]}" in scene.text and "From another program (mcp)" in scene.text
            assert "| by mcp" in scene.text

    async def test_approved_it_is_used_up_and_sent(self, tmp_path: Path) -> None:
        async with open_scene(tmp_path) as scene:
            await self._filed(scene)
            await to_inbox(scene, "a")
            await scene.until(lambda: "POST /memory/cancel" in scene.text)
            await ask(scene, "A")
            await scene.press("y")
            await scene.until(lambda: scene.backend.job("4103").status == "cancelled")
            await left(scene)
            assert not scene.app.waiting.files.waiting()
            line = next(r for r in scene.engine.audit.records() if r["kind"] == "intent")
            assert (line["decision"], line["origin"]) == ("confirmed by dialog", "mcp")

    async def test_esc_leaves_the_file(self, tmp_path: Path) -> None:
        async with open_scene(tmp_path) as scene:
            await self._filed(scene)
            await to_inbox(scene, "a")
            await scene.until(lambda: "POST /memory/cancel" in scene.text)
            await ask(scene, "A")
            await scene.press("escape")
            await left(scene)
            assert len(scene.app.waiting.files.waiting()) == 1 and not scene.backend.sent

    async def test_one_that_another_process_has_answered_is_not_sent(self, tmp_path: Path) -> None:
        async with open_scene(tmp_path) as scene:
            plan = await self._filed(scene)
            await to_inbox(scene, "a")
            await scene.until(lambda: "POST /memory/cancel" in scene.text)
            await ask(scene, "A")
            scene.app.waiting.files.take(plan.plan_id)
            await scene.press("y")
            await left(scene)
            await scene.until(lambda: "already answered" in scene.text)
            assert not scene.backend.sent

    async def test_denied_it_is_used_up_and_on_record(self, tmp_path: Path) -> None:
        async with open_scene(tmp_path) as scene:
            await self._filed(scene)
            await to_inbox(scene, "a")
            await scene.until(lambda: "POST /memory/cancel" in scene.text)
            await scene.press("D", *"no", "enter")
            await scene.until(lambda: not scene.app.waiting.files.waiting())
            await left(scene)
            await scene.until(lambda: "declined" in audit_kinds(scene))
            line = next(r for r in scene.engine.audit.records() if r["kind"] == "declined")
            assert (line["origin"], line["message"]) == ("mcp", "no")
            assert not scene.backend.sent

    async def test_one_that_cannot_be_planned_says_why_and_can_be_denied(self, tmp_path: Path) -> None:
        async with open_scene(tmp_path) as scene:
            await self._filed(scene)
            scene.backend.remove(scene.backend.job("4103").ref)
            await to_inbox(scene, "a")
            await scene.until(lambda: "There is no job 4103." in scene.text)
            await scene.press("A")
            assert isinstance(scene.app.screen, InboxScreen)
            await scene.press("D", "enter")
            await scene.until(lambda: not scene.app.waiting.files.waiting())

    async def test_leaving_the_inbox_forgets_what_was_planned_for_a_look(self, tmp_path: Path) -> None:
        async with open_scene(tmp_path) as scene:
            await self._filed(scene)
            await to_inbox(scene, "a")
            await scene.until(lambda: "POST /memory/cancel" in scene.text)
            await scene.press("escape")
            await scene.until(lambda: not scene.engine.gate._waiting)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_hostile_text(tmp_path: Path, size: tuple[int, int]) -> None:
    """In the agent's words, in what was read, in names and labels."""
    names = [name for name in NAMES if name.strip()][:24]
    jobs = [Job(str(n), name, "running", name, owner="alice", start_time=NOW) for n, name in enumerate(names)]
    async with open_chat(tmp_path, data=[*jobs, *rows()[40:]], size=size, opened=False) as chat:
        for n, name in enumerate(names):
            await chat.propose(HoldJob(cluster="demo", refs=(jobs[n]._replace(cluster="demo").ref,)), name, name, name)
        spec = JobSpec(name="x", command=tuple(name for name in names if "\x00" not in name))
        await chat.propose(SubmitJob(cluster="demo", spec=spec), "x", names[2], names[3])
        await to_inbox(chat.scene, "a")
        for _ in range(len(chat.scene.app.waiting) * 2):
            await chat.scene.press("j")
        await chat.scene.press("pagedown", "pageup")
        await chat.ask("A")
        await chat.scene.press("G", "escape")
        await left(chat.scene)
        assert chat.scene.app._exception is None
    _assert_harmless(CountingDriver.text())


async def test_many_proposals_stay_within_reach_in_a_small_terminal(tmp_path: Path) -> None:
    async with open_chat(tmp_path, size=(80, 24), opened=False) as chat:
        made = [await chat.propose(cancel(chat.scene, "4103"), turn=f"x.{n}") for n in range(30)]
        screen = await to_inbox(chat.scene, "a", "G")
        assert re.search(r">  Cancel 4103 on demo", chat.text)
        assert screen.view.list.size.height <= 8
        await chat.scene.press("D", "enter")
        await chat.scene.until(lambda: made[-1].answer == "declined")
