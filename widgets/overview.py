"""The top of a large screen: each cluster in a line of totals, with the last hour of its running jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from widgets.columns import Role
from widgets.format import UNKNOWN, fit


@dataclass(frozen=True, slots=True)
class ClusterLine:
    """One cluster: counts by words with their roles (None: not known), shares (name, used, total), its last hour."""

    name: str
    hour: str
    counts: tuple[tuple[str, int | None, Role], ...]
    shares: tuple[tuple[str, int | None, int | None], ...]


BAR = 8


def bar(used: int | None, total: int | None) -> str:
    """A share as a bar of eight cells; empty where it is not known."""
    if used is None or not total:
        return ""
    filled = min(BAR, round(BAR * used / total))
    return "█" * filled + "░" * (BAR - filled)


class OverviewBar(Widget):
    """One line a cluster, at most three; repaints only when something it says has changed."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "overview--name", "overview--hour", "overview--dim", "overview--ok", "overview--warn", "overview--bad",
        "overview--info",
    }  # fmt: skip
    DEFAULT_CSS = "OverviewBar { height: auto; max-height: 3; }"

    def __init__(self) -> None:
        super().__init__(id="overview")
        self._lines: tuple[ClusterLine, ...] = ()

    def show(self, lines: Sequence[ClusterLine]) -> None:
        shown = tuple(lines[:3])
        if shown != self._lines:
            resized = len(shown) != len(self._lines)
            self._lines = shown
            self.refresh(layout=resized)

    @property
    def text(self) -> str:
        """What it says, for tests."""
        return "\n".join(self.render_line(y).text for y in range(len(self._lines)))

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return max(1, len(self._lines))

    def _style(self, part: str) -> Style:
        return self.rich_style if part in ("plain", "strong") else self.get_component_rich_style(f"overview--{part}")

    def render_line(self, y: int) -> Strip:
        width, base = self.size.width, self.rich_style
        if y >= len(self._lines):
            return Strip.blank(width, base)
        line = self._lines[y]
        parts: list[tuple[str, str]] = [(f" {fit(line.name, min(16, len(line.name)))}  ", "name")]
        for word, count, role in line.counts:
            parts += [(UNKNOWN if count is None else f"{count}", role if count else "dim"), (f" {word}  ", "dim")]
        for name, used, total in line.shares:
            figures = f"{UNKNOWN if used is None else used}/{UNKNOWN if total is None else total}"
            parts += [(f"{name} ", "dim"), (bar(used, total), "hour"), (f" {figures}  ", "plain")]
        parts.append(("running 1h ", "dim"))
        room = max(0, width - sum(len(text) for text, _ in parts) - 1)
        parts.append((line.hour[-room:] if room else "", "hour"))
        segments = [Segment(text, self._style(part)) for text, part in parts if text]
        return Strip(segments).adjust_cell_length(width, base)
