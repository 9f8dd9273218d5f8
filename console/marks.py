"""Writes in flight, as words on a row: ``cancel sent``. Never the wished-for state itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from adapters.model import Ref, Row

Until: TypeAlias = Callable[[Row | None], bool]


class Marks:
    """One mark a row, by the row's id: the write may have been aimed at it before `born` was known."""

    def __init__(self) -> None:
        self._marks: dict[tuple[str, str, str], tuple[Ref, str, Until | None]] = {}

    def set(self, ref: Ref, text: str, until: Until | None) -> None:
        self._marks[ref[:3]] = (ref, text, until)

    def get(self, ref: Ref) -> str | None:
        found = self._marks.get(ref[:3]) if self._marks else None
        return found[1] if found else None

    def drop(self, ref: Ref) -> bool:
        return bool(self._marks) and self._marks.pop(ref[:3], None) is not None

    def settle(self, ref: Ref, row: Row) -> None:
        """The row is new or different: a mark that waits for what it now says goes."""
        if not self._marks:
            return
        found = self._marks.get(ref[:3])
        if found is not None and found[2] is not None and found[2](row):
            del self._marks[ref[:3]]

    def all(self) -> dict[Ref, str]:
        return {ref: text for ref, text, _ in self._marks.values()}
