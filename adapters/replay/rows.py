"""Rows of the model as JSON and back, as short as they can be: a field that is not known is left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, cast

from adapters.base import ProtocolError
from adapters.model import NOTHING, ROW_TYPES, ArrayInfo, Dependency, Kind, Ref, ResourceSpec, Row, as_json
from adapters.text import clean

TIMES = frozenset({"submission_time", "start_time", "end_time", "heartbeat_time", "at"})
TEXTS = frozenset({"id", "name", "status", "raw_status", "queue", "owner", "logs_url", "reason", "cluster"})
LISTS = frozenset({"node_names", "features", "users"})


def encode_row(row: Row) -> dict[str, Any]:
    """A row as JSON, without the cluster's name and without what is as it is by default."""
    defaults = type(row)._field_defaults
    data = {
        name: as_json(value)
        for name, value in zip(row._fields, row, strict=True)
        if name != "cluster" and (name not in defaults or value != defaults[name])
    }
    return {"kind": row.ref.kind, **data}


def encode_ref(ref: Ref) -> list[str | None]:
    return [ref.kind, ref.id, ref.born]


class RowDecoder:
    """Makes rows of one replay: of `cluster`, their times moved by `shift`, equal texts shared and clean.

    A recording is a file that anybody may have written, so its texts pass `clean` like those of any backend.
    """

    def __init__(self, cluster: str, shift: timedelta) -> None:
        self._cluster = cluster
        self._shift = shift
        self._texts: dict[str, str] = {}

    def text(self, value: Any) -> str:
        if not isinstance(value, str):
            raise ProtocolError(f"A text was expected in the recording and {type(value).__name__} came.")
        found = self._texts.get(value)
        if found is None:
            if len(self._texts) > 200_000:
                self._texts.clear()
            found = self._texts[value] = clean(value)
        return found

    def time(self, value: Any) -> datetime | None:
        """Raises ProtocolError for what is no time."""
        if value is None:
            return None
        try:
            found = datetime.fromisoformat(value)
        except (TypeError, ValueError) as error:
            raise ProtocolError(f"{clean(str(value), 60)!r} in the recording is no time.") from error
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC) + self._shift

    def row(self, data: Any) -> Row:
        """Raises ProtocolError for what is no row of the model."""
        if not isinstance(data, Mapping):
            raise ProtocolError("A row was expected in the recording.")
        named = str(data.get("kind"))
        if named not in ROW_TYPES:
            raise ProtocolError(f"The recording has rows of the kind {clean(named, 60)!r}, which is not known here.")
        kind = cast("Kind", named)
        row_type = ROW_TYPES[kind]
        values: dict[str, Any] = {}
        for name, value in data.items():
            if name in row_type._fields:
                values[name] = self._value(kind, name, value)
        values["cluster"] = self._cluster
        try:
            return row_type(**values)
        except TypeError as error:
            raise ProtocolError(f"A {kind} of the recording lacks its name.") from error

    def _value(self, kind: Kind, name: str, value: Any) -> Any:
        if value is None:
            return None
        if kind == "metrics" and name in ("jobs", "nodes", "queues"):
            return {self.text(key): tuple(part) if isinstance(part, list) else part for key, part in value.items()}
        if name in TIMES:
            return self.time(value)
        if name in TEXTS:
            return self.text(value)
        if name in LISTS:
            return tuple(self.text(part) for part in value)
        special = self._special().get(name)
        return special(value) if special is not None else value

    def _special(self) -> Mapping[str, Callable[[Any], Any]]:
        return {
            "dependencies": self._dependencies,
            "array": self._array,
            "default_resources": lambda value: ResourceSpec(**{k: value.get(k) for k in ResourceSpec._fields}),
            "extensions": self._extensions,
        }

    def _dependencies(self, value: Any) -> tuple[Dependency, ...]:
        return tuple(Dependency(self.text(part["id"]), self.text(part["kind"])) for part in value)

    def _array(self, value: Any) -> ArrayInfo:
        span = value.get("range")
        return ArrayInfo(self.text(value["id"]), value.get("index"), None if span is None else self.text(span))

    def _extensions(self, value: Any) -> Mapping[str, Any]:
        return MappingProxyType(self._tidy(value)) if value else NOTHING

    def _tidy(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(key): self._tidy(part) for key, part in value.items()}
        if isinstance(value, list):
            return tuple(self._tidy(part) for part in value)
        return value

    def ref(self, data: Any) -> Ref:
        """The name of a row that is gone. A job's `born` may be a time, which moves with all times."""
        kind, id, born = data
        if born is not None and kind == "job":
            try:
                at = datetime.fromisoformat(born)
            except ValueError:
                at = None
            if at is not None and at.tzinfo is not None:
                born = (at + self._shift).isoformat()
        return Ref(self._cluster, kind, self.text(id), born)
