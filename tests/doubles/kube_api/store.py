"""The objects of the double, with resource versions and the history that watches are served from.

Objects are never changed in place, so that a reader needs no copy. Safe to use from any thread.
"""

from __future__ import annotations

import itertools
import threading
import uuid
from bisect import bisect_right
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tests.doubles.kube_api.kinds import Served

Obj = dict[str, Any]
Key = tuple[str, str]


@dataclass(frozen=True)
class Event:
    """One change: `old` is what the object was before."""

    version: int
    plural: str
    group: str
    type: str
    obj: Obj
    old: Obj | None


def stamp(now: datetime | None = None) -> str:
    return (now or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ")


class Store:
    """Objects by kind and key. `floor` is the version below which the history is forgotten (compacted)."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.version = 1000
        self.floor = 0
        self.history: list[Event] = []
        self._objects: dict[tuple[str, str], dict[Key, Obj]] = {}
        self._wake: list[tuple[tuple[str, str], Callable[[], None]]] = []
        self._ids = itertools.count(1)

    def table(self, served: Served) -> dict[Key, Obj]:
        return self._objects.setdefault((served.group, served.plural), {})

    def get(self, served: Served, namespace: str | None, name: str) -> Obj | None:
        with self.lock:
            return self.table(served).get((namespace or "", name))

    def listed(self, served: Served, namespace: str | None) -> list[tuple[str, Obj]]:
        """Objects with the key that pages go by, in order: ``/name`` or ``namespace/name``."""
        with self.lock:
            rows = list(self.table(served).items())
        found = [
            (f"/{name}" if namespace is not None or not served.namespaced else f"{place}/{name}", obj)
            for (place, name), obj in rows
            if namespace is None or place == namespace
        ]
        return sorted(found, key=lambda row: row[0])

    def put(self, served: Served, obj: Obj, *, keep_version: bool = False) -> Obj:
        """Add or replace, as a change that watches see. `keep_version` seeds an object exactly as it is."""
        with self.lock:
            metadata = dict(obj["metadata"])
            obj = {**obj, "metadata": metadata}
            key = (metadata.get("namespace", "") if served.namespaced else "", metadata["name"])
            old = self.table(served).get(key)
            self.version += 1
            metadata.setdefault("uid", old["metadata"]["uid"] if old else self.uid())
            metadata.setdefault("creationTimestamp", old["metadata"]["creationTimestamp"] if old else stamp())
            if not keep_version:
                metadata["resourceVersion"] = str(self.version)
            obj.setdefault("kind", served.kind)
            obj.setdefault("apiVersion", served.api_version)
            self.table(served)[key] = obj
            self._happened(served, "MODIFIED" if old else "ADDED", obj, old)
            return obj

    def remove(self, served: Served, namespace: str | None, name: str) -> Obj | None:
        with self.lock:
            old = self.table(served).pop((namespace or "", name), None)
            if old is None:
                return None
            self.version += 1
            gone = {**old, "metadata": {**old["metadata"], "resourceVersion": str(self.version)}}
            self._happened(served, "DELETED", gone, old)
            return gone

    def change(self, served: Served, namespace: str | None, name: str, edit: Callable[[Obj], None]) -> Obj:
        """Edit an object behind everybody's back."""
        with self.lock:
            obj = deepcopy(self.table(served)[namespace or "", name])
            edit(obj)
            return self.put(served, obj)

    def compact(self) -> None:
        """Forget the history: watches and tokens from before answer 410 from now on."""
        with self.lock:
            self.version += 1
            self.floor = self.version
            self.history.clear()

    def clear(self) -> None:
        with self.lock:
            for (group, plural), table in list(self._objects.items()):
                for namespace, name in list(table):
                    self.remove(Served(group, "", plural, ""), namespace, name)

    def since(self, version: int, served: Served) -> Iterator[Event]:
        """The changes of a kind after a version, oldest first."""
        with self.lock:
            begin = bisect_right(self.history, version, key=lambda event: event.version)
            events = [e for e in self.history[begin:] if (e.group, e.plural) == (served.group, served.plural)]
        return iter(events)

    def uid(self) -> str:
        return str(uuid.UUID(int=(0xD0B1E << 100) | next(self._ids), version=4))

    def subscribe(self, served: Served, wake: Callable[[], None]) -> Callable[[], None]:
        """Have `wake` called after each change of a kind; returns what ends it."""
        entry = ((served.group, served.plural), wake)
        with self.lock:
            self._wake.append(entry)
        return lambda: self._wake.remove(entry)

    def _happened(self, served: Served, kind: str, obj: Obj, old: Obj | None) -> None:
        self.history.append(Event(self.version, served.plural, served.group, kind, obj, old))
        for kind_, wake in tuple(self._wake):
            if kind_ == (served.group, served.plural):
                wake()
