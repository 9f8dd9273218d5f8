"""The chat panel: head, transcript, a line on what goes on, and the place to write."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from adapters.text import clean
from widgets.chat_entries import Note, Said, ToolCall, Words
from widgets.chat_input import ChatInput
from widgets.chat_title import ChatFacts, ChatTitle
from widgets.chat_view import ChatView
from widgets.columns import Role
from widgets.node_facts import COLOURS

PAUSE = 0.1  # seconds between two paintings of a text that streams, at least
SECOND = 0.5  # seconds between two looks at a countdown
HINT = "Ask, or tell what to do. / for commands."
Complete = Callable[[str], Sequence[str]]


class ChatPanel(Vertical):
    """Is told what happens, one method a fact; says what the person entered.

    Args:
        complete: for the beginning of a command, what it can become.
    """

    DEFAULT_CSS = """
    ChatPanel { height: 1fr; }
    ChatPanel > ChatView { height: 1fr; }
    ChatPanel > #chat-state { height: 1; padding: 0 1; }
    """

    class Entered(Message):
        """The person said something."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, complete: Complete = lambda text: ()) -> None:
        super().__init__(id="chat")
        self._complete = complete
        self.title = ChatTitle()
        self.view = ChatView()
        self.input = ChatInput(HINT)
        self._state = Static("", id="chat-state")
        self._words: Words | None = None
        self._calls: dict[str, ToolCall] = {}
        self._pieces: list[str] = []
        self._flushing: Timer | None = None
        self._flushed = 0.0
        self._counting: Timer | None = None
        self.paintings = 0

    def compose(self) -> ComposeResult:
        yield self.title
        yield self.view
        yield self._state
        yield self.input

    def show(self, facts: ChatFacts) -> None:
        """What stands at the head."""
        self.title.show(facts)

    # -- what happens -----------------------------------------------------------------------------------------------

    def said(self, text: str) -> None:
        """The person said it."""
        self._end_words()
        self.view.following = True
        self.view.add(Said(text))
        self.state("working …", "info")

    def piece(self, text: str) -> None:
        """A piece of the planner's text; painted with others that come within a tenth of a second."""
        self._pieces.append(text)
        if self._flushing is None:
            wait = max(0.001, PAUSE - (time.monotonic() - self._flushed))
            self._flushing = self.set_timer(wait, self._flush)

    def reply(self, text: str) -> None:
        """The whole text of a message; takes the place of its pieces."""
        self._drop_pieces()
        words = self._words or Words()
        words.finish(text)
        if self._words is None:
            self.view.add(words)
        else:
            self.view.changed(words)
        self._words = None

    def called(self, id: str, tool: str, arguments: Mapping[str, Any]) -> None:
        """A call of a tool begins."""
        self._end_words()
        self.state("working …", "info")
        call = ToolCall(id, tool, arguments_shown(arguments))
        self._calls[id] = call
        self.view.add(call)

    def answered(self, id: str, ok: bool, summary: str, detail: str = "") -> None:
        """A call has its result."""
        self.state("working …", "info")
        if (call := self._calls.pop(id, None)) is not None:
            call.answer("ok" if ok else "failed", summary, detail)
            self.view.changed(call)

    def note(self, text: str, role: Role = "dim") -> None:
        """Pilothouse itself has something to say."""
        self._end_words()
        self.view.add(Note(text, role))

    def count_down(self, why: str, seconds: float, attempt: int) -> None:
        """The endpoint is asked again after that time."""
        end = time.monotonic() + seconds
        self._end_words()
        ended = why if why.endswith((".", "!", "?", "。")) else f"{why}."  # an endpoint's own words often have no end
        self.view.add(Note(f"{ended} Asked again in {seconds:.0f} s (attempt {attempt}).", "warn"))

        def tell() -> None:
            left = max(0, math.ceil(end - time.monotonic()))
            self._say_state(f"asked again in {left} s (attempt {attempt}); Esc stops", "warn")

        self.state("", "warn")
        tell()
        self._counting = self.set_interval(SECOND, tell)

    def ended(self, how: str) -> None:
        """The turn is over."""
        self._end_words()
        for call in self._calls.values():
            call.answer("stopped", "stopped before it had a result")
            self.view.changed(call)
        self._calls.clear()
        self.state("", "plain")
        if how == "stopped":
            self.note("Stopped. What it proposed and nobody has answered is taken back.", "warn")
        elif how == "limit":
            self.note("Cut here: the turn was longer than one turn may be.", "warn")

    # -- the line on what goes on -----------------------------------------------------------------------------------

    def state(self, text: str, role: Role = "info") -> None:
        """What goes on right now; ends a countdown."""
        if self._counting is not None:
            self._counting.stop()
            self._counting = None
        self._say_state(text, role)

    def _say_state(self, text: str, role: Role) -> None:
        self._state.update(Content.styled(clean(text, 400), COLOURS[role]), layout=False)

    # -- text that streams ------------------------------------------------------------------------------------------

    def _flush(self) -> None:
        self._flushing = None
        if not self._pieces:
            return
        if self._counting is not None:
            self.state("working …", "info")
        text = "".join(self._pieces)
        self._pieces.clear()
        self._flushed = time.monotonic()
        self.paintings += 1
        if self._words is None:
            self._words = Words()
            self._words.add(text)
            self.view.add(self._words)
        else:
            self._words.add(text)
            self.view.changed(self._words, streams=True)

    def _drop_pieces(self) -> None:
        self._pieces.clear()
        if self._flushing is not None:
            self._flushing.stop()
            self._flushing = None

    def _end_words(self) -> None:
        """What follows is another message; a text that never became whole stays as plain text."""
        self._flush()
        self._drop_pieces()
        if self._words is not None:
            self._words.cut_off()
            self.view.changed(self._words)
            self._words = None

    # -- what is written --------------------------------------------------------------------------------------------

    def on_chat_input_entered(self, message: ChatInput.Entered) -> None:
        message.stop()
        self.post_message(self.Entered(message.text))

    def on_chat_input_cut(self, message: ChatInput.Cut) -> None:
        message.stop()
        self.state(f"{message.characters} pasted characters left out", "warn")

    def on_chat_input_paged(self, message: ChatInput.Paged) -> None:
        message.stop()
        self.view.move(message.by * self.view.page)

    def on_chat_input_completing(self, message: ChatInput.Completing) -> None:
        """Fill in what all completions have in common; several are listed."""
        message.stop()
        found = list(self._complete(message.text))
        if not found:
            return
        common = in_common(found)
        if len(common) > len(message.text):
            self.input.put(common)
        if len(found) > 1:
            self.state("  ".join(clean(text, 60) for text in found[:20]), "dim")


def in_common(texts: Sequence[str]) -> str:
    """What all of them begin with."""
    first, last = min(texts), max(texts)
    return first[: next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]


def arguments_shown(arguments: Mapping[str, Any]) -> str:
    """``id=12 filter={status: failed}``: arguments in one line, in their own order."""
    return " ".join(f"{clean(str(name), 40)}={_value(value)}" for name, value in arguments.items())


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{clean(str(k), 40)}: {_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        shown = [_value(part) for part in value[:10]]
        return "[" + ", ".join(shown) + (f", … {len(value)} in all]" if len(value) > 10 else "]")
    return clean(str(value), 120)
