"""The question before a write. Nothing but an answer given here, to what is shown here, approves a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen

from adapters.text import clean
from console.commands import Context
from console.gate import Prepared
from console.screens.bindings import CommandScreen, bindings_for
from console.screens.keyguard import QUIET, KeyGuard, age_of
from widgets.confirm import ConfirmPanel, Question, TypedAnswer, plan_content


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's answer; `typed` is what was typed where typing was asked for."""

    approved: bool
    typed: str | None = None


class QuestionScreen(CommandScreen, ModalScreen[Answer]):
    """Shows what is asked and returns the answer. Esc and the focused button decline."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("confirm")
    contexts = frozenset[Context]({"confirm"})

    def __init__(
        self, title: str, subtitle: str, content: Content, question: Question, guard: KeyGuard | None = None
    ) -> None:
        super().__init__()
        self._titles = (title, subtitle)
        self._guard = guard or KeyGuard()
        self.panel = ConfirmPanel(content, question)

    def compose(self) -> ComposeResult:
        dialog = Vertical(self.panel, id="confirm-dialog", classes="dialog")
        dialog.border_title = Content(f" {clean(self._titles[0], 70)}? ")
        dialog.border_subtitle = Content(f" {clean(self._titles[1], 50)} ")
        yield dialog

    def on_resize(self, event: events.Resize) -> None:
        self._fit(event.size.height)

    def on_mount(self) -> None:
        self._fit(self.app.size.height)
        self.call_after_refresh(self._shown)

    def _shown(self) -> None:
        self._guard.shown()
        self.set_timer(QUIET + 0.02, self._listen)

    def _fit(self, height: int) -> None:
        """The banner of autopilot keeps a line to itself."""
        self.panel.fit(height - self.app.has_class("-autopilot"))

    def admits(self, event: events.Key) -> bool:
        """Whether a key may reach the dialog: not before it listens. Esc always may.

        What is typed while a button has the focus belongs to the answer, although it may be the key of a command.
        """
        admitted = self._guard.admit(age_of(event))
        if not admitted:
            self.set_timer(QUIET + 0.02, self._listen)
        self.panel.arm(self._guard.armed)
        if admitted and self._typing(event):
            self.panel.type(str(event.character))
            return False
        return admitted or event.key == "escape"

    def _typing(self, event: events.Key) -> bool:
        printable = event.is_printable and event.character is not None
        return printable and self.panel.question.how == "type" and not isinstance(self.focused, TypedAnswer)

    def _listen(self) -> None:
        self.panel.arm(self._guard.look())

    def do_confirm_yes(self) -> None:
        if self.panel.question.how == "key" and self._guard.calm:
            self.panel.approve()

    def do_move_down(self) -> None:
        self.panel.body.scroll_relative(y=1, animate=False)

    def do_move_up(self) -> None:
        self.panel.body.scroll_relative(y=-1, animate=False)

    def do_move_page_down(self) -> None:
        self.panel.body.scroll_page_down(animate=False)

    def do_move_page_up(self) -> None:
        self.panel.body.scroll_page_up(animate=False)

    def do_move_top(self) -> None:
        self.panel.body.scroll_home(animate=False)

    def do_move_bottom(self) -> None:
        self.panel.body.scroll_end(animate=False)

    def do_back(self) -> None:
        self.dismiss(Answer(False))

    def on_confirm_panel_answered(self, message: ConfirmPanel.Answered) -> None:
        if message.approved and not self._guard.calm:
            return
        self.dismiss(Answer(message.approved, message.typed))


class ConfirmScreen(QuestionScreen):
    """Shows a prepared plan.

    Args:
        foreword: what is to be said before the plan: who proposed it, and after reading what.
        no: what Esc does.
    """

    def __init__(
        self, prepared: Prepared, guard: KeyGuard | None = None, foreword: Sequence[Content] = (), no: str = "declines"
    ) -> None:
        self._prepared = prepared
        intent, confirm = prepared.intent, prepared.confirm
        super().__init__(
            clean(intent.describe(), 60), f"cluster {clean(intent.cluster, 40)}",
            Content("\n").join([*foreword, confirmed_content(prepared)]),
            Question(confirm.how, confirm.expected, confirm.why, confirm.asks, no), guard,
        )  # fmt: skip


def confirmed_content(prepared: Prepared) -> Content:
    """A plan as it is agreed to, with what makes a typed answer necessary."""
    why = prepared.confirm.why
    return plan_content(prepared.plan, (*prepared.notes, *([f"A typed answer is needed: {why}."] if why else [])))
