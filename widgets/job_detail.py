"""One job: everything that is known about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from adapters.model import Job
from adapters.text import clean
from widgets.columns import Moment
from widgets.format import UNKNOWN, duration, number, size, span, when
from widgets.jobs import JOB_LETTERS, job_role, job_state
from widgets.node_facts import COLOURS


def job_lines(job: Job, moment: Moment) -> list[tuple[str, str, str]]:
    """Label, value and style of each line, in the order a person asks for them."""
    ran = span(job.start_time, job.end_time if job.finished else moment.now)
    waited = span(job.submission_time, job.start_time or (moment.now if not job.finished else job.end_time))
    state = f"{JOB_LETTERS.get(job.status, '?')} {job_state(job, moment)}"
    raw = f"  ({job.raw_status})" if job.raw_status and job.raw_status.lower() != job.status else ""
    asked = (
        f"{number(job.cores)} cores, {size(job.memory_bytes)}, {number(job.gpus)} GPUs, {number(job.nodes)} nodes,"
        f" limit {duration(job.walltime_seconds)}"
    )
    lines = [
        ("State", state + raw, COLOURS[job_role(job)]),
        ("Reason", job.reason or UNKNOWN, ""),
        ("Exit code", number(job.exit_code), "$error" if job.exit_code else ""),
        ("Name", job.name or UNKNOWN, "bold"),
        ("Owner", job.owner or UNKNOWN, ""),
        ("Queue", job.queue or UNKNOWN, ""),
        ("Asked for", asked, ""),
        ("Nodes", ", ".join(job.node_names) or UNKNOWN, ""),
        ("Submitted", f"{when(job.submission_time)}  waited {duration(waited)}", ""),
        ("Started", f"{when(job.start_time)}  ran {duration(ran)}", ""),
        ("Ended", when(job.end_time), ""),
        ("Depends on", ", ".join(f"{d.kind} {d.id}" for d in job.dependencies) or UNKNOWN, ""),
    ]
    if job.array:
        lines.append(("Array", f"{job.array.id} {job.array.range or number(job.array.index)}", ""))
    return lines


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a job waits or failed: a title, a sentence, the facts it rests on, and what could be changed."""

    title: str
    confidence: str
    summary: str
    evidence: tuple[tuple[str, str], ...] = ()
    changes: tuple[str, ...] = ()

    def content(self) -> list[Content]:
        lines = [
            Content(""),
            Content.assemble(
                ("Why  ", "bold $accent"), (clean(self.title), "bold"), (f"  ({clean(self.confidence)})", "dim")
            ),
            Content(clean(self.summary)),
        ]
        lines += [_row(source, quote, "", 18) for source, quote in self.evidence]
        lines += [Content.styled(f"Try: {clean(change)}", "$success") for change in self.changes]
        return lines


class JobDetail(VerticalScroll):
    """The facts of a job, and what its backend alone knows of it."""

    DEFAULT_CSS = "JobDetail { scrollbar-size-vertical: 1; }"

    def __init__(self) -> None:
        super().__init__(id="job-detail", can_focus=True)
        self._text = Static(id="job-text")
        self._shown: Content | None = None
        self._why: list[Content] = []

    def compose(self) -> ComposeResult:
        yield self._text

    def explain(self, explanation: Explanation | None, waiting: str = "") -> None:
        """Set the section that says why; `waiting` stands there until there is an answer."""
        self._why = explanation.content() if explanation else [Content(""), Content.styled(clean(waiting), "dim")]

    def show(
        self, job: Job | None, moment: Moment, meanings: Mapping[str, str], gone_at: datetime | None = None
    ) -> None:
        """The job as it is now; `meanings` explains fields of its backend; `gone_at`: the cluster dropped it then."""
        content = self._content(job, moment, meanings, gone_at)
        if content != self._shown:
            lines = content.plain.count("\n")
            same_height = self._shown is not None and self._shown.plain.count("\n") == lines
            self._shown = content
            self._text.update(content, layout=not same_height)

    def _content(
        self, job: Job | None, moment: Moment, meanings: Mapping[str, str], gone_at: datetime | None
    ) -> Content:
        if job is None:
            return Content.styled("The cluster no longer knows this job.", "$warning")
        lines = [_row(label, value, style) for label, value, style in job_lines(job, moment)]
        if gone_at is not None:
            lines.insert(0, Content.styled(f"Gone since {when(gone_at)}; shown as it last was.", "$warning"))
        lines += self._why
        extra = {name: value for name, value in job.extensions.items() if value not in (None, "", (), [])}
        if extra:
            lines += [Content(""), Content.styled("From the scheduler", "bold $accent")]
            for name, value in sorted(extra.items()):
                meaning = f"  {meanings[name]}" if name in meanings else ""
                lines.append(Content.assemble(_row(name, _shown(value), "", 18), (clean(meaning), "dim")))
        return Content("\n").join(lines)


def _row(label: str, value: str, style: str, width: int = 13) -> Content:
    return Content.assemble((f"{clean(label, 40):<{width}} ", "dim"), (clean(value), style))


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k}={v}" for k, v in value.items())
    return ", ".join(str(v) for v in value) if isinstance(value, list | tuple) else str(value)
