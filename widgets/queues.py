"""The queues pane: its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adapters.model import Queue
from widgets.columns import Column, Moment, Role, chosen, tagged
from widgets.format import duration, number
from widgets.pane import Pane
from widgets.table import RowOf

QUEUE_LETTERS: Mapping[str, str] = {"active": "A", "inactive": "I", "draining": "D", "unknown": "?"}
QUEUE_ROLES: Mapping[str, Role] = {"active": "ok", "inactive": "bad", "draining": "warn", "unknown": "info"}


def queue_role(queue: Queue) -> Role:
    return QUEUE_ROLES.get(queue.status, "info")


def queue_state(queue: Queue, moment: Moment) -> str:
    return moment.mark(queue.ref) or queue.status


def queue_limit(queue: Queue, moment: Moment) -> str:
    return duration(queue.max_walltime_seconds)


QUEUE_COLUMNS: tuple[Column, ...] = (
    Column("letter", "S", 1, 0, lambda queue, _: QUEUE_LETTERS.get(queue.status, "?"), queue_role),
    Column("status", "STATE", 8, 4, queue_state, queue_role),
    Column("running_jobs", "RUN", 5, 1, lambda queue, _: number(queue.running_jobs), right=True),
    Column("pending_jobs", "PEND", 5, 1, lambda queue, _: number(queue.pending_jobs), right=True),
    Column("name", "NAME", 10, 0, lambda queue, _: queue.name, lambda queue: "strong", grow=2, limit=30),
    Column("node_count", "NODES", 5, 2, lambda queue, _: number(queue.node_count), right=True),
    Column("max_walltime_seconds", "LIMIT", 7, 3, queue_limit, right=True),
)


class QueuesPane(Pane):
    """Queues of every cluster shown."""

    def __init__(self, row_of: RowOf, *, several: bool = False, columns: Sequence[str] = ()) -> None:
        every = tagged(QUEUE_COLUMNS) if several else QUEUE_COLUMNS
        super().__init__("queue", 2, "queues", chosen(every, columns), row_of, every)
