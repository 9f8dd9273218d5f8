"""One node, live: its state, its slots, the jobs on it, and what can be done to it here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from adapters.model import Node, Ref
from adapters.text import clean
from widgets.columns import Column, Moment, Role
from widgets.format import UNKNOWN
from widgets.jobs import JOB_LETTERS, job_role, job_state, job_time
from widgets.key_bar import KeyBar
from widgets.node_facts import COLOURS, node_content
from widgets.quota_input import QuotaInput
from widgets.table import RecordTable, RowOf

_COLUMNS: tuple[Column, ...] = (
    Column("letter", "S", 1, 0, lambda job, _: JOB_LETTERS.get(job.status, "?"), job_role),
    Column("status", "STATE", 9, 2, job_state, job_role),
    Column("id", "ID", 8, 0, lambda job, _: job.id, grow=1, limit=16),
    Column("time", "TIME", 7, 1, job_time, right=True, ticks=True),
    Column("name", "NAME", 14, 0, lambda job, _: job.name or UNKNOWN, lambda job: "strong", grow=4),
    Column("owner", "OWNER", 8, 3, lambda job, _: job.owner or UNKNOWN, grow=1, limit=14),
)


class NodePanel(Vertical):
    """What the node modal shows. Its screen feeds it and acts on what is entered."""

    DEFAULT_CSS = """
    NodePanel > #node-facts { height: 5; }
    NodePanel > #node-form { height: 1; margin-top: 1; }
    NodePanel #quota-label { width: 11; }
    NodePanel #quota { width: 16; }
    NodePanel #quota-help { width: 1fr; margin-left: 2; }
    NodePanel > #node-said { height: 2; margin-bottom: 0; }
    NodePanel > #node-jobs-title { height: 1; }
    NodePanel > RecordTable { height: 1fr; }
    NodePanel > #node-cannot { height: auto; max-height: 3; }
    """

    def __init__(self, row_of: RowOf) -> None:
        super().__init__(id="node-panel")
        self.facts = Static(id="node-facts")
        self.said = Static(id="node-said")
        self.cannot = Static(id="node-cannot")
        self.jobs_title = Static(id="node-jobs-title")
        self.jobs = RecordTable(_COLUMNS, row_of, id="node-jobs")
        self.keys = KeyBar()
        self.quota = QuotaInput()
        self._shown: tuple[object, ...] = ()
        self._jobs_count = -1

    def compose(self) -> ComposeResult:
        yield self.facts
        with Horizontal(id="node-form"):
            yield Static("New quota", id="quota-label")
            yield self.quota
            yield Static("Enter sets it, 0 pauses, none lifts the limit", id="quota-help")
        yield self.said
        yield self.jobs_title
        yield self.jobs
        yield self.cannot
        yield self.keys

    def on_mount(self) -> None:
        self.quota.focus()

    def show(
        self, node: Node | None, mark: str | None, jobs: Sequence[Ref], changed: Collection[Ref], moment: Moment
    ) -> None:
        """The node and the jobs on it, as they are now; `node` None: the cluster no longer has it."""
        width = self.facts.size.width or 60
        text = node_content(node, mark, moment.now, width) if node else Content.styled("No longer there.", "$error")
        if (text, width) != self._shown:
            self._shown = (text, width)
            self.facts.update(text, layout=False)
        if len(jobs) != self._jobs_count:
            self._jobs_count = len(jobs)
            self.jobs_title.update(Content.styled(f"Jobs on it: {len(jobs)}", "dim"), layout=False)
        self.jobs.explain_empty(["No job of this cluster runs here."])
        self.jobs.show(jobs, moment, changed)

    def say(self, text: str, role: Role = "plain") -> None:
        """What came of the last thing that was entered."""
        self.said.update(Content.styled(clean(text), COLOURS[role]), layout=False)

    def show_abilities(self, reasons: Mapping[str, str | None]) -> None:
        """Which verbs the backend has: verb -> None, or the reason why not. What it has not is off, with the reason."""
        reason = reasons.get("set_node_quota")
        self.quota.disabled = reason is not None
        help_text = clean(reason) if reason else "Enter sets it, 0 pauses, none lifts the limit"
        self.query_one("#quota-help", Static).update(Content.styled(help_text, "dim"), layout=False)
        lines = dict.fromkeys(clean(text) for verb, text in reasons.items() if text and verb != "set_node_quota")
        self.cannot.update(Content("\n").join(Content.styled(line, "dim") for line in lines))


def said_at(now: datetime) -> str:
    """The time of day of an event, in the person's zone."""
    return now.astimezone().strftime("%H:%M:%S")
