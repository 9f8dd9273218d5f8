"""Job ids as Slurm shows them: ``31``, an array's element ``29_3``, its folded rest ``29_[3-49%3]``, a component of a
heterogeneous job ``26+1``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from adapters.base import Invalid

_ID = re.compile(
    r"(?P<base>\d{1,10})(?:_(?P<index>\d{1,9})|_\[(?P<range>[\d,:\-.]+)(?:%\d+)?\]|\+(?P<offset>\d{1,4}))?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class JobId:
    """The parts of an id. `range` is what a folded row still holds; Slurm shortens a long one with ``...``."""

    base: str
    index: int | None = None
    range: str | None = None
    offset: int | None = None

    @property
    def query(self) -> str:
        """What `squeue -j` understands on every version: the array for a folded row."""
        if self.index is not None:
            return f"{self.base}_{self.index}"
        return self.base if self.offset is None else f"{self.base}+{self.offset}"

    @property
    def target(self) -> str:
        """What `scancel` and `scontrol` are given: exactly the elements that a folded row shows, where Slurm has told
        all of them, else the array."""
        if self.range is not None and "." not in self.range:
            return f"{self.base}_[{self.range}]"
        return self.query

    @property
    def widened(self) -> bool:
        """The target is the whole array although the row shows a part of it."""
        return self.range is not None and "." in self.range


def parse_id(text: str) -> JobId:
    """Raises Invalid for what is no job id: it must never reach a command line."""
    found = _ID.fullmatch(text)
    if found is None:
        raise Invalid(f"{text!r} is not a job id of Slurm.", "Type a number, 29_3 for an array's element, or 26+1.")
    index, offset = found["index"], found["offset"]
    return JobId(
        found["base"], int(index) if index else None, found["range"], int(offset) if offset is not None else None
    )


def matches(asked: JobId, shown: str) -> bool:
    """Whether the row `shown` is what `asked` means now: a folded row stays itself when elements of it have started,
    and a bare array id means the folded row."""
    if not _ID.fullmatch(shown):
        return False
    row = parse_id(shown)
    if asked.range is not None or (asked.index is None and asked.offset is None):
        return row.base == asked.base and row.index is None and row.offset in (None, 0)
    return (row.base, row.index, row.offset) == (asked.base, asked.index, asked.offset)
