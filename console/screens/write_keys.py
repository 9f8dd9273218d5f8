"""The keys that write, for the screens that have them: each builds an intent and hands it to the gate's question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adapters.model import Ref
from adapters.text import clean
from widgets.columns import Role

if TYPE_CHECKING:
    from adapters.intents import Intent
    from console.app import ConsoleApp


class WriteKeys:
    """For a screen with `target`, `say` and `_host`."""

    _host: ConsoleApp

    @property
    def target(self) -> Ref | None:
        """What a write is aimed at."""
        raise NotImplementedError

    def say(self, text: str, role: Role = "plain") -> None:
        raise NotImplementedError

    def write(self, intent: Intent) -> None:
        """Have the gate plan it and ask; returns at once. What comes of it goes to `say`."""
        self._host.write(intent, self.say)

    def _write_simple(self, command: str) -> None:
        from pydantic import ValidationError

        from console.screens.actions import simple_intent
        from console.screens.writes import problem

        if (ref := self.target) is None:
            self.say("There is no row to do that to.", "dim")
            return
        try:
            self.write(simple_intent(command, [ref], self._host.engine.store.row(ref)))
        except ValidationError as error:
            self.say(problem(error), "bad")

    def do_job_cancel(self) -> None:
        self._write_simple("job.cancel")

    def do_job_hold(self) -> None:
        self._write_simple("job.hold")

    def do_job_release(self) -> None:
        self._write_simple("job.release")

    def do_job_suspend(self) -> None:
        self._write_simple("job.suspend")

    def do_job_requeue(self) -> None:
        self._write_simple("job.requeue")

    def do_node_undrain(self) -> None:
        self._write_simple("node.undrain")

    def do_node_drain(self) -> None:
        """Ask for the reason first; the plan and its question follow."""
        from console.screens.prompt import PromptScreen

        if (ref := self.target) is None:
            self.say("There is no node to drain.", "dim")
            return
        if why_not := self._host.why_not(ref.cluster, "drain"):
            self.say(why_not, "warn")
            return
        title = f"Drain {clean(ref.id, 40)}"
        prompt = PromptScreen(title, "Reason", placeholder="why nothing new shall start there")
        self._host.push_screen(prompt, lambda reason: self._drain(ref, reason))

    def _drain(self, ref: Ref, reason: str | None) -> None:
        from pydantic import ValidationError

        from adapters.intents import DrainNode
        from console.screens.writes import problem

        if reason is None:
            self.say("Nothing was sent.", "dim")
            return
        try:
            self.write(DrainNode(cluster=ref.cluster, refs=(ref,), reason=reason))
        except ValidationError as error:
            self.say(problem(error), "bad")
