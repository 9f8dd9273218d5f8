"""The detail of one job, live while it is open."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from adapters.base import AdapterError
from adapters.model import Job, Ref
from adapters.text import clean
from console.commands import Command, Context
from console.screens.bindings import CommandScreen, bindings_for
from console.screens.write_keys import WriteKeys
from widgets.columns import Moment, Role
from widgets.job_detail import Explanation, JobDetail
from widgets.key_bar import KeyBar
from widgets.node_facts import COLOURS

if TYPE_CHECKING:
    from console.app import ConsoleApp


class JobScreen(WriteKeys, CommandScreen, ModalScreen[None]):
    """Everything about one job: the row as it changes, and what only a question for this job brings."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("job")
    contexts = frozenset[Context]({"job"})

    def __init__(self, host: ConsoleApp, ref: Ref, *, why: bool = False) -> None:
        super().__init__()
        self._why = why
        self._host = host
        self._ref = ref
        self._asked: Job | None = None
        self.detail = JobDetail()
        self.said = Static("", id="job-said")
        self.keys = KeyBar()

    def compose(self) -> ComposeResult:
        dialog = Vertical(self.detail, self.said, self.keys, id="job-dialog", classes="dialog")
        dialog.border_title = Content(f" Job {clean(self._ref.id, 40)} ")
        dialog.border_subtitle = Content(f" cluster {clean(self._ref.cluster, 40)} ")
        yield dialog

    def on_mount(self) -> None:
        self.detail.focus()
        self.keys.show(self.hints())
        self.tick()
        self.set_interval(0.5, self.tick)
        self.run_worker(self._ask(), group="job", exclusive=True, exit_on_error=False)
        if self._why:
            self.do_job_why()

    async def _ask(self) -> None:
        """Ask for this one job: it may tell more than the list does. Where it does not, the row is all there is."""
        try:
            self._asked = await self._host.engine.reader(self._ref.cluster).get_job(self._ref.id)
        except AdapterError as error:
            self.say(f"The scheduler told no more than this: {error.message}", "dim")
        self.tick()

    def tick(self) -> None:
        store = self._host.engine.store
        row = store.row(self._ref)
        gone = store.tombstone(self._ref) if row is None else None
        job = row or (gone.row if gone else None) or self._asked
        if isinstance(job, Job) and self._asked is not None:
            job = job._replace(extensions={**self._asked.extensions, **job.extensions})
        capabilities = self._host.engine.clusters[self._ref.cluster].capabilities
        meanings = capabilities.extensions if capabilities else {}
        moment = Moment(store.now().replace(microsecond=0), store.marked)
        self.detail.show(job if isinstance(job, Job) else None, moment, meanings, gone.at if gone else None)

    @property
    def target(self) -> Ref:
        return self._ref

    def look(self, command: Command) -> str:
        if command.verb and self._host.why_not(self._ref.cluster, command.verb):
            return "off"
        return super().look(command)

    def say(self, text: str, role: Role = "plain") -> None:
        self.said.update(Content.styled(clean(text), COLOURS[role]))

    def _move(self, by: int) -> None:
        self.detail.scroll_relative(y=by, animate=False)

    def do_move_page_down(self) -> None:
        self.detail.scroll_page_down(animate=False)

    def do_move_page_up(self) -> None:
        self.detail.scroll_page_up(animate=False)

    def do_job_why(self) -> None:
        """Ask why it waits or failed: the scheduler's reason, the queues and nodes, the end of its output."""
        self.detail.explain(None, "Looking for the reason …")
        self.tick()
        self.run_worker(self._explain(), group="why", exclusive=True, exit_on_error=False)

    async def _explain(self) -> None:
        from console.diagnosis.gather import diagnose_job

        try:
            found = await diagnose_job(self._host.engine.reader(self._ref.cluster), self._ref.id)
        except AdapterError as error:
            self.detail.explain(None, f"The reason could not be looked for: {error.message}")
        else:
            evidence = tuple((e.source, e.quote) for e in found.evidence)
            self.detail.explain(Explanation(found.title, found.confidence, found.summary, evidence, found.changes))
        self.tick()

    def do_job_log(self) -> None:
        from console.screens.log import LogScreen

        row = self._host.engine.store.row(self._ref) or self._asked
        if isinstance(row, Job):
            self.app.push_screen(LogScreen(self._host, row))

    def do_help(self) -> None:
        from console.screens.help import HelpScreen

        self.app.push_screen(HelpScreen(self.contexts))

    def do_back(self) -> None:
        self.dismiss(None)

    def do_quit(self) -> None:
        self.dismiss(None)
