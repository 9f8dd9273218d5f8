"""Keys of the person over agents: the inbox, the scope, autopilot on and off. No tool and no sentence leads here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from adapters.base import AdapterError
from console.screens.writes import told
from widgets.columns import Role

if TYPE_CHECKING:
    from console.app import ConsoleApp


class AgentKeys:
    """For the main screen and the inbox."""

    _host: ConsoleApp

    def say(self, text: str, role: Role = "plain") -> None:
        raise NotImplementedError

    def show_agents(self) -> None:
        """What is shown of agents has changed."""
        self._host.show_banner()

    def do_inbox(self) -> None:
        """A look at what waits; nothing is answered by that."""
        from console.screens.inbox import InboxScreen

        if not any(isinstance(screen, InboxScreen) for screen in self._host.screen_stack):
            self._host.push_screen(InboxScreen(self._host))

    def do_scope(self, wanted: Mapping[str, Any] | None = None) -> None:
        from console.screens.scope import ScopeScreen

        self._host.push_screen(ScopeScreen(self._host, wanted or {}), lambda _: self.show_agents())

    def do_autopilot(self, wanted: Mapping[str, Any] | None = None) -> None:
        from console.screens.autopilot import AutopilotScreen

        self._host.push_screen(AutopilotScreen(self._host, wanted or {}), lambda _: self.show_agents())

    async def do_autopilot_off(self) -> None:
        """At once, without a question."""
        agents = self._host.engine.gate.agents
        if agents.autopilot is None:
            self.say("Autopilot is off.", "dim")
            return
        try:
            await agents.disengage()
        except AdapterError as error:
            self.say(f"Autopilot is off. {told(error)}", "warn")
        else:
            self.say("Autopilot is off.", "ok")
        self.show_agents()
