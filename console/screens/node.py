"""The node dialog: live facts, the jobs on it, its quota, drain and undrain, its token."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen

from adapters.model import Job, Node, Ref, Row
from adapters.text import clean
from console.commands import Command, Context
from console.gate import Operation
from console.screens.bindings import CommandScreen, bindings_for
from console.screens.node_said import said_of
from console.screens.write_keys import WriteKeys
from widgets.columns import Moment, Role
from widgets.format import slots_with_quota
from widgets.node_modal import NodePanel
from widgets.quota_input import QuotaInput
from widgets.table import RecordTable

if TYPE_CHECKING:
    from console.app import ConsoleApp

VERBS = ("set_node_quota", "drain", "undrain", "reissue_token")


class NodeScreen(WriteKeys, CommandScreen, ModalScreen[None]):
    """One node of any backend, with what that backend can do."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("node")
    contexts = frozenset[Context]({"node"})

    def __init__(self, host: ConsoleApp, ref: Ref) -> None:
        super().__init__()
        self._host = host
        self._store = host.engine.store
        self._ref = ref
        self._cursor = self._store.cursor("job")
        self._jobs = {r for r, row in self._store.items("job", [ref.cluster]) if self._is_here(row)}
        self._operation: Operation | None = None
        self._abilities: dict[str, str | None] = {}
        self.panel = NodePanel(self._store.row)

    def compose(self) -> ComposeResult:
        dialog = Vertical(self.panel, id="node-dialog", classes="dialog")
        dialog.border_title = Content(f" Node {clean(self._ref.id, 50)} ")
        dialog.border_subtitle = Content(f" cluster {clean(self._ref.cluster, 40)} ")
        yield dialog

    def on_mount(self) -> None:
        self.call_after_refresh(self.tick)
        self.set_interval(0.25, self.tick)

    # -- what is shown ----------------------------------------------------------------------------------------------

    def _is_here(self, row: Row | None) -> bool:
        return isinstance(row, Job) and row.status in ("running", "suspended") and self._ref.id in row.node_names

    def _take_jobs(self) -> Collection[Ref]:
        """Bring the set of jobs on the node up to date; returns those that changed."""
        changes = self._cursor.take()
        for ref in changes.changed:
            if self._is_here(self._store.row(ref)):
                self._jobs.add(ref)
            else:
                self._jobs.discard(ref)
        self._jobs -= changes.gone
        return changes.changed

    @property
    def node(self) -> Node | None:
        row = self._store.row(self._ref)
        return row if isinstance(row, Node) else None

    def tick(self) -> None:
        """Show the node as the store has it. Painted only while this dialog is on top."""
        if not self.is_active:
            return
        changed = self._take_jobs()
        moment = Moment(self._store.now().replace(microsecond=0), self._store.marked)
        jobs = sorted(self._jobs, key=lambda ref: ref.id)
        self.panel.show(self.node, self._store.marked(self._ref), jobs, changed, moment)
        self._show_abilities()
        if self._operation is not None:
            self.panel.say(*said_of(self._operation, self.node))

    def _show_abilities(self) -> None:
        abilities = {verb: self._host.off(self._ref.cluster, verb) for verb in VERBS}
        if abilities != self._abilities:
            self._abilities = abilities
            self.panel.show_abilities(abilities)
        self.panel.keys.show(self.hints())

    def look(self, command: Command) -> str:
        if command.verb and self._abilities.get(command.verb):
            return "off"
        return super().look(command)

    # -- what is done -----------------------------------------------------------------------------------------------

    @property
    def target(self) -> Ref:
        return self._ref

    @property
    def movable(self) -> RecordTable:
        return self.panel.jobs

    def say(self, text: str, role: Role = "plain") -> None:
        self._operation = None
        self.panel.say(text, role)

    def write(self, intent: object) -> None:
        from adapters.intents import Intent

        assert isinstance(intent, Intent)
        self._host.write(intent, self.say, self.sent)

    def sent(self, operation: Operation) -> None:
        self._operation = operation
        self.tick()

    def on_quota_input_entered(self, message: QuotaInput.Entered) -> None:
        message.stop()
        self._set_quota(message.slots)

    def on_quota_input_rejected(self, message: QuotaInput.Rejected) -> None:
        message.stop()
        self.say(message.reason, "warn")

    def _set_quota(self, slots: int | None) -> None:
        """Ask for the quota, on the version of the node that is on screen: a change in between is a conflict."""
        from pydantic import ValidationError

        from adapters.intents import SetNodeQuota
        from console.screens.writes import problem

        node = self.node
        if node is None:
            self.say("The cluster no longer has this node.", "bad")
            return
        version = node.extensions.get("version")
        try:
            self.write(
                SetNodeQuota(
                    cluster=self._ref.cluster,
                    refs=(self._ref,),
                    slots=slots,
                    if_version=str(version) if version is not None else None,
                )
            )
        except ValidationError as error:
            self.say(problem(error), "bad")
        else:
            self.panel.quota.value = ""
            self.panel.say(f"Slots now: {slots_with_quota(node)}", "dim")

    def do_node_clear_quota(self) -> None:
        self._set_quota(None)

    def do_node_token(self) -> None:
        self._write_simple("node.token")

    def do_help(self) -> None:
        from console.screens.help import HelpScreen

        self.app.push_screen(HelpScreen(self.contexts))

    def do_back(self) -> None:
        self.dismiss(None)

    def do_quit(self) -> None:
        self.dismiss(None)
