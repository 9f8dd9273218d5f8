"""What was sent: each operation, each of its requests, and what came back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from adapters.text import clean
from widgets.columns import Role
from widgets.node_facts import COLOURS


@dataclass(frozen=True, slots=True)
class SentStep:
    """One request: what went out in one line, where it stands, and the answer."""

    request: str
    state: str
    role: Role
    answer: str = ""
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class SentOperation:
    """One write, with its steps in order."""

    at: datetime
    title: str
    summary: str
    role: Role
    steps: tuple[SentStep, ...]
    notes: tuple[str, ...] = ()


MOST_STEPS = 100  # shown of one operation


class SentView(VerticalScroll):
    """The newest operation on top."""

    DEFAULT_CSS = "SentView { scrollbar-size-vertical: 1; }"

    def __init__(self) -> None:
        super().__init__(id="sent-view", can_focus=True)
        self._text = Static(id="sent-text")

    def compose(self) -> ComposeResult:
        yield self._text

    def show(self, operations: Sequence[SentOperation]) -> None:
        lines: list[Content] = []
        for operation in operations:
            lines += [*_operation(operation), Content("")]
        self._text.update(
            Content("\n").join(lines) if lines else Content("Nothing was sent since the console started.")
        )


def _operation(operation: SentOperation) -> list[Content]:
    at = operation.at.astimezone().strftime("%H:%M:%S")
    head = Content.assemble(
        (at, "dim"),
        "  ",
        (clean(operation.title, 100), "bold"),
        "  ",
        (clean(operation.summary), COLOURS[operation.role]),
    )
    lines = [head, *(Content.styled(f"          {clean(note)}", "$warning") for note in operation.notes)]
    for step in operation.steps[:MOST_STEPS]:
        took = f"  {step.seconds * 1000:.0f} ms" if step.seconds is not None else ""
        state = (f"{step.state:<9}", COLOURS[step.role])
        lines.append(Content.assemble("  ", state, " ", clean(step.request, 160), (took, "dim")))
        if step.answer:
            lines.append(Content.styled(f"            {clean(step.answer, 400)}", COLOURS[step.role]))
    if len(operation.steps) > MOST_STEPS:
        lines.append(Content.styled(f"  … and {len(operation.steps) - MOST_STEPS} more", "dim"))
    return lines
