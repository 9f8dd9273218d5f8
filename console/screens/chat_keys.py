"""The chat beside the panes: opening it, going in and out, and the dialogs that its commands ask for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from textual.widget import Widget

from adapters.base import AdapterError
from console.commands import Context, command, show_key
from console.screens.agent_keys import AgentKeys
from console.screens.attending import load_chat
from console.screens.board import Board
from console.screens.writes import told
from widgets.columns import Role

if TYPE_CHECKING:
    from console.app import ConsoleApp
    from console.screens.talk import Talk
    from widgets.chat import ChatPanel

BESIDE = 100  # cells from which on the panes stay beside the chat
WELCOME = (
    "Whatever is proposed here waits in the inbox; nothing is sent before you have approved it. /help lists commands."
)
OFFLINE = (
    "No model is configured; common sentences are understood in English and Chinese: why is 12 pending, cancel 12, run "
    "sleep 30 on 2 cores in queue short, set the quota of node-2 to 4."
)
MODEL = "What you write, and what is read for it, goes to the model named above."
SHARE, LEAST, MOST = 0.42, 44, 90  # of the width; in cells


def chat_width(width: int) -> int:
    """Cells that the open chat takes of a screen: all of it where there is no room for both."""
    return width if width < BESIDE else min(MOST, max(LEAST, int(width * SHARE)))


class ChatKeys(AgentKeys):
    """For the main screen."""

    _host: ConsoleApp
    boards: dict[str, Board]
    _active: str
    talk: Talk | None = None
    _opening = False
    _shown = _over = False  # the panel is on screen; it takes all of it

    if TYPE_CHECKING:
        focused: Widget | None
        size: Any
        is_active: bool
        query_one: Any
        run_worker: Any
        set_focus: Any

        def say(self, text: str, role: Role = "plain") -> None: ...
        def go(self, id: str) -> None: ...
        def layout_for(self, width: int, height: int) -> None: ...
        def show_keys(self) -> None: ...
        def show_status(self) -> None: ...
        def wants(self, wish: Any) -> None: ...

    # -- where the person is ----------------------------------------------------------------------------------------

    @property
    def panel(self) -> ChatPanel | None:
        """The panel where it is on screen."""
        return self.talk.panel if self.talk is not None and self._shown else None

    @property
    def chat_context(self) -> Context | None:
        """``say`` while one writes, ``chat`` in the transcript, None elsewhere."""
        panel = self.panel
        if panel is None or self.focused is None:
            return None
        if self.focused is panel.input:
            return "say"
        return "chat" if self.focused is panel.view else None

    @property
    def talking(self) -> bool:
        """A turn of the chat goes on."""
        return self.talk is not None and self.talk.busy

    def hints(self) -> list[tuple[str, str, str, str]]:
        """What Esc does depends on what goes on."""
        rows: list[tuple[str, str, str, str]] = super().hints()  # type: ignore[misc]
        if (where := self.chat_context) is None:
            return rows
        words = "stop" if self.talking else "leave" if where == "say" else "close"
        return [(id, key, words if id == "back" else text, look) for id, key, text, look in rows]

    # -- opening and closing ----------------------------------------------------------------------------------------

    def do_chat(self) -> None:
        """Open it, or go to its input."""
        if self.talk is not None:
            self._show_chat(True)
        elif not self._opening:
            self._opening = True
            self.say("Opening the chat …", "dim")
            self.run_worker(self._open(self._host.hold_keys()), group="chat open", exclusive=True, exit_on_error=False)

    async def _open(self, ready: Callable[[], None]) -> None:
        """Load everything aside: what is typed meanwhile is for the chat."""
        try:
            await asyncio.to_thread(load_chat)
            chat, complete = self._host.make_chat(self._host.engine)
            from console.screens.talk import Talk
            from widgets.chat import ChatPanel

            panel = ChatPanel(complete)
            panel.display = False
            await self.query_one("#work").mount(panel)
            inbox = (
                show_key(self._host.commands["chat.inbox"].keys[0]) if self._host.commands["chat.inbox"].keys else "a"
            )
            self.talk = Talk(chat, panel, self.wants, inbox, self._host.show_agents)
        except AdapterError as error:
            self.say(told(error), "bad")
        else:
            self.say("")
            panel.note(f"{WELCOME} {MODEL if chat.planner.name != 'offline' else OFFLINE}")
            self._show_chat(True)
        finally:
            self._opening = False
            ready()

    def _show_chat(self, shown: bool) -> None:
        self._shown = shown
        if self.talk is not None:
            self.talk.panel.display = shown
        self.layout_for(self.size.width, self.size.height)
        if shown and self.panel is not None:
            self.panel.view.following = True
            self.set_focus(self.panel.input, scroll_visible=False)
        else:
            self.go(self._active)
        self._host.show_agents()
        self.show_keys()

    def make_room(self, width: int) -> int:
        """Give the open chat its part of the screen; returns what is left for the panes."""
        panel = self.panel
        over = panel is not None and chat_width(width) >= width
        self._over = over
        panes = self.query_one("#panes")
        if panes.display is over:
            panes.display = not over
        if panel is None:
            return width
        panel.styles.width = "1fr" if over else chat_width(width)
        panel.styles.margin = (0, 0, 0, 0 if over else 1)
        return width if over else width - chat_width(width)

    async def close_chat(self) -> None:
        """The console ends: end the turn, keep the session."""
        if self.talk is not None:
            self.talk.end_listening()
            await self.talk.chat.close()

    def chat_back(self) -> bool:
        """Esc: stop a running turn, else leave the input, else close. False where one is not in the chat."""
        where, panel = self.chat_context, self.panel
        if where is None or panel is None or self.talk is None:
            return False
        if self.talking:
            panel.state("stopping …", "warn")
            self.run_worker(self.talk.chat.stop(), group="chat stop", exclusive=True, exit_on_error=False)
        elif where == "say":
            self.set_focus(panel.view, scroll_visible=False)
        else:
            self._show_chat(False)
        return True

    # -- while it is open -------------------------------------------------------------------------------------------

    def on_chat_panel_entered(self, message: ChatPanel.Entered) -> None:
        message.stop()
        if self.talk is not None:
            self.run_worker(self.talk.say(message.text), group="chat", exit_on_error=False)

    def show_agents(self) -> None:
        """The head of the panel and the banner of autopilot."""
        super().show_agents()
        if self.talk is not None and self.panel is not None:
            self.panel.show(self.talk.facts(self._host.engine.gate.agents))

    def waiting_words(self) -> str:
        """For the line of states: how many proposals wait, and the key that shows them."""
        count = len(self._host.waiting)
        key = self._host.bound(command("inbox")).shown.split(", ")[0]
        return f"{count} to answer: {key}" if count else ""

    def do_chat_inbox(self) -> None:
        self.do_inbox()

    def do_chat_fold(self) -> None:
        """Unfold the results on screen, or fold them."""
        if (panel := self.panel) is not None and not panel.view.toggle_calls():
            panel.state("there is no result to unfold", "dim")

    def _move(self, by: int) -> None:
        if self.chat_context == "chat" and self.panel is not None:
            self.panel.view.move(by)
        else:
            super()._move(by)  # type: ignore[misc]

    def do_move_page_down(self) -> None:
        self._move(self._page)

    def do_move_page_up(self) -> None:
        self._move(-self._page)

    @property
    def _page(self) -> int:
        panel = self.panel
        page: int = panel.view.page if self.chat_context and panel is not None else cast("Any", self).movable.page
        return page

    # -- from pane to pane ------------------------------------------------------------------------------------------

    def do_pane_next(self) -> None:
        self._step(1)

    def do_pane_previous(self) -> None:
        self._step(-1)

    def _step(self, by: int) -> None:
        """The transcript is one more stop on the way round; where it covers the panes, leaving it closes it."""
        panel, ids = self.panel, list(self.boards)
        edge = ids[-1] if by > 0 else ids[0]
        if self.chat_context is not None:
            if self._over:
                self._show_chat(False)
            self.go(ids[0] if by > 0 else ids[-1])
        elif panel is not None and self._active == edge:
            self.set_focus(panel.view, scroll_visible=False)
        else:
            self.go(ids[(ids.index(self._active) + by) % len(ids)])
