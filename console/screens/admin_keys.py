"""The keys of an operator on queues and nodes that need more than a target: close, quota, reservation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from adapters.intents import CloseQueue
from adapters.model import Ref
from adapters.text import clean
from console.screens.prompt import PromptScreen
from console.screens.writes import problem
from widgets.columns import Role

if TYPE_CHECKING:
    from adapters.intents import Intent
    from console.app import ConsoleApp


class AdminKeys:
    """For the main screen."""

    _host: ConsoleApp

    if TYPE_CHECKING:

        def say(self, text: str, role: Role = "plain") -> None: ...
        def write(self, intent: Intent) -> None: ...
        def of_one_cluster(self) -> tuple[Ref, ...]: ...

    def _able(self, verb: str) -> tuple[Ref, ...]:
        """The targets, where their cluster can do that; else nothing, and the reason is said."""
        refs = self.of_one_cluster()
        if refs and (why_not := self._host.why_not(refs[0].cluster, verb)):
            self.say(why_not, "warn")
            return ()
        return refs

    def do_queue_close(self) -> None:
        """Ask for the reason first; the plan and its question follow."""
        if refs := self._able("close_queue"):
            title = f"Close {clean(refs[0].id, 40)}" + (f" and {len(refs) - 1} more" if len(refs) > 1 else "")
            prompt = PromptScreen(title, "Reason", placeholder="why no new job is taken")
            self._host.push_screen(prompt, lambda reason: self._close(refs, reason))

    def _close(self, refs: tuple[Ref, ...], reason: str | None) -> None:
        if reason is None:
            self.say("Nothing was sent.", "dim")
            return
        try:
            self.write(CloseQueue(cluster=refs[0].cluster, refs=refs, reason=reason))
        except ValidationError as error:
            self.say(problem(error), "bad")

    def do_queue_quota(self) -> None:
        from console.screens.form import QueueQuotaScreen

        if refs := self._able("set_queue_quota"):
            self._host.push_screen(QueueQuotaScreen(self._host, refs))

    def do_reserve(self) -> None:
        from console.screens.form import ReserveScreen

        if refs := self._able("create_reservation"):
            self._host.push_screen(ReserveScreen(self._host, refs[0].cluster, [ref.id for ref in refs]))
