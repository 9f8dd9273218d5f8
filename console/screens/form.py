"""The forms: a new job, a job again, a change of a job. Entering one builds an intent; the gate's question follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from pydantic import ValidationError
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from adapters.intents import CreateReservation, Intent, ModifyJob, SetQueueQuota, SubmitJob
from adapters.model import Job, Ref
from adapters.text import clean
from console.forms import FieldError, changes, of_job, queue_limits, reservation, submission
from console.screens.writes import problem
from widgets.columns import Role
from widgets.form import Field, FormPanel
from widgets.node_facts import COLOURS

if TYPE_CHECKING:
    from console.app import ConsoleApp
    from console.gate import Operation

SUBMIT: tuple[tuple[str, str, str], ...] = (
    ("command", "Command", "what to run, as in a shell without pipes: python train.py --lr 0.1"),
    ("script", "Script", "or the file of a batch script"),
    ("name", "Name", ""),
    ("queue", "Queue", "the default one"),
    ("cores", "Cores", "a number"),
    ("memory", "Memory", "4GB (decimal) or 4GiB (binary)"),
    ("walltime", "Time limit", "HH:MM, 90m, 2d"),
    ("gpus", "GPUs", "a number"),
    ("nodes", "Nodes", "a number"),
    ("array", "Array", "1-100%4"),
    ("cwd", "Folder", "where it runs"),
    ("env", "Environment", "NAME=VALUE NAME=VALUE"),
    ("account", "Account", ""),
    ("hold", "Hold", "y: it waits until it is released"),
)
MODIFY: tuple[tuple[str, str, str], ...] = (
    ("name", "Name", ""),
    ("queue", "Queue", ""),
    ("cores", "Cores", "a number"),
    ("nodes", "Nodes", "a number"),
    ("memory", "Memory", "4GB or 4GiB"),
    ("walltime", "Time limit", "HH:MM, 90m, 2d"),
    ("priority", "Priority", "a number"),
    ("account", "Account", ""),
)


QUEUE: tuple[tuple[str, str, str], ...] = (("limits", "Limits", "RESOURCE=LIMIT …, none lifts one: pods=20 cpu=none"),)
RESERVE: tuple[tuple[str, str, str], ...] = (
    ("name", "Name", ""),
    ("nodes", "Nodes", "names with spaces between"),
    ("cores", "Cores", "a number, instead of nodes"),
    ("users", "Users", "who may use it"),
    ("start", "Start", "2026-12-24 08:00; without it, now"),
    ("duration", "Duration", "HH:MM, 90m, 2d"),
)


def _fields(rows: Sequence[tuple[str, str, str]], values: Mapping[str, str]) -> list[Field]:
    return [Field(id, label, values.get(id, ""), hint) for id, label, hint in rows]


class FormScreen(ModalScreen[None]):
    """A form in a dialog. It stays open until a write was sent, so that nothing typed is lost by a refusal."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back", show=False)]

    def __init__(self, host: ConsoleApp, title: str, cluster: str, fields: Sequence[Field]) -> None:
        super().__init__()
        self._host = host
        self._title = title
        self._cluster = cluster
        self.form = FormPanel(fields)
        self.said = Static(
            Content("Enter moves on, Ctrl+S goes on to what will be sent, Esc goes back."), id="form-said"
        )

    def compose(self) -> ComposeResult:
        dialog = Vertical(self.form, self.said, id="form-dialog", classes="dialog")
        dialog.border_title = Content(f" {clean(self._title, 60)} ")
        dialog.border_subtitle = Content(f" cluster {clean(self._cluster, 40)} ")
        yield dialog

    def intent(self, values: Mapping[str, str]) -> Intent:
        """What the form asks for. Raises FieldError or pydantic.ValidationError."""
        raise NotImplementedError

    def say(self, text: str, role: Role = "plain") -> None:
        self.said.update(Content.styled(clean(text), COLOURS[role]))

    def on_form_panel_entered(self, message: FormPanel.Entered) -> None:
        try:
            intent = self.intent(message.values)
        except FieldError as error:
            self.form.complain(error.field, str(error))
        except ValidationError as error:
            self.say(problem(error), "bad")
        else:
            self._host.write(intent, self.say, self._sent)

    def _sent(self, operation: Operation) -> None:
        self.dismiss(None)

    def action_leave(self) -> None:
        self.dismiss(None)


class SubmitScreen(FormScreen):
    """A new job, or an earlier one again: `job` fills the form with what is known of it."""

    def __init__(self, host: ConsoleApp, cluster: str, job: Job | None = None) -> None:
        values = of_job(job) if job else {}
        title = f"Submit {job.id} again" if job else "New job"
        super().__init__(host, title, cluster, _fields(SUBMIT, values))

    def intent(self, values: Mapping[str, str]) -> Intent:
        return SubmitJob(cluster=self._cluster, spec=submission(values))


class ModifyScreen(FormScreen):
    """Other wishes of a job that is there; only what differs is sent."""

    def __init__(self, host: ConsoleApp, job: Job, refs: tuple[Ref, ...]) -> None:
        known = of_job(job) if len(refs) == 1 else {}
        self._before = {id: known.get(id, "") for id, _, _ in MODIFY}
        self._refs = refs
        title = f"Modify {job.id}" if len(refs) == 1 else f"Modify {len(refs)} jobs"
        super().__init__(host, title, job.cluster, _fields(MODIFY, self._before))

    def intent(self, values: Mapping[str, str]) -> Intent:
        changed = changes(values, self._before)
        if not changed:
            raise FieldError("name", "Nothing is changed yet.")
        return ModifyJob(cluster=self._cluster, refs=self._refs, **changed)


class QueueQuotaScreen(FormScreen):
    """Limits of queues, by the backend's own resource names."""

    def __init__(self, host: ConsoleApp, refs: tuple[Ref, ...]) -> None:
        self._refs = refs
        title = f"Quota of {refs[0].id}" if len(refs) == 1 else f"Quota of {len(refs)} queues"
        super().__init__(host, title, refs[0].cluster, _fields(QUEUE, {}))

    def intent(self, values: Mapping[str, str]) -> Intent:
        return SetQueueQuota(cluster=self._cluster, refs=self._refs, limits=queue_limits(values["limits"]))


class ReserveScreen(FormScreen):
    """A span of time in which nodes are set apart; the marked nodes are filled in."""

    def __init__(self, host: ConsoleApp, cluster: str, nodes: Sequence[str]) -> None:
        super().__init__(host, "New reservation", cluster, _fields(RESERVE, {"nodes": " ".join(nodes)}))

    def intent(self, values: Mapping[str, str]) -> Intent:
        return CreateReservation(cluster=self._cluster, **reservation(values))
