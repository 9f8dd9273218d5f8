"""Prints one row of the model with every field that is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from adapters.text import clean
from adapters.units import show_duration, show_size


def detail_lines(row: NamedTuple) -> list[str]:
    """``name   value`` for each field that is set, the backend's own fields indented below `extensions`."""
    pairs = list(_pairs(row._asdict()))
    width = max((len(name) for name, _ in pairs), default=0)
    return [f"{name:<{width}}  {value}".rstrip() for name, value in pairs]


def _pairs(known: Mapping[str, Any], indent: str = "") -> Iterator[tuple[str, str]]:
    for name, value in known.items():
        if value is None or value == "" or value == () or value == {}:
            continue
        if isinstance(value, Mapping):
            if any(part is not None for part in value.values()):
                yield indent + clean(str(name)), ""
                yield from _pairs(value, indent + "  ")
        elif isinstance(value, tuple | list) and all(isinstance(part, Mapping) for part in value):
            yield indent + clean(str(name)), ""
            for part in value:
                yield indent + "  -", ", ".join(f"{key} {told}" for key, told in _pairs(part) if told)
        else:
            yield indent + clean(str(name)), _shown(str(name), value)


def _shown(name: str, value: Any) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    if (isinstance(value, tuple) and hasattr(value, "_asdict")) or is_dataclass(value):
        named = value._asdict() if isinstance(value, tuple) else {f.name: getattr(value, f.name) for f in fields(value)}
        parts = {key: part for key, part in named.items() if part is not None}
        return ", ".join(f"{key} {_shown(key, part)}" for key, part in parts.items()) or "-"
    if isinstance(value, tuple | list | set | frozenset):
        return ", ".join(_shown(name, part) for part in value)
    if isinstance(value, int) and not isinstance(value, bool):
        if "bytes" in name:
            return f"{show_size(value)} ({value} bytes)"
        if name.endswith("_seconds"):
            return f"{show_duration(value)} ({value} s)"
    return clean(str(value))
