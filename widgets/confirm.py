"""What a person agrees to: the whole of a plan, and the answer to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Button, Input, Static

from adapters.intents import Plan
from adapters.text import clean, clean_lines


@dataclass(frozen=True, slots=True)
class Question:
    """What must be answered: the key `y`, or `expected` typed; `why`, `asks` and `no` (of Esc) say it to a person."""

    how: Literal["key", "type"] = "key"
    expected: str = "y"
    why: str = ""
    asks: str = ""
    no: str = "declines"


class TypedAnswer(Input):
    """Takes what is typed key by key; a paste is dropped, so that nothing is confirmed from a clipboard."""

    def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()


def _line(label: str, text: str, style: str = "") -> Content:
    return Content.assemble((f"{label:<10}", "dim"), (clean(text), style))


def plan_content(plan: Plan, notes: Sequence[str] = ()) -> Content:
    """The whole plan as text: notes, changes, targets, warnings, undo, and every byte of every request."""
    lines: list[Content] = [Content.styled(f"! {clean(note)}", "$warning bold") for note in notes]
    for change in plan.changes:
        name = f"{change.ref.id} " if change.ref else ""
        lines.append(_line("Change", f"{name}{change.field}: {change.before} -> {change.after}", "bold"))
    targets = plan.targets
    for target in targets:
        label = f" {clean(target.label, 120)}" if target.label and target.label != target.ref.id else ""
        lines.append(_line("Target", f"{target.ref}{label}  owner {target.owner or '-'}  {target.state}"))
    lines.extend(_line("Warning", warning, "$warning") for warning in plan.warnings)
    lines.append(_line("Undo", plan.undo or "cannot be undone", "" if plan.undo else "$error"))
    if plan.dry_run:
        lines.extend(_line("Dry run" if not n else "", text) for n, text in enumerate(clean_lines(plan.dry_run)))
    for number, step in enumerate(plan.steps, 1):
        head = f"Request {number} of {len(plan.steps)}" + (f"  {clean(step.summary)}" if step.summary else "")
        lines += [Content(""), Content.styled(head, "dim")]
        lines += [Content.styled(f"  {clean(text)}", "$accent") for text in step.request.lines()]
    return Content("\n").join(lines)


class ConfirmPanel(Vertical):
    """The question and its answer. It decides nothing by itself: whether it is armed comes from its screen.

    Args:
        content: all that is agreed to; a yes counts once its end was on screen.
    """

    DEFAULT_CSS = """
    ConfirmPanel { height: auto; }
    ConfirmPanel > VerticalScroll { height: auto; scrollbar-size-vertical: 1; }
    ConfirmPanel > Horizontal { height: 1; }
    ConfirmPanel Static { width: 1fr; }
    """

    class Answered(Message):
        """`approved` with what was typed, or declined."""

        def __init__(self, approved: bool, typed: str | None = None) -> None:
            super().__init__()
            self.approved = approved
            self.typed = typed

    def __init__(self, content: Content, question: Question) -> None:
        super().__init__(id="confirm-panel")
        self.question = question
        self._armed = False
        self._seen = False
        # Made here and not in compose: a key may come before the dialog is composed.
        self.body = VerticalScroll(Static(content, id="confirm-plan"), id="confirm-body")
        self.body.can_focus = False
        self._hint_line = Static("", id="confirm-hint")
        self._no = Button(Content("Cancel"), id="confirm-no", compact=True)
        self._yes = Button(Content("Confirm"), id="confirm-yes", compact=True, disabled=True)
        self._answer = TypedAnswer(
            id="confirm-typed", compact=True, max_length=len(question.expected) + 64, select_on_focus=False
        )

    def compose(self) -> ComposeResult:
        yield self.body
        yield self._hint_line
        with Horizontal(id="confirm-answer"):
            yield self._no
            yield self._yes
            if self.question.how == "type":
                yield self._answer

    def on_mount(self) -> None:
        self.watch(self.body, "scroll_y", self._scrolled, init=False)
        self.call_after_refresh(self._scrolled)
        self._no.focus()

    @property
    def typed(self) -> str | None:
        return self._answer.value if self.question.how == "type" else None

    @property
    def ready(self) -> bool:
        """A yes would count now: armed, the end has been seen, and what must be typed is typed."""
        return self._armed and self._seen and (self.typed is None or self.typed.strip() == self.question.expected)

    def arm(self, armed: bool) -> None:
        """Let the question be answered, or not yet."""
        self._armed = armed
        self._update()

    def type(self, character: str) -> None:
        """A letter typed while a button has the focus belongs to the answer."""
        self._answer.focus()
        self._answer.insert_text_at_cursor(character)

    def approve(self) -> None:
        if self.ready:
            self.post_message(self.Answered(True, self.typed))

    def fit(self, height: int) -> None:
        """Leave room for the answer below the plan, on a screen of that many lines."""
        self.body.styles.max_height = max(1, height - 6)
        self.call_after_refresh(self._scrolled)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._update()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self.ready:
            self._yes.focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "confirm-yes":
            self.approve()
        else:
            self.post_message(self.Answered(False))

    def _scrolled(self) -> None:
        body = self.body
        if body.size.height and body.scroll_offset.y >= body.max_scroll_y:
            self._seen = True
        self._update()

    def _update(self) -> None:
        if self._yes.disabled == self.ready:
            self._yes.disabled = not self.ready
        self._hint_line.update(Content(self._hint()), layout=False)

    def _hint(self) -> str:
        question = self.question
        if not self._seen:
            return "There is more below: scroll to its end first (Down, PgDn, End)."
        if question.how == "type":
            asked = clean(question.asks) or "the answer"
            return f"Type {asked} ({clean(question.expected)}), then Enter twice. Esc {question.no}."
        return f"y confirms, Esc {question.no}." if self._armed else "Wait a moment …"
