"""The list of what was sent since the console started: requests, answers, durations, and a stop for what goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen

from adapters.text import clean
from console.commands import Context
from console.gate import Operation, StepProgress
from console.screens.bindings import CommandScreen, bindings_for
from widgets.columns import Role
from widgets.key_bar import KeyBar
from widgets.sent_view import SentOperation, SentStep, SentView

if TYPE_CHECKING:
    from console.app import ConsoleApp

STATE_ROLES: dict[str, Role] = {
    "waiting": "dim", "sending": "info", "accepted": "ok", "refused": "bad", "unknown": "warn", "not_sent": "dim",
}  # fmt: skip
RESULT_ROLES: dict[str, Role] = {
    "running": "info", "accepted": "ok", "refused": "bad", "unknown": "warn", "partly": "warn", "stopped": "warn",
}  # fmt: skip
MOST = 50  # operations shown


def sent_step(progress: StepProgress) -> SentStep:
    """One step, in a line and its answer: the words of the backend where it gave any."""
    lines = progress.step.request.lines()
    targets = ", ".join(target.ref.id for target in progress.step.targets[:3])
    request = f"{lines[0]}  {targets}" if targets and targets not in lines[0] else lines[0]
    said = [outcome.message for outcome in progress.outcomes if outcome.message]
    seen = {"confirmed": "seen on the target", "not_yet": "not seen on the target yet"}
    said += [seen[state] for state in dict.fromkeys(progress.verified.values()) if state in seen]
    if progress.note:
        said.append(progress.note)
    state = progress.state.replace("_", " ")
    return SentStep(clean(request), state, STATE_ROLES[progress.state], clean("; ".join(said)), progress.seconds)


def sent_operation(operation: Operation) -> SentOperation:
    """An operation as it stands now."""
    cluster = clean(operation.intent.cluster, 40)
    return SentOperation(
        at=operation.started,
        title=f"{clean(operation.intent.describe(), 90)} on {cluster}",
        summary=clean(operation.summary().partition(": ")[2]),
        role=RESULT_ROLES[operation.result],
        steps=tuple(sent_step(step) for step in operation.progress()),
        notes=tuple(clean(note) for note in operation.notes),
    )


class SentScreen(CommandScreen, ModalScreen[None]):
    """Live while it is open."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("sent")
    contexts = frozenset[Context]({"sent"})

    def __init__(self, host: ConsoleApp) -> None:
        super().__init__()
        self._host = host
        self._shown: tuple[int, int] = (-1, -1)
        self.view = SentView()
        self.keys = KeyBar()

    def compose(self) -> ComposeResult:
        dialog = Vertical(self.view, self.keys, id="sent-dialog", classes="dialog")
        dialog.border_title = Content(" Sent ")
        dialog.border_subtitle = Content(" newest first; all of it is in the audit log ")
        yield dialog

    def on_mount(self) -> None:
        self.view.focus()
        self.keys.show(self.hints())
        self.tick()
        self.set_interval(0.25, self.tick)

    def tick(self) -> None:
        operations = self._host.engine.gate.operations[-MOST:]
        state = (len(operations), sum(operation.revision for operation in operations))
        if state != self._shown and self.is_active:
            self._shown = state
            self.view.show([sent_operation(operation) for operation in reversed(operations)])

    def do_operation_stop(self) -> None:
        """Stop the newest operation that goes on; the step being sent is not interrupted."""
        for operation in reversed(self._host.engine.gate.operations):
            if not operation.done:
                operation.stop()
                return

    def _move(self, by: int) -> None:
        self.view.scroll_relative(y=by, animate=False)

    def do_move_page_down(self) -> None:
        self.view.scroll_page_down(animate=False)

    def do_move_page_up(self) -> None:
        self.view.scroll_page_up(animate=False)

    def do_back(self) -> None:
        self.dismiss(None)

    def do_quit(self) -> None:
        self.dismiss(None)
