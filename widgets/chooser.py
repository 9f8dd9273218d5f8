"""A list to choose from, narrowed by typing where that is wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from adapters.text import clean
from widgets.format import fit
from widgets.past import Past

MOST = 200  # choices listed at once


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing to choose.

    Args:
        id: what is reported when it is chosen.
        key: the key that does the same, shown at the left.
        off: why it cannot be chosen here; empty where it can.
        writes: it changes a cluster, after a question.
    """

    id: str
    label: str
    key: str = ""
    help: str = ""
    off: str = ""
    writes: bool = False


Offer = Callable[[str], Sequence[Choice]]
"""What there is to choose for the text typed so far."""


class Chooser(Vertical):
    """Arrows and Enter choose; with a field above, typing narrows, and Enter on a text may mean the text itself.

    Up from the top of the list leads through what was typed before; Enter on such a text means the text.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "step(1)", show=False),
        Binding("up", "step(-1)", show=False),
        Binding("pagedown", "step(10)", show=False),
        Binding("pageup", "step(-10)", show=False),
        Binding("tab", "complete", show=False),
    ]
    DEFAULT_CSS = """
    Chooser { height: auto; max-height: 100%; }
    Chooser > OptionList { height: auto; max-height: 20; border: none; padding: 0; scrollbar-size-vertical: 1; }
    """

    class Chosen(Message):
        """A choice was made; `text` is what was typed."""

        def __init__(self, id: str, text: str) -> None:
            super().__init__()
            self.id = id
            self.text = text

    class Entered(Message):
        """Enter was pressed on a text that no choice stands for."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(
        self, offer: Offer, *, typing: bool, placeholder: str = "", text: str = "", history: Sequence[str] = ()
    ) -> None:
        super().__init__(id="chooser")
        self._past = Past(history)
        self._offer = offer
        self._typing = typing
        self._choices: list[Choice] = []
        self.field = Input(text, placeholder=placeholder, compact=True, id="chooser-text", select_on_focus=False)
        self.list = OptionList(id="chooser-list", compact=True)

    def compose(self) -> ComposeResult:
        if self._typing:
            yield self.field
        yield self.list

    def on_mount(self) -> None:
        self.list.can_focus = not self._typing
        (self.field if self._typing else self.list).focus()
        self._fill()

    @property
    def choices(self) -> Sequence[Choice]:
        return self._choices

    def _fill(self) -> None:
        self._choices = list(self._offer(clean(self.field.value)))[:MOST]
        self.list.clear_options()
        self.list.add_options([Option(self._line(choice), disabled=bool(choice.off)) for choice in self._choices])
        first = next((n for n, choice in enumerate(self._choices) if not choice.off), None)
        self.list.highlighted = first

    def _line(self, choice: Choice) -> Content:
        mark = ("w ", "bold $warning") if choice.writes else ("  ", "")
        label = fit(choice.label, 26)
        said = clean(choice.off or choice.help, 46)
        return Content.assemble(mark, (fit(choice.key, 10), "bold"), (label, ""), " ", (said, "dim"))

    def action_step(self, by: int) -> None:
        """Down and up the list; up from its top, and from there on, through what was typed before."""
        top = not self.list.highlighted
        if abs(by) == 1 and self._typing and (self._past.walking or (by < 0 and top)):
            text = self._past.older(self.field.value) if by < 0 else self._past.newer()
            if text is not None:
                self._recall(text)
            if text is not None or by < 0:
                return
        for _ in range(abs(by)):
            (self.list.action_cursor_down if by > 0 else self.list.action_cursor_up)()

    def _recall(self, text: str) -> None:
        with self.prevent(Input.Changed):
            self.field.value = text
        self.field.cursor_position = len(text)
        self._fill()

    def action_complete(self) -> None:
        """Put what is highlighted into the field."""
        if self._typing and (chosen := self._highlighted) is not None:
            self.field.value = f"{chosen.label} "
            self.field.cursor_position = len(self.field.value)

    @property
    def _highlighted(self) -> Choice | None:
        at = self.list.highlighted
        return self._choices[at] if at is not None and at < len(self._choices) else None

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._past.leave()
        self._fill()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._choose()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._choose()

    def _choose(self) -> None:
        text = clean(self.field.value.strip())
        chosen = self._highlighted
        if chosen is None or chosen.off or (self._past.walking and text):
            self.post_message(self.Entered(text))
        else:
            self.post_message(self.Chosen(chosen.id, text))
