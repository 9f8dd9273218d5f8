"""What a watch holds of a native cluster: rows by name, how an event changes them, and their totals."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from adapters.base import ProtocolError
from adapters.events import Event
from adapters.model import Delta, Job, Kind, Metrics, Node, Queue, Ref, Row
from adapters.native import rows, wire
from adapters.native.answers import RawRow, row_of
from adapters.text import clean

KIND_OF_EVENT: Mapping[str, Kind] = {"job": "job", "queue": "queue", "host": "node"}
EVENT_OF_KIND: Mapping[Kind, str] = {kind: event for event, kind in KIND_OF_EVENT.items()}
FIELDS: Mapping[Kind, frozenset[str]] = {
    "job": wire.JOB_FIELDS,
    "queue": wire.QUEUE_FIELDS,
    "node": wire.HOST_FIELDS | wire.NODE_FIELDS,
}


@dataclass(frozen=True, slots=True)
class Change:
    """One event, understood: the row as it is now, or None where it is gone."""

    kind: Kind
    id: str
    row: Row | None


class Mirror:
    """The rows of one cluster as the watch has last told of them."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._rows: dict[tuple[Kind, str], Row] = {}
        self._services: dict[str, RawRow] = {}
        self._jobs: dict[str, int] = {}
        self._metrics: Metrics | None = None
        self._kind: Kind = "job"
        self._listed: set[str] = set()

    def note_services(self, services: Iterable[RawRow]) -> None:
        """Remember the node service's rows, for host events that bring the scheduler's half alone."""
        self._services = {str(row.get("name")): row for row in services}

    def read(self, event: Event) -> Change | None:
        """What an event says; None for an event of a kind that is not known. Raises ProtocolError."""
        kind = KIND_OF_EVENT.get(event.kind)
        if kind is None:
            return None
        try:
            data = json.loads(event.data)
        except (ValueError, RecursionError) as error:
            raise ProtocolError(f"An event of the stream is not JSON: {clean(event.data[:80])!r}.") from error
        if not isinstance(data, Mapping) or "object" not in data:
            raise ProtocolError("An event of the stream has no object.")
        raw = row_of(data["object"], FIELDS[kind], f"An event of a {event.kind}")
        row = self._decode(kind, raw)
        return Change(kind, row.id, None if data.get("kind") == "removed" else row)

    def _decode(self, kind: Kind, raw: RawRow) -> Row:
        if kind == "job":
            return rows.job(raw, self._cluster)
        if kind == "queue":
            return rows.queue(raw, self._cluster)
        name = str(raw.get("hostName") or raw.get("name"))
        service: Any = raw.get("node")
        if isinstance(service, Mapping):
            self._services[name] = dict(service)
        if "hostName" not in raw:
            return rows.node(None, raw, self._cluster)
        return rows.node(raw, self._services.get(name), self._cluster)

    def apply(self, changes: Iterable[Change], position: str | None, at: datetime, *, totals: bool) -> Delta | None:
        """Fold changes into the rows; the batch that tells of what is different now, None where nothing is.

        Several changes of one object become the last of them, and a row that is as it was is not told again.
        """
        latest = {(change.kind, change.id): change.row for change in changes}
        upserts: list[Row] = []
        removals: list[Ref] = []
        for key, row in latest.items():
            old = self._rows.get(key)
            if old == row:
                continue
            if old is not None and (row is None or row.ref != old.ref):
                removals.append(old.ref)
            self._count(old, row)
            if row is None:
                self._rows.pop(key, None)
            else:
                self._rows[key] = row
                upserts.append(row)
        if totals and (upserts or removals):
            upserts.append(self.metrics(at, {key[0] for key in latest}))
        return Delta(tuple(upserts), tuple(removals), position=position, at=at) if upserts or removals else None

    def begin(self, kind: Kind) -> None:
        """A full list of this kind begins; what it does not bring is gone at its end."""
        self._kind, self._listed = kind, set()

    def add(self, fresh: Iterable[Row]) -> None:
        """Rows that the list has brought."""
        for row in fresh:
            key = self._kind, row.id
            self._count(self._rows.get(key), row)
            self._rows[key] = row
            self._listed.add(row.id)

    def end(self) -> None:
        """The list is complete."""
        for key in [key for key in self._rows if key[0] == self._kind and key[1] not in self._listed]:
            self._count(self._rows.pop(key), None)
        self._listed = set()
        self._metrics = None

    def forget(self, kinds: Iterable[Kind]) -> None:
        """Nobody looks at these kinds any more."""
        for kind in kinds:
            self.begin(kind)
            self.end()

    def _count(self, old: Row | None, new: Row | None) -> None:
        for row, step in ((old, -1), (new, 1)):
            if isinstance(row, Job):
                self._jobs[row.status] = self._jobs.get(row.status, 0) + step

    def metrics(self, at: datetime, touched: Iterable[Kind]) -> Metrics:
        """Totals of the rows at hand. Those of nodes and queues are added up again only where one was touched."""
        if self._metrics is None or not {"node", "queue"}.isdisjoint(touched):
            nodes = [row for row in self._rows.values() if isinstance(row, Node)]
            queues = [row for row in self._rows.values() if isinstance(row, Queue)]
            self._metrics = rows.metrics((), nodes, queues, self._cluster, at)
        counts = {status: count for status, count in self._jobs.items() if count}
        self._metrics = self._metrics._replace(jobs=counts, at=at)
        return self._metrics
