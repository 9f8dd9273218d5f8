"""What the store hands out: states of sources, changes since a cursor looked, rows that are gone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from adapters.base import AdapterError
from adapters.model import Ref, Row

Label: TypeAlias = Literal["never loaded", "connecting", "live", "polling", "stale", "failed"]


@dataclass(frozen=True, slots=True)
class KindState:
    """How one kind of one cluster fares.

    Args:
        label: ``never loaded`` until the watch says anything.
        loaded: a snapshot has been read to its end at least once.
        at: when the data was last known to be right, by the store's clock; its age is ``store.now() - at``.
        interval: seconds between polls where the label is ``polling``.
        error: why, where the label is ``stale`` or ``failed``.
        note: one short sentence for the pane.
        retry_at: when the next attempt is due.
        calls_per_minute: what reading costs the scheduler, where the source counts it.
    """

    label: Label = "never loaded"
    loaded: bool = False
    at: datetime | None = None
    interval: float | None = None
    error: AdapterError | None = None
    note: str = ""
    retry_at: datetime | None = None
    calls_per_minute: float | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """What happened to the rows of a kind since the cursor was last taken.

    Args:
        changed: rows that are new, different or differently marked; those that are gone are not among them.
        membership: rows came or went.
        before: for each row that is different or gone, the row as it was when the cursor was last taken.
        added: rows that came. gone: rows that went.
    """

    changed: set[Ref] = field(default_factory=set)
    membership: bool = False
    before: Mapping[Ref, Row] = field(default_factory=dict)
    added: set[Ref] = field(default_factory=set)
    gone: set[Ref] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.changed or self.membership)


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A row that is gone, as it last was, and when that was noticed."""

    row: Row
    at: datetime
