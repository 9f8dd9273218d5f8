"""What a transcript is made of, before it has a width: paragraphs and tables, each laid out into rows on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rich.cells import cell_len
from textual.content import Content

NARROWEST = 4  # cells a column of a table keeps


class Block(Protocol):
    """A piece of a message."""

    def rows(self, width: int) -> list[Content]:
        """The rows it takes at that width, in cells; at least one."""
        ...


@dataclass(slots=True)
class Paragraph:
    """A text that wraps. `mark` stands before its first row, as many blanks before the others."""

    content: Content
    mark: Content = field(default_factory=lambda: Content(""))
    _laid: tuple[int, list[Content]] | None = None

    def rows(self, width: int) -> list[Content]:
        if self._laid is None or self._laid[0] != width:
            self._laid = (width, self._lay(width))
        return self._laid[1]

    def _lay(self, width: int) -> list[Content]:
        indent = self.mark.cell_length
        wrapped = self.content.wrap(max(2, width - indent)) or [Content("")]
        blank = Content(" " * indent)
        return [(blank if number else self.mark) + row for number, row in enumerate(wrapped)]


@dataclass(slots=True)
class Table:
    """Rows of cells under a head; columns that do not fit are cut, the widest first. `right` aligns figures."""

    head: Sequence[Content]
    body: Sequence[Sequence[Content]]
    right: Sequence[bool] = ()
    mark: Content = field(default_factory=lambda: Content(""))
    _laid: tuple[int, list[Content]] | None = None

    def rows(self, width: int) -> list[Content]:
        if self._laid is None or self._laid[0] != width:
            self._laid = (width, self._lay(width))
        return self._laid[1]

    def _lay(self, width: int) -> list[Content]:
        count = max([len(self.head), *(len(row) for row in self.body)], default=0)
        if not count:
            return [self.mark]
        lines = [self._filled(row, count) for row in (self.head, *self.body)]
        widths = [max(line[n].cell_length for line in lines) for n in range(count)]
        widths = fitted(widths, width - self.mark.cell_length - 2 * (count - 1))
        made = [self._line(line, widths) for line in lines]
        made[0] = made[0].stylize("bold")
        rule = Content.styled("  ".join("-" * w for w in widths), "dim")
        blank = Content(" " * self.mark.cell_length)
        return [self.mark + made[0], blank + rule, *(blank + line for line in made[1:])]

    @staticmethod
    def _filled(row: Sequence[Content], count: int) -> list[Content]:
        return [*row, *[Content("")] * (count - len(row))]

    def _line(self, cells: Sequence[Content], widths: Sequence[int]) -> Content:
        made = []
        for number, (cell, width) in enumerate(zip(cells, widths, strict=True)):
            cut = cell.truncate(width, ellipsis=True)
            pad = width - cut.cell_length
            right = number < len(self.right) and self.right[number]
            made.append(cut.pad_left(pad) if right else cut.pad_right(pad))
        return Content("  ").join(made)


def fitted(widths: Sequence[int], room: int) -> list[int]:
    """The widths made to fit into `room` together: the widest give first, none goes below a few cells."""
    made = list(widths)
    while sum(made) > room:
        widest = max(range(len(made)), key=lambda n: made[n])
        if made[widest] <= NARROWEST:
            break
        second = max((w for n, w in enumerate(made) if n != widest), default=0)
        made[widest] = max(NARROWEST, min(made[widest] - 1, max(second, made[widest] - (sum(made) - room))))
    return made


def plain(lines: Sequence[str], mark: str = "", style: str = "", mark_style: str = "") -> list[Block]:
    """Each line a paragraph, `mark` before the first and blanks before the rest. The lines are clean already."""
    first, rest = Content.styled(mark, mark_style), Content(" " * cell_len(mark))
    return [Paragraph(Content.styled(line, style), rest if number else first) for number, line in enumerate(lines)]
