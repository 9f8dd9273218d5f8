"""The help: every key that works, from the same table that binds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static


@dataclass(frozen=True, slots=True)
class HelpLine:
    """One command: its keys, what it does, and whether it writes."""

    keys: str
    help: str
    writes: bool = False


@dataclass(frozen=True, slots=True)
class HelpSection:
    title: str
    lines: tuple[HelpLine, ...]


class HelpPanel(VerticalScroll):
    """Sections of keys; scrolls. Commands that write say so, for a screen without colour too."""

    DEFAULT_CSS = "HelpPanel { scrollbar-size-vertical: 1; }"

    def __init__(self, sections: Sequence[HelpSection], legend: Sequence[str] = ()) -> None:
        super().__init__(id="help-panel", can_focus=True)
        self._sections = tuple(sections)
        self._legend = tuple(legend)

    def compose(self) -> ComposeResult:
        yield Static(self._content(), id="help-text")

    def _content(self) -> Content:
        lines: list[Content] = []
        width = max((cell_len(line.keys) for s in self._sections for line in s.lines), default=0)
        for section in self._sections:
            lines += [Content.styled(section.title, "bold $accent")]
            for line in section.lines:
                keys = line.keys + " " * (width - cell_len(line.keys))
                mark = ("w ", "bold $warning") if line.writes else ("  ", "")
                lines.append(Content.assemble(mark, (keys, "bold"), "  ", line.help))
            lines.append(Content(""))
        lines += [Content.styled(text, "dim") for text in self._legend]
        return Content("\n").join(lines)
