"""What the application keeps about agents: what waits, the banner on every screen, the chat made on demand."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine
from importlib import import_module
from typing import TYPE_CHECKING, Any

from console.gate import PlanFiles
from console.waiting import LOOK, Waiting

if TYPE_CHECKING:
    from console.engine import Engine
    from console.grants import Wish
    from console.screens.talk import Conversation
    from widgets.chat import Complete

BANNER = 1.0  # seconds between two looks at what the banner says
MODULES = (
    "console.chat.session", "console.chat.sessions", "console.chat.slash", "console.chat.model", "console.screens.talk",
    "console.screens.inbox", "widgets.chat", "widgets.chat_markdown",
)  # fmt: skip
"""What the chat needs, loaded aside when it is first opened."""


def load_chat() -> None:
    """Import it all. For a worker thread: it takes half a second."""
    for name in MODULES:
        import_module(name)


def made_chat(engine: Engine) -> tuple[Conversation, Complete]:
    """A conversation with what the configuration names, or without a model, and what completes its commands.

    Raises AdapterError where the settings of the chat cannot be used.
    """
    from console.chat.model import planner_for
    from console.chat.session import Chat
    from console.chat.sessions import chats_folder
    from console.chat.slash import complete

    def planner(model: str | None = None) -> Any:
        return planner_for(engine.config, os.environ, model)

    chat = Chat(engine, planner(), chats_folder(), planner)
    return chat, lambda text: complete(text, chat)


class Attending:
    """For the application."""

    engine: Engine
    waiting: Waiting
    make_chat: Callable[[Engine], tuple[Conversation, Complete]]
    _wish: Wish | None
    _asking: bool

    if TYPE_CHECKING:
        main: Any
        screen: Any
        screen_stack: Any
        run_worker: Any
        set_class: Any
        set_interval: Any

    def attend(self, wish: Wish | None) -> None:
        """Begin: `wish` is what the person allowed autopilot on the command line."""
        store, audit = self.engine.store, self.engine.audit
        files = PlanFiles(audit.paths.folder.parent / "plans", store.now)
        self.waiting = Waiting(self.engine.gate.agents.inbox, files, audit)
        self.make_chat = made_chat
        self._wish = wish
        self._asking = False

    async def begin_attending(self) -> None:
        """Turn on what was allowed, and look at the folder of plans from now on."""
        if self._wish is not None:
            await self._engage(self._wish)
        self.engine.gate.agents.inbox.watchers.append(self.show_agents)
        self.set_interval(LOOK, self._look)
        self.set_interval(BANNER, self.show_banner)
        self._look()

    async def _engage(self, wish: Wish) -> None:
        from adapters.base import AdapterError
        from console.screens.writes import told

        try:
            await self.engine.gate.agents.engage(wish.grant(self.engine.store.now()), origin="command_line")
        except AdapterError as error:
            self.main.say(f"Autopilot stays off. {told(error)}", "bad")
        self.show_agents()

    def _look(self) -> None:
        self.run_worker(self._look_aside(), group="plans", exclusive=True, exit_on_error=False)

    async def _look_aside(self) -> None:
        before = len(self.waiting)
        await self.waiting.look()
        if len(self.waiting) != before:
            self.show_agents()

    def show_agents(self) -> None:
        """Show everywhere what has changed about agents."""
        self.show_banner()
        self.main.show_agents()
        self.main.show_status()

    def show_banner(self) -> None:
        """The line at the top of every screen while autopilot is on; dialogs leave that line uncovered."""
        from textual.screen import ModalScreen

        from widgets.banner import Banner

        text = self.engine.gate.agents.banner()
        self.set_class(bool(text), "-autopilot")
        for screen in self.screen_stack:
            banners = list(screen.query(Banner))
            if text and not banners and not isinstance(screen, ModalScreen) and screen.is_mounted:
                banners = [Banner()]
                screen.mount(banners[0], before=0)
            for banner in banners:
                banner.show(text)

    def ask_once(self, flow: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run what asks the person something. One question at a time: a key held down opens no second one."""
        from console.screens.confirm import QuestionScreen

        if self._asking or any(isinstance(screen, QuestionScreen) for screen in self.screen_stack):
            return
        self._asking = True

        async def asking() -> None:
            try:
                await flow()
            finally:
                self._asking = False

        self.run_worker(asking(), group="write", exit_on_error=False)
