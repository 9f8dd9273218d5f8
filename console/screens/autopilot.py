"""Autopilot, as a form and a question: what may be answered beforehand, and for how long."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from adapters.base import AdapterError
from adapters.text import clean
from console.grants import VERBS, Wish, WishError, wish
from console.screens.confirm import Answer, QuestionScreen
from console.screens.keyguard import KeyGuard, age_of
from console.screens.scope import known_clusters, text
from console.screens.writes import told
from widgets.columns import Role
from widgets.confirm import Question
from widgets.form import Field, FormPanel
from widgets.node_facts import COLOURS

if TYPE_CHECKING:
    from console.app import ConsoleApp

FIELDS: tuple[tuple[str, str, str], ...] = (
    ("verbs", "Verbs", ", ".join(VERBS)),
    ("actions", "Actions", "how many jobs may be made or changed, such as 10"),
    ("core_hours", "Core-hours", "cores x time limit of what is started, such as 50"),
    ("minutes", "Minutes", "until it ends by itself, such as 60"),
    ("queues", "Queues", "names; any"),
    ("clusters", "Clusters", "names; any"),
)
NEVER = (
    "Never covered, whatever stands here: what needs an operator, what cannot be undone, other people's jobs, the end "
    "of a job that has started. It is suspended once text from outside was read, until you say something new."
)


class AutopilotScreen(ModalScreen[None]):
    """What it may do; entering the form opens the question. It is off again when the console ends."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back", show=False)]

    def __init__(self, host: ConsoleApp, wanted: Mapping[str, Any], guard: KeyGuard | None = None) -> None:
        super().__init__()
        self._host = host
        self._guard = guard or KeyGuard()
        values = {id: text(wanted[id]) if id in wanted else "" for id, _, _ in FIELDS}
        self.form = FormPanel([Field(id, label, values[id], hint) for id, label, hint in FIELDS])
        self.said = Static("", id="form-said")

    def compose(self) -> ComposeResult:
        dialog = Vertical(self.form, self.said, id="form-dialog", classes="dialog")
        dialog.border_title = Content(" Autopilot: answer beforehand ")
        dialog.border_subtitle = Content(" off at each start ")
        yield dialog

    def on_mount(self) -> None:
        self.call_after_refresh(self._guard.shown)
        banner = self._host.engine.gate.agents.banner()
        now = f"On now: {banner}. What is entered takes its place." if banner else "Off."
        self.say(f"{now} Enter moves on, Ctrl+S goes on to the question, Esc leaves it.", "dim")

    def admits(self, event: events.Key) -> bool:
        return self._guard.admit(age_of(event)) or event.key == "escape"

    def say(self, text: str, role: Role = "plain") -> None:
        self.said.update(Content.styled(clean(text), COLOURS[role]))

    def on_form_panel_entered(self, message: FormPanel.Entered) -> None:
        message.stop()
        try:
            wanted = wish(message.values)
            known_clusters(message.values["clusters"], list(self._host.engine.clusters))
        except WishError as error:
            self.form.complain(error.field, str(error))
        else:
            self._host.push_screen(engage_question(wanted), lambda answer: self._answered(wanted, answer))

    async def _answered(self, wanted: Wish, answer: Answer | None) -> None:
        if answer is None or not answer.approved or (answer.typed or "").strip() != str(wanted.actions):
            self.say("It stays as it is.", "dim")
            return
        gate, now = self._host.engine.gate, self._host.engine.store.now()
        try:
            await gate.agents.engage(wanted.grant(now))
        except AdapterError as error:
            self.say(told(error), "bad")
        else:
            self.dismiss(None)

    def action_leave(self) -> None:
        self.dismiss(None)


def engage_question(wanted: Wish) -> QuestionScreen:
    """What is agreed to; the number of actions is typed."""
    lines = [Content.styled("Agents may do this without asking you:", "bold")]
    lines += [Content(f"  {clean(line, 300)}") for line in wanted.words()]
    lines += [Content(""), Content.styled(NEVER, "$text-muted")]
    question = Question("type", str(wanted.actions), "it answers for you", "the number of actions")
    return QuestionScreen("Turn autopilot on", "the b key ends it at once", Content("\n").join(lines), question)
