"""The status line: how each cluster's feed stands, what is on its way, the last outcome, and the time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from widgets.columns import Role
from widgets.format import fit


@dataclass(frozen=True, slots=True)
class Status:
    """What the status line says.

    Args:
        feeds: one text and role for each cluster, such as (``demo live``, ``ok``).
        outcome: what came of the last write, with its role.
        sending: writes in flight.
        calls: scheduler calls a minute, where the source counts them.
        read_only: no write will be sent.
        slow: the link is slow, so the screen is painted less often.
        clock: hours and minutes, in the person's time zone.
        waiting: how many proposals wait for an answer, and the key that shows them.
    """

    feeds: tuple[tuple[str, Role], ...] = ()
    outcome: tuple[str, Role] = ("", "plain")
    sending: int = 0
    calls: float | None = None
    read_only: bool = False
    slow: bool = False
    clock: str = ""
    waiting: str = ""


class StatusBar(Widget):
    """One line; repaints itself only when what it says has changed."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "status-bar--ok", "status-bar--warn", "status-bar--bad", "status-bar--info", "status-bar--dim",
        "status-bar--badge",
    }  # fmt: skip
    DEFAULT_CSS = "StatusBar { height: 1; }"

    def __init__(self) -> None:
        super().__init__()
        self._status = Status()

    def show(self, status: Status) -> None:
        if status != self._status:
            self._status = status
            self.refresh(Region(0, 0, self.size.width, 1))

    @property
    def text(self) -> str:
        """What it says, for tests."""
        return self.render_line(0).text

    def _right(self) -> list[tuple[str, str]]:
        status = self._status
        parts: list[tuple[str, str]] = []
        if status.waiting:
            parts.append((f" {status.waiting} ", "badge"))
        if status.slow:
            parts.append(("slow link", "warn"))
        if status.sending:
            parts.append((f"{status.sending} sending", "info"))
        if status.calls is not None:
            parts.append((f"{status.calls:.0f} calls/min", "dim"))
        if status.read_only:
            parts.append((" READ ONLY ", "badge"))
        parts.append((status.clock, "dim"))
        return parts

    def render_line(self, y: int) -> Strip:
        width, base = self.size.width, self.rich_style
        right = _spaced(self._right())
        room = width - sum(cell_len(text) for text, _ in right) - 3
        left = _spaced([*self._status.feeds, *([self._status.outcome] if self._status.outcome[0] else [])])
        segments = [Segment(" ", base)]
        for text, role in left:
            shown = fit(text, min(room, cell_len(text)))
            room -= cell_len(shown)
            segments.append(Segment(shown, self._style(role)))
        segments.append(Segment(" " * (room + 1), base))
        segments.extend(Segment(text, self._style(role)) for text, role in right)
        return Strip([s for s in segments if s.text]).adjust_cell_length(width, base)

    def _style(self, role: str) -> Style:
        return self.rich_style if role in ("plain", "strong") else self.get_component_rich_style(f"status-bar--{role}")


def _spaced(parts: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The parts with two cells between them."""
    spaced: list[tuple[str, str]] = []
    for part in parts:
        if spaced:
            spaced.append(("  ", "plain"))
        spaced.append(part)
    return spaced
