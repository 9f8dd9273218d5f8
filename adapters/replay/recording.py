"""The file of a recording: JSON lines, the first a header with a version, then batches, states and logs by time.

    {"format": "pilothouse-feed", "version": 1, "cluster": ..., "recorded": ..., "backend": ..., ...}
    {"t": 0.0, "delta": {"reset": ["job"], "snapshot": true, "upserts": [{"kind": "job", "id": "1", ...}]}}
    {"t": 0.1, "state": {"label": "live", "kinds": ["job"]}}
    {"t": 0.5, "log": {"job": "1", "stream": "stdout", "data": "text"}}

`t` is seconds since the beginning. A recording holds no secrets: texts that look like credentials are hidden.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Literal, Self

from adapters import base
from adapters.base import AdapterError, Capabilities, Identity, ProtocolError, SourceState, Unreachable, WatchItem
from adapters.model import Delta, as_json
from adapters.replay.anonymise import Anonymiser
from adapters.replay.rows import RowDecoder, encode_ref, encode_row
from adapters.replay.secrets import hide, hide_in
from adapters.text import clean

FORMAT = "pilothouse-feed"
VERSION = 1
PIECE = 2000
ERRORS: Mapping[str, type[AdapterError]] = {
    kind.code: kind for kind in vars(base).values() if isinstance(kind, type) and issubclass(kind, AdapterError)
}


@dataclass(frozen=True, slots=True)
class Header:
    """What a recording says of itself and of the backend it was made from."""

    cluster: str
    recorded: datetime
    capabilities: Capabilities
    identity: Identity


def encode_item(item: WatchItem, anonymiser: Anonymiser | None = None) -> dict[str, Any]:
    """A batch or a state as JSON."""
    if isinstance(item, SourceState):
        return {"state": _encode_state(item if anonymiser is None else anonymiser.state(item))}
    rows = [hide_in(encode_row(row)) for row in item.upserts]
    removals = [encode_ref(ref) for ref in item.removals]
    data: dict[str, Any] = {
        "upserts": rows if anonymiser is None else [anonymiser.row(row) for row in rows],
        "removals": removals if anonymiser is None else [anonymiser.ref(ref) for ref in removals],
        "reset": sorted(item.reset),
        "more": item.more,
        "snapshot": item.snapshot,
        "position": item.position,
        "at": as_json(item.at),
    }
    return {"delta": {name: value for name, value in data.items() if value}}


def _encode_state(state: SourceState) -> dict[str, Any]:
    error = None
    if state.error is not None:
        error = {"code": state.error.code, "message": hide(state.error.message), "hint": hide(state.error.hint)}
    data: dict[str, Any] = {
        "label": state.label,
        "kinds": sorted(state.kinds),
        "interval": state.interval,
        "error": error,
        "retry_at": as_json(state.retry_at),
        "note": hide(state.note),
        "at": as_json(state.at),
        "calls_per_minute": state.calls_per_minute,
    }
    return {name: value for name, value in data.items() if value not in (None, "", [])}


def decode_item(line: Mapping[str, Any], decoder: RowDecoder) -> WatchItem | None:
    """The batch or state of a line, None for a line of another sort. Raises ProtocolError."""
    try:
        if "delta" in line:
            return _decode_delta(line["delta"], decoder)
        if "state" in line:
            return _decode_state(line["state"], decoder)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ProtocolError(f"A line of the recording is not what it should be: {clean(str(error), 200)}.") from error
    return None


def _decode_delta(data: Mapping[str, Any], decoder: RowDecoder) -> Delta:
    return Delta(
        tuple(decoder.row(row) for row in data.get("upserts", ())),
        tuple(decoder.ref(ref) for ref in data.get("removals", ())),
        frozenset(data.get("reset", ())),
        bool(data.get("more")),
        bool(data.get("snapshot")),
        data.get("position"),
        decoder.time(data.get("at")),
    )


def _decode_state(data: Mapping[str, Any], decoder: RowDecoder) -> SourceState:
    error = data.get("error")
    return SourceState(
        data["label"],
        frozenset(data.get("kinds", ())),
        data.get("interval"),
        None
        if error is None
        else ERRORS.get(error.get("code"), AdapterError)(decoder.text(error["message"]), decoder.text(error["hint"])),
        decoder.time(data.get("retry_at")),
        decoder.text(data.get("note", "")),
        decoder.time(data.get("at")),
        data.get("calls_per_minute"),
    )


def encode_header(cluster: str, capabilities: Capabilities, identity: Identity, recorded: datetime) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "cluster": cluster,
        "recorded": as_json(recorded),
        "backend": capabilities.backend,
        "push": capabilities.push,
        "parts": sorted(capabilities.parts),
        "absent": {kind: sorted(names) for kind, names in capabilities.absent.items()},
        "extensions": dict(capabilities.extensions),
        "identity": {"name": identity.name, "role": identity.role},
    }


def decode_header(line: Any) -> Header:
    """Raises ProtocolError for what is no recording, or one of a newer version."""
    if not isinstance(line, Mapping) or line.get("format") != FORMAT:
        raise ProtocolError("This file is no recording of Pilothouse.", "A recording begins with a line that says so.")
    version = line.get("version")
    if version != VERSION:
        raise ProtocolError(
            f"The recording has the version {clean(str(version), 20)}; this program reads version {VERSION}.",
            "A newer program may read it.",
        )
    try:
        identity = line.get("identity", {})
        return Header(
            clean(str(line["cluster"]), 100),
            datetime.fromisoformat(line["recorded"]).astimezone(UTC),
            Capabilities(
                backend=clean(str(line.get("backend", "")), 100),
                absent={kind: frozenset(names) for kind, names in line.get("absent", {}).items()},
                parts=frozenset(line.get("parts", ())),
                push=bool(line.get("push")),
                extensions={clean(key): clean(value) for key, value in line.get("extensions", {}).items()},
            ),
            Identity(clean(str(identity.get("name", "")), 100), identity.get("role")),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ProtocolError(f"The first line of the recording is incomplete: {clean(str(error), 200)}.") from error


class RecordingWriter:
    """Writes a recording as it happens. The file is for its owner only; close it, or use it in a `with` block.

    Args:
        clock: seconds, for the times within the recording.
        anonymous: take out whose it is (`adapters.replay.anonymise`); logs are then not written.
    """

    def __init__(
        self,
        path: Path,
        cluster: str,
        capabilities: Capabilities,
        identity: Identity,
        *,
        recorded: datetime,
        clock: Callable[[], float],
        anonymous: bool = False,
    ) -> None:
        self._clock = clock
        self._start = clock()
        self._anonymiser = Anonymiser() if anonymous else None
        if self._anonymiser is not None:
            cluster = self._anonymiser.name("cluster", cluster)
            identity = Identity(self._anonymiser.name("user", identity.name), identity.role)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        self._file: IO[str] = os.fdopen(descriptor, "w", encoding="utf-8", newline="\n")
        self._put(encode_header(cluster, capabilities, identity, recorded))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    def write(self, item: WatchItem) -> None:
        """A batch or a state, now. Large snapshots are written in pieces, so that reading one never takes long."""
        for piece in in_pieces(item):
            self._put({"t": self._elapsed(), **encode_item(piece, self._anonymiser)})

    def log(self, job: str, stream: Literal["stdout", "stderr"], data: bytes) -> None:
        """A piece of a job's output, now. Left out of an anonymous recording."""
        if self._anonymiser is not None:
            return
        text = hide(data.decode("utf-8", "backslashreplace"))
        self._put({"t": self._elapsed(), "log": {"job": job, "stream": stream, "data": text}})

    def _elapsed(self) -> float:
        return round(self._clock() - self._start, 3)

    def _put(self, line: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")


def in_pieces(item: WatchItem, size: int = PIECE) -> Iterator[WatchItem]:
    """The same in batches of at most `size` rows."""
    if isinstance(item, SourceState) or len(item.upserts) <= size:
        yield item
        return
    for start in range(0, len(item.upserts), size):
        last = start + size >= len(item.upserts)
        yield replace(
            item,
            upserts=item.upserts[start : start + size],
            reset=item.reset if start == 0 else frozenset(),
            removals=item.removals if start == 0 else (),
            more=item.more or not last,
        )


@dataclass(frozen=True, slots=True)
class Line:
    """One line that is not read further before it is due."""

    at: float
    text: bytes

    def parsed(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = json.loads(self.text)
        return found


def load(path: Path) -> tuple[Header, list[Line]]:
    """Header and lines of a recording. A last line that was cut short is left out.

    Raises Unreachable for a file that cannot be read, ProtocolError for one that is no recording.
    """
    try:
        first, *rest = path.read_bytes().split(b"\n")
    except OSError as error:
        raise Unreachable(f"The recording {path} cannot be read: {error.strerror}.") from error
    if rest and rest[-1] == b"":
        rest.pop()
    elif rest:
        rest = rest[:-1]
    try:
        header = decode_header(json.loads(first))
    except ValueError as error:
        raise ProtocolError(f"{path} is no recording of Pilothouse.") from error
    return header, [_line(number, text) for number, text in enumerate(rest, 2)]


def _line(number: int, text: bytes) -> Line:
    """The time of a line, read without parsing all of it: lines may hold thousands of rows. Raises ProtocolError."""
    prefix, comma, _ = text.partition(b",")
    try:
        if not comma or not prefix.startswith(b'{"t":'):
            raise ValueError
        return Line(float(prefix[5:]), text)
    except ValueError as error:
        raise ProtocolError(f"Line {number} of the recording does not begin with its time.") from error
