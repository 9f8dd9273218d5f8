"""The transcript: messages as rows, drawn on screen only, following its end until one scrolls up; bounded."""

from __future__ import annotations

from bisect import bisect_right
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.content import Content
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from widgets.chat_entries import Entry, Note, ToolCall

MOST_ENTRIES = 400
MOST_ROWS = 6000
STEP = 32  # rows by which the room for a text that streams grows: a new height lays out the whole screen again
MOST_STRIPS = 512  # rows that are kept as they were drawn
DROPPED = "Earlier messages are no longer shown here."


class ChatView(ScrollView, can_focus=True):
    """Shows entries; lays out again only what has changed."""

    DEFAULT_CSS = "ChatView { overflow-x: hidden; scrollbar-size-vertical: 1; }"
    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = set()

    def __init__(self) -> None:
        super().__init__(id="chat-view")
        self.entries: list[Entry] = []
        self.following = True
        self._starts: list[int] = []  # the first row of each entry
        self._rows: list[Content] = []
        self._width = 0
        self._drawn: dict[int, tuple[Content, Strip]] = {}

    # -- what is shown ----------------------------------------------------------------------------------------------

    def add(self, entry: Entry) -> None:
        """A message more, at the end."""
        self.entries.append(entry)
        self._lay(len(self.entries) - 1)
        if len(self.entries) > MOST_ENTRIES or len(self._rows) > MOST_ROWS:
            self._drop()
        self._show(self._starts[-1] if self._starts else 0)

    def changed(self, entry: Entry, *, streams: bool = False) -> None:
        """A message has become another one in place; `streams`: it soon will again."""
        index = next((n for n in reversed(range(len(self.entries))) if self.entries[n] is entry), None)
        if index is not None:
            self._lay(index)
            self._show(self._starts[index], streams=streams)

    def clear(self) -> None:
        self.entries.clear()
        self._lay(0)
        self._show(0)

    @property
    def text(self) -> str:
        """Every row, for tests and for what is copied."""
        return "\n".join(row.plain for row in self._rows)

    def toggle_calls(self) -> bool:
        """Unfold the results on screen, or fold them if all are unfolded; whether there is any to unfold."""
        calls = [entry for entry in self._on_screen() if isinstance(entry, ToolCall)]
        if not calls:  # none on screen: the last one is meant
            calls = [entry for entry in self.entries if isinstance(entry, ToolCall)][-1:]
        unfold = not all(call.unfolded for call in calls)
        for call in calls:
            call.unfolded = unfold
        if calls:
            following = self.following
            self.changed(calls[0])
            if following and unfold:
                self._to_entry(calls[0])
        return bool(calls)

    def _on_screen(self) -> list[Entry]:
        top = self.scroll_offset.y
        first = max(0, bisect_right(self._starts, top) - 1)
        last = bisect_right(self._starts, top + max(1, self.size.height) - 1)
        return self.entries[first:last]

    def _to_entry(self, entry: Entry) -> None:
        """Scroll so that an entry's first row is on screen."""
        start = self._starts[self.entries.index(entry)]
        if start < self.scroll_offset.y:
            self.following = False
            self.scroll_to(y=start, animate=False, force=True)

    def _drop(self) -> None:
        """Forget the oldest messages, a part at a time, so that this is rare."""
        keep = self.entries[-MOST_ENTRIES * 3 // 4 :]
        while len(keep) > 1 and sum(self._height(entry) for entry in keep) > MOST_ROWS * 3 // 4:
            del keep[0]
        self.entries = [Note(DROPPED), *keep]
        self._lay(0)

    def _height(self, entry: Entry) -> int:
        return sum(len(block.rows(self._room)) for block in entry.blocks()) + (not entry.joined)

    # -- layout -----------------------------------------------------------------------------------------------------

    @property
    def _room(self) -> int:
        return max(8, (self._width or 80) - 2)

    def _lay(self, first: int) -> None:
        """Lay out the entries from `first` on."""
        start = self._starts[first] if first < len(self._starts) else len(self._rows)
        del self._rows[start:], self._starts[first:]
        for index in range(first, len(self.entries)):
            entry = self.entries[index]
            self._starts.append(len(self._rows))
            if self._rows and not self._joins(index):
                self._rows.append(Content(""))
            for block in entry.blocks():
                self._rows.extend(block.rows(self._room))

    def _joins(self, index: int) -> bool:
        """Calls follow each other, and notes that belong to them, without a blank row."""
        before = self.entries[index - 1]
        return self.entries[index].joined and (before.joined or isinstance(before, Note))

    @property
    def _end(self) -> int:
        """Where one has to be scrolled to for the last row to stand at the bottom."""
        return max(0, len(self._rows) - self.size.height)

    def _show(self, first: int, *, streams: bool = False) -> None:
        """Paint from row `first` on."""
        height = len(self._rows)
        if streams:
            height = max(self.virtual_size.height, height if height % STEP == 0 else height - height % STEP + STEP)
        self.virtual_size = Size(0, height)
        if self.following:
            self.scroll_to(y=self._end, animate=False, force=True)
        top = max(0, first - self.scroll_offset.y)
        if top < self.size.height:
            self.refresh(Region(0, top, self.size.width, self.size.height - top))

    def on_resize(self, event: events.Resize) -> None:
        if event.size.width != self._width:
            self._width = event.size.width
            self._drawn.clear()
            self._lay(0)
        self._show(0)

    def watch_show_vertical_scrollbar(self, shown: bool) -> None:
        """One that has just appeared has not been told where we are."""
        if shown:
            self.vertical_scrollbar.position = self.scroll_y

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._drawn.clear()
        self.refresh()

    # -- movement ---------------------------------------------------------------------------------------------------

    @property
    def page(self) -> int:
        return max(1, self.size.height - 1)

    def move(self, by: int) -> None:
        """Scroll; moving up stops following, reaching the end resumes it."""
        self.scroll_to(y=min(self.scroll_offset.y + by, self._end), animate=False, force=True)
        self.following = by > 0 and self.scroll_offset.y >= self._end

    def on_mouse_scroll_up(self) -> None:
        self.following = False

    def on_mouse_scroll_down(self) -> None:
        self.call_after_refresh(self._follow_at_end)

    def _follow_at_end(self) -> None:
        self.following = self.scroll_offset.y >= self._end

    def on_click(self, event: events.Click) -> None:
        """A click on a call unfolds its result."""
        row = self.scroll_offset.y + event.y
        index = bisect_right(self._starts, row) - 1
        if 0 <= index < len(self.entries) and isinstance(entry := self.entries[index], ToolCall):
            entry.unfolded = not entry.unfolded
            self.changed(entry)

    # -- drawing ----------------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        row, width = self.scroll_offset.y + y, self.size.width
        if row >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        content = self._rows[row]
        known = self._drawn.get(id(content))
        if known is not None and known[0] is content and known[1].cell_length == width:
            return known[1]
        if len(self._drawn) >= MOST_STRIPS:
            self._drawn.clear()
        strip = self._draw(content, width)
        self._drawn[id(content)] = (content, strip)
        return strip

    def _draw(self, content: Content, width: int) -> Strip:
        base, plain = self.visual_style, self.rich_style
        rendered = content.render(base, end="", parse_style=self._get_style)
        segments = [Segment(text, (base + style).rich_style) for text, style in rendered]
        return Strip([Segment(" ", plain), *segments]).adjust_cell_length(width, plain)
