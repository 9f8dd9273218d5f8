"""The chat panel, key by key: opening it, saying something, what is shown, stopping, leaving, closing."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path

import pytest
from textual import events

from console.chat.events import (
    Answered,
    Call,
    Called,
    Ended,
    Failure,
    Notice,
    Piece,
    Reply,
    Retrying,
    Waiting,
    Wants,
)
from console.screens.autopilot import AutopilotScreen
from console.screens.form import SubmitScreen
from console.screens.job import JobScreen
from console.screens.main import MainScreen
from console.screens.prompt import PromptScreen
from console.screens.scope import ScopeScreen
from tests.doubles.counting_driver import CountingDriver
from tests.doubles.scripted_chat import Part
from tests.hostile import NAMES
from tests.ui.chat_scene import ChatScene, open_chat
from tests.ui.test_hostile import _assert_harmless
from widgets.chat_input import LONGEST

CALL = Call("c1", "scheduler_list_jobs", {"filter": {"status": "failed"}, "limit": 5})


class TestOpening:
    @pytest.mark.parametrize(("size", "over"), [((99, 30), True), ((100, 30), False), ((200, 60), False)])
    async def test_it_stands_beside_the_panes_from_100_cells_on(
        self, tmp_path: Path, size: tuple[int, int], over: bool
    ) -> None:
        async with open_chat(tmp_path, size=size) as chat:
            assert chat.scene.app.focused is chat.panel.input
            assert chat.panel.size.width == (size[0] if over else pytest.approx(size[0] * 0.42, abs=6))
            assert ("1 Jobs" in chat.text) is not over
            assert "Scope  only my jobs, any queue," in chat.text
            assert "answered by scripted" in chat.text

    async def test_the_panes_stay_live(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path) as chat:
            backend = chat.scene.backend
            backend.put(backend.job("4100")._replace(status="suspended"))
            await chat.scene.until(lambda: re.search(r"S suspended +4100", chat.text))

    async def test_a_resize_moves_it_over_the_panes_and_back(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path) as chat:
            await chat.scene.pilot.resize_terminal(80, 24)
            await chat.scene.until(lambda: chat.panel.size.width == 80)
            await chat.scene.pilot.resize_terminal(160, 40)
            await chat.scene.until(lambda: chat.panel.size.width < 80 and "1 Jobs" in chat.text)

    async def test_esc_leaves_the_input_then_closes_and_c_comes_back_to_the_same(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path) as chat:
            await chat.say("hello")
            await chat.scene.until(lambda: "You said: hello" in chat.text)
            assert "Esc leave" in chat.text
            await chat.scene.press("escape")
            assert chat.scene.app.main.chat_context == "chat" and "Esc close" in chat.text
            await chat.scene.press("escape")
            assert chat.scene.app.main.panel is None and "hello" not in chat.text
            assert chat.scene.app.main.contexts == {"main", "jobs"}
            await chat.scene.press("c")
            assert "You said: hello" in chat.text and chat.scene.app.focused is chat.panel.input

    async def test_letters_belong_to_the_input_and_do_nothing_else(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path) as chat:
            await chat.scene.press(*"Kq1ab?")
            assert chat.panel.input.text == "Kq1ab?"
            assert isinstance(chat.scene.app.screen, MainScreen) and chat.scene.app.is_running

    async def test_tab_goes_from_the_transcript_to_the_panes_and_round(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path) as chat:
            main = chat.scene.app.main
            await chat.scene.press("escape", "tab")
            assert main.contexts == {"main", "jobs"}
            await chat.scene.press("tab", "tab")
            assert main.contexts == {"main", "nodes"}
            await chat.scene.press("tab")
            assert main.contexts == {"chat"}
            await chat.scene.press("shift+tab")
            assert main.contexts == {"main", "nodes"}

    async def test_in_a_small_terminal_tab_closes_it(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path, size=(80, 24)) as chat:
            await chat.scene.press("escape", "tab")
            assert chat.scene.app.main.panel is None and "1 Jobs" in chat.text

    async def test_a_chat_that_cannot_be_made_is_said(self, tmp_path: Path) -> None:
        from adapters.base import Unavailable

        def broken(engine: object) -> object:
            raise Unavailable("the key file is open to others", "chmod 600 it")

        async with open_chat(tmp_path, opened=False) as chat:
            chat.scene.app.make_chat = broken  # type: ignore[assignment]
            await chat.scene.press("c")
            await chat.scene.until(lambda: "the key file is open to others" in chat.text)
            assert chat.scene.app.main.panel is None

    async def test_it_is_closed_with_the_console(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path) as chat:
            double = chat.chat
        assert double.closed == 1


class TestSaying:
    async def test_calls_are_shown_with_arguments_and_a_folded_result(self, tmp_path: Path) -> None:
        turn: list[Part] = [
            Called(CALL),
            Answered(CALL, True, "5 of 12 jobs", '{"total": 12, "jobs": ["job-a"]}'),
            Reply("**Five** failed"),
        ]
        async with open_chat(tmp_path, {"go": turn}) as chat:
            await chat.say("go")
            await chat.scene.until(lambda: "Five failed" in chat.text)
            assert "> go" in chat.text
            assert "[+] scheduler_list_jobs" in chat.text and "status: failed" in chat.text
            assert "5 of 12 jobs" in chat.text and "job-a" not in chat.text
            await chat.scene.press("ctrl+t")
            assert "[-] scheduler_list_jobs" in chat.text and '"job-a"' in chat.text
            await chat.scene.press("escape", "t")
            assert "job-a" not in chat.text

    async def test_a_failed_call_does_not_look_like_an_empty_one(self, tmp_path: Path) -> None:
        other = Call("c2", "scheduler_get_job", {"id": "9"})
        turn: list[Part] = [
            Called(CALL),
            Answered(CALL, True, "no jobs"),
            Called(other),
            Answered(other, False, "There is no job 9."),
        ]
        async with open_chat(tmp_path, {"go": turn}) as chat:
            await chat.say("go")
            await chat.scene.until(lambda: "failed: There is no job 9." in chat.text)
            assert "no jobs" in chat.text and "failed: no jobs" not in chat.text

    async def test_text_is_plain_while_it_streams_and_markdown_at_the_end(self, tmp_path: Path) -> None:
        more = asyncio.Event()
        turn: list[Part] = [Piece("**bold"), Piece("** and `code`"), more, Reply("**bold** and `code`")]
        async with open_chat(tmp_path, {"go": turn}) as chat:
            await chat.say("go")
            await chat.scene.until(lambda: "**bold** and `code`" in chat.text)
            more.set()
            await chat.scene.until(lambda: "bold and code" in chat.text)
            assert "**" not in chat.text

    async def test_streaming_paints_at_most_ten_times_a_second(self, tmp_path: Path) -> None:
        """900 pieces that come at once are few paintings; the bound is on their count for the time it took."""
        turn: list[Part] = [*(Piece(f"w{n} ") for n in range(900)), Reply("done")]
        async with open_chat(tmp_path, {"go": turn}) as chat:
            start = time.monotonic()
            await chat.say("go")
            await chat.scene.until(lambda: "done" in chat.text)
            assert chat.panel.paintings <= 10 * (time.monotonic() - start) + 1

    async def test_notices_failures_and_limits_are_said(self, tmp_path: Path) -> None:
        turn: list[Part] = [
            Notice("The scope is narrower now."),
            Failure("Not reached", "no route", "try later"),
            Ended("limit"),
        ]
        async with open_chat(tmp_path, {"go": turn}) as chat:
            await chat.say("go")
            await chat.scene.until(lambda: "longer than one turn may be" in chat.panel.view.text.replace("\n  ", " "))
            assert "The scope is narrower now." in chat.text
            assert "Not reached: no route try later" in chat.panel.view.text.replace("\n  ", " ")

    async def test_what_comes_by_itself_is_shown(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path) as chat:
            chat.chat.tell(Notice("Job 12 failed.", "warning"))
            await chat.scene.until(lambda: "* Job 12 failed." in chat.text)

    async def test_waiting_names_the_key_and_what_waits(self, tmp_path: Path) -> None:
        from adapters.intents import CancelJob

        more = asyncio.Event()
        async with open_chat(tmp_path) as chat:
            job = chat.scene.backend.job("4103")
            proposal = await chat.propose(CancelJob(cluster="demo", refs=(job.ref,)))
            chat.chat.turns["go"] = [Waiting((proposal,)), more]
            await chat.say("go")
            await chat.scene.until(lambda: "1 to answer: Ctrl+O" in chat.text)
            assert "Ctrl+O opens the inbox" in chat.panel.view.text.replace("\n  ", " ")
            assert "Cancel 4103" in chat.text
            more.set()

    @pytest.mark.parametrize("why", ["The endpoint is busy.", "The endpoint is busy"])
    async def test_a_retry_counts_down_and_esc_stops_it(self, tmp_path: Path, why: str) -> None:
        never = asyncio.Event()
        async with open_chat(tmp_path, {"go": [Retrying(why, 30, 2), never]}) as chat:
            await chat.say("go")
            await chat.scene.until(
                lambda: "The endpoint is busy. Asked again" in chat.panel.view.text.replace("\n  ", " ")
            )
            await chat.scene.until(lambda: "asked again in 30 s (attempt 2)" in chat.text)
            await chat.scene.until(lambda: "asked again in 29 s" in chat.text)
            await chat.scene.press("escape")
            await chat.scene.until(lambda: "* Stopped." in chat.text)
            assert "asked again in" not in chat.text.replace("Asked again in", "")


class TestStopping:
    async def test_esc_stops_a_running_turn_first_and_the_footer_says_so(self, tmp_path: Path) -> None:
        never = asyncio.Event()
        async with open_chat(tmp_path, {"go": [Called(CALL), Piece("half a"), never]}) as chat:
            await chat.say("go")
            await chat.scene.until(lambda: "half a" in chat.text and "Esc stop" in chat.text)
            await chat.scene.press("escape")
            await chat.scene.until(lambda: "* Stopped." in chat.text)
            assert "stopped before it had a result" in chat.panel.view.text.replace("\n    ", " ")
            assert chat.chat.stopped == 1 and chat.scene.app.focused is chat.panel.input
            await chat.scene.until(lambda: "Esc leave" in chat.text)

    async def test_esc_in_the_panes_does_not_stop_it(self, tmp_path: Path) -> None:
        never = asyncio.Event()
        async with open_chat(tmp_path, {"go": [Piece("half a"), never]}) as chat:
            await chat.say("go")
            await chat.scene.until(lambda: "half a" in chat.text)
            chat.scene.app.main.go("jobs")
            await chat.scene.press("escape")
            assert chat.chat.busy and not chat.chat.stopped

    async def test_q_says_once_that_the_chat_is_at_work(self, tmp_path: Path) -> None:
        never = asyncio.Event()
        async with open_chat(tmp_path, {"go": [Piece("half a"), never]}) as chat:
            await chat.say("go")
            await chat.scene.until(lambda: "half a" in chat.text)
            chat.scene.app.main.go("jobs")
            await chat.scene.press("q")
            assert "The chat is at work" in chat.text and chat.scene.app.is_running


class TestWriting:
    async def test_up_and_down_go_through_what_was_said(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path) as chat:
            for text in ("one", "two"):
                await chat.say(text)
            await chat.scene.press(*"dra", "up")
            assert chat.panel.input.text == "two"
            await chat.scene.press("up", "up")
            assert chat.panel.input.text == "one"
            await chat.scene.press("down", "down")
            assert chat.panel.input.text == "dra"

    async def test_several_lines(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path) as chat:
            await chat.scene.press("a", "ctrl+j", "b")
            await chat.scene.press("enter")
            await chat.scene.until(lambda: chat.chat.said == ["a\nb"])

    async def test_tab_completes_commands(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path) as chat:
            await chat.scene.press(*"/exp", "tab")
            assert chat.panel.input.text == "/export"
            chat.panel.input.put("/s")
            await chat.scene.press("tab")
            assert chat.panel.input.text == "/s" and "/scope" in chat.text and "/submit" in chat.text

    async def test_a_long_paste_is_cut_and_said(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path) as chat:
            chat.scene.app.post_message(events.Paste("lorem ipsum\n" * 5_000))
            await chat.scene.until(lambda: "pasted characters left out" in chat.text)
            assert 0 < len(chat.panel.input.text) <= LONGEST
            await chat.scene.press("x")

    async def test_a_paste_of_a_megabyte_changes_nothing(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path) as chat:
            chat.scene.app.post_message(events.Paste("lorem ipsum\n" * 90_000))
            await chat.scene.until(lambda: "was dropped" in chat.text)
            assert chat.panel.input.text == ""
            await chat.scene.press("x")
            assert chat.panel.input.text == "x"

    async def test_a_paste_is_cleaned_and_sends_nothing(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path) as chat:
            chat.scene.app.post_message(events.Paste("a\r\nb\x1b[2J\x07\n"))
            await chat.scene.until(lambda: chat.panel.input.text == "a\nb␛[2J␇\n")
            assert not chat.chat.said

    async def test_pages_of_the_transcript_from_the_input(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path, {"go": [Reply("\n".join(f"line {n}" for n in range(200)))]}) as chat:
            await chat.say("go")
            await chat.scene.until(lambda: "line 199" in chat.text)
            await chat.scene.press("pageup")
            assert "line 199" not in chat.text and not chat.panel.view.following
            await chat.scene.press("pagedown")
            assert "line 199" in chat.text and chat.panel.view.following
            await chat.scene.press("escape", "g")
            assert "> go" in chat.text
            await chat.scene.press("G")
            assert "line 199" in chat.text


class TestWants:
    async def _wants(self, chat: ChatScene, wish: Wants, screen: type) -> None:
        chat.chat.turns["go"] = [wish]
        await chat.say("go")
        await chat.scene.until(lambda: isinstance(chat.scene.app.screen, screen))
        await chat.scene.settle()

    async def test_scope_and_autopilot_open_their_forms(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path) as chat:
            await self._wants(chat, Wants("scope"), ScopeScreen)
            await chat.scene.press("escape")
            await self._wants(chat, Wants("autopilot", {"words": "verbs=hold actions=3"}), AutopilotScreen)
            assert "hold" in chat.text

    async def test_words_that_mean_nothing_are_said_and_the_form_is_empty(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path) as chat:
            await self._wants(chat, Wants("autopilot", {"words": "everything"}), AutopilotScreen)
            await chat.scene.press("escape")
            await chat.scene.until(lambda: "'everything' is no name=value." in chat.text)

    async def test_submit_opens_the_form(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path) as chat:
            await self._wants(chat, Wants("submit"), SubmitScreen)

    async def test_why_opens_the_job_and_an_unknown_one_is_said(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path) as chat:
            await self._wants(chat, Wants("why", {"id": "4104"}), JobScreen)
            await chat.scene.press("escape")
            chat.chat.turns["two"] = [Wants("why", {"id": "99"})]
            await chat.say("two")
            await chat.scene.until(lambda: "There is no job 99 here." in chat.panel.view.text)

    async def test_jobs_filters_the_pane(self, tmp_path: Path) -> None:
        async with open_chat(tmp_path) as chat:
            chat.chat.turns["go"] = [Wants("jobs", {"filter": "owner:alice"})]
            await chat.say("go")
            await chat.scene.until(lambda: chat.scene.app.main.board.filter == "owner:alice")

    async def test_export_writes_a_new_file_of_ones_own(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        async with open_chat(tmp_path) as chat:
            wish = Wants("export", {"name": "notes.md", "text": "# Chat\n"})
            await self._wants(chat, wish, PromptScreen)
            await chat.scene.press("enter")
            await chat.scene.until(lambda: (tmp_path / "notes.md").exists())
            assert (tmp_path / "notes.md").read_text() == "# Chat\n"
            assert (tmp_path / "notes.md").stat().st_mode & 0o777 == 0o600
            await self._wants(chat, wish, PromptScreen)
            await chat.scene.press("enter")
            await chat.scene.until(lambda: "is there already" in chat.panel.view.text.replace("\n  ", " "))

    @pytest.mark.parametrize("name", ["../out.md", "/tmp/x", "-rf", "a/b"])
    async def test_export_stays_in_the_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        from console.screens.wants import write_new

        monkeypatch.chdir(tmp_path)
        with pytest.raises(ValueError, match="no name of a file"):
            write_new(name, "x")


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_hostile_text_in_every_event(tmp_path: Path, size: tuple[int, int]) -> None:
    """Also where the chat had failed to clean it."""
    turn: list[Part] = []
    for n, name in enumerate(NAMES):
        call = Call(f"h{n}", name, {name: name, "list": [name], "map": {name: name}})
        turn += [Piece(name), Reply(name), Called(call), Answered(call, bool(n % 2), name, name), Notice(name)]
        turn += [
            Failure(name, name, name),
            Reply(f"[{name}]({name})\n\n![{name}](x)\n\n`{name}`\n\n|a|\n|-|\n|{name}|"),
        ]
        turn += [Retrying(name, 0.1, 1)]
    turn += [Reply("[click](https://example.org/x) &#x1b;]8;;https://example.org&#x07; <b>no</b> &#x202e;")]
    async with open_chat(tmp_path, {"go": turn}, size=size) as chat:
        chat.chat.planner = type("Named", (), {"name": NAMES[2]})()
        chat.scene.engine.gate.agents.untrusted[:] = list(NAMES[:12])
        await chat.say("go")
        await chat.scene.until(lambda: not chat.chat.busy)
        await chat.scene.settle()
        assert chat.scene.app._exception is None
        await chat.scene.press("ctrl+t", "escape", "g", "G", "t")
        for place in range(0, 400, 20):
            chat.panel.view.scroll_to(y=place, animate=False, force=True)
            await chat.scene.settle()
        assert chat.scene.app._exception is None
        assert "click (https://example.org/x)" in chat.panel.view.text.replace("\n", "")
    written = CountingDriver.text()
    assert "\x1b]8" not in written, "no link of the terminal's own"
    _assert_harmless(written)
