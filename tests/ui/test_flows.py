"""What a person does, key by key, on the application with a backend in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.base import Capabilities, Unreachable
from adapters.intents import INTENTS, DrainNode, ReissueNodeToken
from adapters.model import Job
from console.screens.confirm import ConfirmScreen
from console.screens.help import HelpScreen
from console.screens.job import JobScreen
from console.screens.keyguard import KeyGuard
from console.screens.log import LogScreen
from console.screens.main import MainScreen
from console.screens.node import NodeScreen
from console.screens.prompt import PromptScreen
from tests.doubles.memory_backend import MemoryBackend
from tests.ui.scene import Scene, jobs, open_scene, rows


async def ask(scene: Scene, *keys: str) -> ConfirmScreen:
    """Press what leads to a question, and wait until it listens."""
    await scene.press(*keys)
    await scene.until(lambda: isinstance(scene.app.screen, ConfirmScreen))
    screen = scene.app.screen
    assert isinstance(screen, ConfirmScreen)
    await scene.until(lambda: screen._guard.look())
    await scene.settle()
    return screen


class TestQuota:
    async def test_e_2_enter_y_sets_the_quota_and_the_dialog_says_what_the_node_says(self, tmp_path: Path) -> None:
        async with open_scene(tmp_path) as scene:
            await scene.press("3", "e", "2")
            assert isinstance(scene.app.screen, NodeScreen)
            await ask(scene, "enter")
            assert '"slots": 2' in scene.text and "demo/node-1" in scene.text
            await scene.press("y")
            await scene.until(lambda: isinstance(scene.app.screen, NodeScreen))
            await scene.until(lambda: "12/2/16" in scene.text)
            await scene.until(lambda: "done. It says 12/2/16" in scene.text)
            assert scene.backend.node("node-1").slots_quota == 2
            node = scene.backend.node("node-1")
            scene.backend.put(node._replace(slots_used=2))
            await scene.until(lambda: "2/2/16" in scene.text)

    async def test_none_lifts_it_and_what_is_no_quota_is_refused_in_the_dialog(self, tmp_path: Path) -> None:
        async with open_scene(tmp_path) as scene:
            await scene.press("3", "j", "j", "e", "enter")
            assert "whole number of slots" in scene.text
            await ask(scene, "n", "o", "n", "e", "enter")
            await scene.press("y")
            await scene.until(lambda: scene.backend.node("node-3").slots_quota is None)

    async def test_a_change_by_somebody_else_in_between_is_shown_with_the_new_value(self, tmp_path: Path) -> None:
        async with open_scene(tmp_path) as scene:
            await scene.press("3", "e", "2")
            await ask(scene, "enter")
            scene.backend.put(scene.backend.node("node-1")._replace(status="drain"))
            await scene.press("y")
            await scene.until(lambda: isinstance(scene.app.screen, ConfirmScreen) and "! " in scene.text)
            assert not scene.backend.sent
            await scene.press("escape")
            await scene.until(lambda: isinstance(scene.app.screen, NodeScreen))
            assert not scene.backend.sent

    async def test_what_the_backend_cannot_do_is_off_with_the_reason(self, tmp_path: Path) -> None:
        backend = MemoryBackend(rows=rows())
        verbs = frozenset(INTENTS) - {"set_node_quota", "reissue_token"}
        reasons = {"set_node_quota": "This scheduler has no quotas.", "reissue_token": "Nodes have no tokens here."}
        backend.capabilities = Capabilities("memory 1", supported=verbs, unsupported=reasons)
        async with open_scene(tmp_path, backend=backend) as scene:
            await scene.press("3", "e")
            await scene.until(lambda: "This scheduler has no quotas." in scene.text)
            assert "Nodes have no tokens here." in scene.text
            assert scene.app.screen.query_one("#quota").disabled


class TestConfirm:
    async def test_a_job_of_ones_own_is_cancelled_by_y(self, tmp_path: Path) -> None:
        mine = next(job for job in jobs() if job.owner == "alice" and job.status == "running")
        async with open_scene(tmp_path, [mine]) as scene:
            await ask(scene, "K")
            await scene.press("y")
            await scene.until(lambda: scene.backend.job(mine.id).status == "cancelled")
            await scene.until(lambda: "C  cancelled" in scene.text)

    async def test_another_persons_job_needs_its_id_typed(self, tmp_path: Path) -> None:
        theirs = next(job for job in jobs() if job.owner == "grace" and job.status == "running")
        async with open_scene(tmp_path, [theirs]) as scene:
            await ask(scene, "K")
            await scene.press("y", "enter")
            assert not scene.backend.sent
            await scene.press("backspace", *theirs.id, "enter")
            assert not scene.backend.sent, "Enter in the field only moves on"
            await scene.until(
                lambda: scene.app.screen.focused is not None and scene.app.screen.focused.id == "confirm-yes"
            )
            await scene.until(lambda: True)
            await scene.press("enter")
            await scene.until(lambda: scene.backend.job(theirs.id).status == "cancelled")

    @pytest.mark.parametrize("key", ["escape", "enter"])
    async def test_escape_and_the_focused_button_decline(self, tmp_path: Path, key: str) -> None:
        mine = next(job for job in jobs() if job.owner == "alice")
        async with open_scene(tmp_path, [mine]) as scene:
            await ask(scene, "K")
            await scene.press(key)
            await scene.until(lambda: isinstance(scene.app.screen, MainScreen))
            assert not scene.backend.sent
            await scene.until(lambda: "Declined" in scene.text)

    async def test_keys_right_after_the_opening_one_are_dropped(self, tmp_path: Path) -> None:
        mine = next(job for job in jobs() if job.owner == "alice" and job.status == "running")
        async with open_scene(tmp_path, [mine]) as scene:
            await scene.press("K")
            await scene.until(lambda: isinstance(scene.app.screen, ConfirmScreen))
            scene.app.screen._guard = KeyGuard(lambda: 0.0)  # type: ignore[attr-defined]  # no time passes
            for _ in range(3):
                await scene.press("y")
            assert isinstance(scene.app.screen, ConfirmScreen)
            assert not scene.backend.sent

    async def test_an_answer_may_begin_with_the_key_of_a_command(self, tmp_path: Path) -> None:
        """`g` goes to the top, `k` up, and both are letters of an id as well."""
        async with open_scene(tmp_path) as scene:
            kgj = scene.backend.node("node-1")._replace(name="kgj-1")
            scene.backend.put(kgj)
            await scene.until(lambda: "kgj-1" in scene.text)
            scene.app.write(ReissueNodeToken(cluster="demo", refs=(kgj._replace(cluster="demo").ref,)), lambda *_: None)
            screen = await ask(scene)
            await scene.press(*"kgj", "minus", "1")
            assert screen.panel.typed == "kgj-1"
            await scene.until(lambda: screen.panel.ready)

    async def test_a_paste_confirms_nothing(self, tmp_path: Path) -> None:
        from textual import events

        theirs = next(job for job in jobs() if job.owner == "grace" and job.status == "running")
        async with open_scene(tmp_path, [theirs]) as scene:
            screen = await ask(scene, "K")
            await scene.press("tab")
            await scene.press("x", "backspace")
            scene.app.post_message(events.Paste(theirs.id))
            await scene.settle()
            assert screen.panel.typed == ""

    async def test_one_question_at_a_time(self, tmp_path: Path) -> None:
        async with open_scene(tmp_path) as scene:
            await scene.pilot.press("K", "K", "K")
            await scene.until(lambda: isinstance(scene.app.screen, ConfirmScreen))
            await scene.settle()
            assert sum(isinstance(screen, ConfirmScreen) for screen in scene.app.screen_stack) == 1

    async def test_a_long_request_must_be_seen_to_its_end(self, tmp_path: Path) -> None:
        async with open_scene(tmp_path, size=(80, 24)) as scene:
            ref = scene.backend.node("node-1").ref
            long = DrainNode(cluster="demo", refs=(ref,), reason="x" * 1000)
            scene.app.write(long, lambda text, role: None)
            screen = await ask(scene)
            assert "scroll to its end" in scene.text
            await scene.press("y")
            assert isinstance(scene.app.screen, ConfirmScreen) and not scene.backend.sent
            await scene.press("end")
            await scene.until(lambda: screen.panel.ready)
            await scene.press("y")
            await scene.until(lambda: scene.backend.node("node-1").reason == "x" * 1000)

    async def test_what_the_backend_refuses_is_said_in_its_words(self, tmp_path: Path) -> None:
        mine = next(job for job in jobs() if job.owner == "alice" and job.status == "running")
        async with open_scene(tmp_path, [mine]) as scene:
            scene.backend.answers.append("refused")
            await ask(scene, "K")
            await scene.press("y")
            await scene.until(lambda: "refused: not you" in scene.text)

    async def test_read_only_refuses_before_any_question(self, tmp_path: Path) -> None:
        async with open_scene(tmp_path, read_only=True) as scene:
            assert "READ ONLY" in scene.text
            await scene.press("K")
            await scene.until(lambda: "Refused by the gate" in scene.text)
            assert isinstance(scene.app.screen, MainScreen)


class TestDrain:
    async def test_drain_asks_for_a_reason_and_then_for_a_yes(self, tmp_path: Path) -> None:
        async with open_scene(tmp_path) as scene:
            await scene.press("3", "D")
            assert isinstance(scene.app.screen, PromptScreen)
            await scene.press(*"disk")
            await ask(scene, "enter")
            await scene.press("y")
            await scene.until(lambda: scene.backend.node("node-1").status == "drain")
            assert scene.backend.node("node-1").reason == "disk"


class TestAround:
    async def test_filter_narrows_while_typing_and_esc_clears(self, tmp_path: Path) -> None:
        async with open_scene(tmp_path) as scene:
            await scene.press("slash", *"grace")
            assert "1 Jobs 8/40" in scene.text
            await scene.press("enter")
            assert "filter grace" in scene.text
            await scene.press("slash", *"zzz", "enter")
            assert "The filter hides all 40 jobs" in scene.text
            await scene.press("escape")
            assert "1 Jobs 40" in scene.text

    async def test_escape_never_quits_and_q_goes_back_one_level(self, tmp_path: Path) -> None:
        async with open_scene(tmp_path) as scene:
            await scene.press("escape", "escape", "enter")
            assert isinstance(scene.app.screen, JobScreen)
            await scene.press("l")
            await scene.until(lambda: isinstance(scene.app.screen, LogScreen) and "line 2" in scene.text)
            await scene.press("q")
            assert isinstance(scene.app.screen, JobScreen)
            await scene.press("question_mark")
            assert isinstance(scene.app.screen, HelpScreen)
            await scene.press("escape", "escape")
            assert isinstance(scene.app.screen, MainScreen)
            await scene.press("q")
            assert scene.app.return_value == 0

    async def test_narrow_shows_one_pane_at_a_time(self, tmp_path: Path) -> None:
        async with open_scene(tmp_path, size=(80, 24)) as scene:
            assert "train-resnet-1" in scene.text and "node-6" in scene.text and "maintenance" not in scene.text
            await scene.press("2")
            assert "maintenance" in scene.text and "train-resnet-1" not in scene.text
            await scene.press("tab")
            assert "disk errors" in scene.text

    async def test_sort_goes_through_the_columns(self, tmp_path: Path) -> None:
        async with open_scene(tmp_path) as scene:
            await scene.press("3", "s")
            table = scene.app.screen.query_one("#node-table")
            assert [ref.id for ref in table.order] == [f"node-{n}" for n in range(6, 0, -1)]  # type: ignore[attr-defined]
            assert "NAMEv" in scene.text

    async def test_the_cursor_stays_on_its_row_when_rows_come_above(self, tmp_path: Path) -> None:
        async with open_scene(tmp_path) as scene:
            await scene.press("j", "j", "j")
            table = scene.app.screen.query_one("#job-table")
            before = table.cursor  # type: ignore[attr-defined]
            newest = jobs()[0]._replace(id="9999", submission_time=jobs()[0].submission_time, name="newest")
            scene.backend.put(newest)
            await scene.until(lambda: "1 Jobs 41" in scene.text)
            assert table.cursor == before  # type: ignore[attr-defined]

    async def test_paused_holds_the_rows_and_says_so(self, tmp_path: Path) -> None:
        async with open_scene(tmp_path) as scene:
            await scene.press("p")
            scene.backend.put(scene.backend.job("4101")._replace(name="renamed"))
            await scene.until(lambda: scene.engine.store.rows("job") and "paused" in scene.text)
            await scene.settle()
            assert "renamed" not in scene.text
            await scene.press("p")
            await scene.until(lambda: "renamed" in scene.text)


class TestHonest:
    async def test_a_cluster_that_cannot_be_reached_says_so_and_recovers(self, tmp_path: Path) -> None:
        backend = MemoryBackend(rows=[])
        backend.error = Unreachable("Nobody listens at http://demo.", "Is the server running?")
        async with open_scene(tmp_path, backend=backend, loaded=False) as scene:
            await scene.until(lambda: "Nobody listens at http://demo." in scene.text)
            assert "failed" in scene.text and "Is the server running?" in scene.text
            backend.error = None
            await scene.until(lambda: "answered, and there are no jobs" in scene.text)

    async def test_an_unknown_state_keeps_its_own_word(self, tmp_path: Path) -> None:
        async with open_scene(tmp_path, [Job("1", "x", "unknown", "WARP")]) as scene:
            assert "?  WARP" in scene.text
