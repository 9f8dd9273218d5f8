"""Marks: rows that the next write is aimed at. They are names, so they stay on their rows whatever the order does."""

from __future__ import annotations

from collections.abc import Iterable

from adapters.model import Ref
from console.screens.board import Board
from widgets.columns import Role


class MarkKeys:
    """For the main screen: marks of the pane that has the focus."""

    @property
    def board(self) -> Board:
        raise NotImplementedError

    def say(self, text: str, role: Role = "plain") -> None:
        raise NotImplementedError

    @property
    def targets(self) -> tuple[Ref, ...]:
        """The marked rows, in the order they are shown in and then those that a filter hides; else the cursor's row."""
        table = self.board.pane.table
        if not table.marks:
            return (table.cursor,) if table.cursor else ()
        shown = [ref for ref in table.order if ref in table.marks]
        hidden = sorted(table.marks.difference(shown))
        return (*shown, *hidden)

    def set_marks(self, marks: Iterable[Ref]) -> None:
        self.board.set_marks(marks)

    def _mark(self, step: int) -> None:
        table = self.board.pane.table
        if table.cursor is not None:
            self.set_marks(table.marks | {table.cursor})
            table.move(step)

    def do_mark_toggle(self) -> None:
        table = self.board.pane.table
        if table.cursor is not None:
            self.set_marks(table.marks ^ {table.cursor})
            table.move(1)

    def do_mark_down(self) -> None:
        self._mark(1)

    def do_mark_up(self) -> None:
        self._mark(-1)

    def do_mark_range(self) -> None:
        """Mark every row between the nearest mark above, or else below, and the cursor's row, both included."""
        table = self.board.pane.table
        if table.cursor is None:
            return
        here = table.order.index(table.cursor)
        marked = [n for n, ref in enumerate(table.order) if ref in table.marks and n != here]
        above = max((n for n in marked if n < here), default=None)
        start = above if above is not None else min((n for n in marked if n > here), default=here)
        self.set_marks(table.marks | set(table.order[min(start, here) : max(start, here) + 1]))

    def do_mark_all(self) -> None:
        """Mark what is shown; where all of it is marked, take every mark off."""
        table = self.board.pane.table
        shown = set(table.order)
        self.set_marks(() if shown <= table.marks else table.marks | shown)

    def clear_marks(self) -> bool:
        """Take all marks off; False where there were none."""
        if not self.board.pane.table.marks:
            return False
        self.set_marks(())
        return True
