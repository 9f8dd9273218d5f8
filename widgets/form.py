"""A form: labelled fields, each with what is wrong with it below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from adapters.text import clean


@dataclass(frozen=True, slots=True)
class Field:
    """One field: what it holds at first, and a hint that stands in it while it is empty."""

    id: str
    label: str
    value: str = ""
    hint: str = ""
    off: str = ""


class FormPanel(VerticalScroll):
    """Enter goes to the next field; on the last one, or with Ctrl+S anywhere, the form is entered."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "enter_form", "Review", show=False),
        Binding("down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
    ]
    DEFAULT_CSS = """
    FormPanel { height: auto; max-height: 100%; scrollbar-size-vertical: 1; }
    FormPanel Horizontal { height: 1; }
    FormPanel .form-label { width: 13; }
    FormPanel Input { width: 1fr; }
    FormPanel .form-wrong { height: auto; display: none; padding-left: 13; }
    FormPanel .form-wrong.-shown { display: block; }
    """

    class Entered(Message):
        """The form was entered: field -> text, empty where nothing was typed."""

        def __init__(self, values: dict[str, str]) -> None:
            super().__init__()
            self.values = values

    def __init__(self, fields: Sequence[Field]) -> None:
        super().__init__(id="form", can_focus=False)
        self._fields = tuple(fields)

    def compose(self) -> ComposeResult:
        for field in self._fields:
            with Horizontal():
                yield Static(Content(field.label), classes="form-label")
                yield Input(
                    field.value, placeholder=field.off or field.hint, compact=True, id=f"field-{field.id}",
                    disabled=bool(field.off), max_length=100_000, select_on_focus=False,
                )  # fmt: skip
            yield Static("", id=f"wrong-{field.id}", classes="form-wrong")

    def on_mount(self) -> None:
        first = next((field for field in self._fields if not field.off), None)
        if first is not None:
            self.query_one(f"#field-{first.id}", Input).focus()

    @property
    def values(self) -> dict[str, str]:
        return {field.id: clean(self.query_one(f"#field-{field.id}", Input).value.strip()) for field in self._fields}

    def complain(self, id: str, text: str) -> None:
        """Say what is wrong with a field and go to it; an empty text takes it back."""
        wrong = self.query_one(f"#wrong-{id}", Static)
        wrong.update(Content.styled(clean(text), "$error"))
        wrong.set_class(bool(text), "-shown")
        if text:
            self.query_one(f"#field-{id}", Input).focus()

    def clear_complaints(self) -> None:
        for field in self._fields:
            self.complain(field.id, "")

    def action_enter_form(self) -> None:
        self.clear_complaints()
        self.post_message(self.Entered(self.values))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        enabled = [field for field in self._fields if not field.off]
        if event.input.id == f"field-{enabled[-1].id}":
            self.action_enter_form()
        else:
            self.app.action_focus_next()
