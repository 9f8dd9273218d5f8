"""Where the person writes to the chat: several lines, a history, completion of commands, bounded pastes."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

from adapters.text import clean_lines

LONGEST = 20_000  # characters
MOST_LINES = 400
MOST_KEPT = 200  # inputs that the history holds


class ChatInput(TextArea):
    """Enter sends, Ctrl+J begins a new line, Up and Down at the edge go through what was said before."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "send", "Send", show=False),
        Binding("ctrl+j,shift+enter", "new_line", "New line", show=False),
        Binding("up", "earlier", "Earlier", show=False),
        Binding("down", "later", "Later", show=False),
        Binding("tab", "complete", "Complete", show=False),
        Binding("pageup", "scroll_transcript(-1)", show=False),
        Binding("pagedown", "scroll_transcript(1)", show=False),
    ]
    DEFAULT_CSS = """
    ChatInput { height: auto; min-height: 1; max-height: 6; border: none; padding: 0 1; scrollbar-size-vertical: 1; }
    ChatInput:focus { border: none; }
    """

    class Entered(Message):
        """Enter was pressed on a text that is not empty."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Completing(Message):
        """Tab was pressed behind this text."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Cut(Message):
        """What was pasted was longer than what is taken; `characters` were left out."""

        def __init__(self, characters: int) -> None:
            super().__init__()
            self.characters = characters

    class Paged(Message):
        """The transcript is to be scrolled by so many pages."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    def __init__(self, placeholder: str = "") -> None:
        super().__init__(
            compact=True, soft_wrap=True, show_line_numbers=False, highlight_cursor_line=False, tab_behavior="focus",
            id="chat-input", placeholder=placeholder,
        )  # fmt: skip
        self.cursor_blink = False  # it would write for ever
        self._kept: list[str] = []
        self._at: int | None = None  # place in the history, or None for what is being written
        self._draft = ""

    # -- sending ----------------------------------------------------------------------------------------------------

    async def _on_key(self, event: events.Key) -> None:
        """Enter belongs to its binding and is no character here; a full input takes none. The rest is the base's."""
        if event.key == "enter":
            event.prevent_default()
        elif event.is_printable and len(self.text) >= LONGEST:
            event.prevent_default()
            event.stop()

    async def _on_paste(self, event: events.Paste) -> None:
        """Take what there is room for: the length is looked at before anything else is done with the text."""
        event.stop()
        event.prevent_default()
        room = max(0, LONGEST - len(self.text))
        lines = clean_lines(event.text[:room].replace("\r\n", "\n").replace("\r", "\n"))
        fitting = lines[: max(1, MOST_LINES - self.document.line_count + 1)]
        kept = "\n".join(fitting)[:room]
        if len(event.text) > room or len(fitting) < len(lines):
            self.post_message(self.Cut(max(1, len(event.text) - len(kept))))
        self._replace_via_keyboard(kept, *self.selection)

    def action_send(self) -> None:
        text = "\n".join(clean_lines(self.text)).strip()
        if text:
            if not self._kept or self._kept[-1] != text:
                self._kept.append(text)
                del self._kept[:-MOST_KEPT]
            self._at = None
            self.put("")
            self.post_message(self.Entered(text))

    def action_new_line(self) -> None:
        if self.document.line_count < MOST_LINES:
            self._replace_via_keyboard("\n", *self.selection)

    # -- history ----------------------------------------------------------------------------------------------------

    def put(self, text: str) -> None:
        """Hold this text, the cursor at its end."""
        self.load_text(text)
        self.move_cursor(self.document.end)

    def action_earlier(self) -> None:
        if not self.cursor_at_first_line or not self._kept or self._at == 0:
            self.action_cursor_up()
            return
        if self._at is None:
            self._draft, self._at = self.text, len(self._kept)
        self._at -= 1
        self.put(self._kept[self._at])
        self.move_cursor((0, 0))

    def action_later(self) -> None:
        if not self.cursor_at_last_line or self._at is None:
            self.action_cursor_down()
            return
        self._at += 1
        if self._at < len(self._kept):
            self.put(self._kept[self._at])
        else:
            self._at = None
            self.put(self._draft)

    # -- what the panel does ----------------------------------------------------------------------------------------

    def action_complete(self) -> None:
        self.post_message(self.Completing(self.text))

    def action_scroll_transcript(self, by: int) -> None:
        self.post_message(self.Paged(by))
