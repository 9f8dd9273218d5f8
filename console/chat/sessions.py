"""Sessions on disk: one file of JSON lines a session, of the owner's alone, written by one console at a time.

The first line is the header (`version`, `id`, `at`), then come records: a message, the watches. When the transcript is
made short, a file of what is left takes the place of the old one. A line that was torn when the machine stopped is left
out, and cut off before the next is written. Scope, autopilot and approvals are never in it. What looks like a secret is
replaced before it is written.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import platformdirs

from adapters.base import AdapterError
from adapters.text import clean
from console.audit import AuditError
from console.audit.files import open_private, prepare_folder, read_private, sync_folder, write_all
from console.audit.redact import redact
from console.chat.transcript import first_text, mend

VERSION = 1
KEPT = 200  # sessions; the oldest go beyond that
MOST_BYTES = 50_000_000  # of one file that is read
_BLOCKS: Mapping[str, Mapping[str, type]] = {
    "text": {"text": str}, "tool_use": {"id": str, "name": str, "input": dict}, "tool_result": {"tool_use_id": str},
}  # fmt: skip
_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}")


class SessionError(AdapterError):
    """A session cannot be read or kept."""

    title: ClassVar[str] = "The session"
    code: ClassVar[str] = "session"


@dataclass(frozen=True, slots=True)
class Listed:
    """One session of the list. `title` is how its first sentence begins, cleaned."""

    id: str
    at: datetime
    title: str
    turns: int
    watches: int


@dataclass(slots=True)
class Stored:
    """What a file holds. `end` is how many bytes of it are whole lines."""

    id: str
    at: datetime
    messages: list[dict[str, Any]] = field(default_factory=list)
    watches: list[dict[str, Any]] = field(default_factory=list)
    end: int = 0


def chats_folder() -> Path:
    """Where sessions are kept."""
    return platformdirs.user_data_path("pilothouse", appauthor=False) / "chats"


class SessionFile:
    """The file of the session that goes on; locked, so that no second console writes to it."""

    def __init__(self, folder: Path, id: str) -> None:
        self.id = id
        self._folder = folder
        self._fd: int | None = None

    def begin(self, at: datetime) -> None:
        """Make the file. Raises SessionError."""
        try:
            prepare_folder(self._folder)
            self._fd = open_private(_path(self._folder, self.id), os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            self._lock()
            self._write([{"version": VERSION, "id": self.id, "at": at.isoformat()}])
            sync_folder(self._folder)
        except (AuditError, OSError) as error:
            self.close()
            raise _cannot("kept", error) from error

    def open(self) -> Stored:
        """Go on with a session that is there. Raises SessionError."""
        path = _path(self._folder, self.id)
        try:
            self._fd = open_private(path, os.O_WRONLY)
            self._lock()
            found = _parse(_bounded(path), self.id)
            os.ftruncate(self._fd, found.end)
            os.lseek(self._fd, 0, os.SEEK_END)
        except FileNotFoundError:
            self.close()
            raise SessionError(f"There is no session {clean(self.id, 40)}.", "See: /sessions") from None
        except (AuditError, OSError) as error:
            self.close()
            raise _cannot("read", error) from error
        except SessionError:
            self.close()
            raise
        return found

    def add(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Append records; they are on disk when this returns. Raises SessionError."""
        try:
            self._write(records)
        except OSError as error:
            raise _cannot("kept", error) from error

    def rewrite(self, at: datetime, records: Sequence[Mapping[str, Any]]) -> None:
        """Put these records in place of all that were there, whole or not at all. Raises SessionError."""
        path = _path(self._folder, self.id)
        fresh = path.with_name(f".{path.name}.{os.getpid()}")
        before, self._fd = self._fd, None
        try:
            fresh.unlink(missing_ok=True)
            self._fd = open_private(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            self._lock()
            self._write([{"version": VERSION, "id": self.id, "at": at.isoformat()}, *records])
            fresh.replace(path)
            sync_folder(self._folder)
        except (AuditError, OSError) as error:
            self.close()
            self._fd, before = before, None
            fresh.unlink(missing_ok=True)
            raise _cannot("kept", error) from error
        finally:
            if before is not None:
                os.close(before)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    @property
    def opened(self) -> bool:
        return self._fd is not None

    def _write(self, records: Sequence[Mapping[str, Any]]) -> None:
        assert self._fd is not None
        lines = [json.dumps(redact(dict(record)), ensure_ascii=True, separators=(",", ":")) for record in records]
        write_all(self._fd, "".join(f"{line}\n" for line in lines).encode())
        os.fsync(self._fd)

    def _lock(self) -> None:
        assert self._fd is not None
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SessionError(f"The session {self.id} is open in another console.", "Close it there first.") from None


def listed(folder: Path) -> list[Listed]:
    """Every session that can be read, newest first."""
    found = []
    for path in _files(folder):
        try:
            stored = _parse(_bounded(path), path.stem)
        except (SessionError, AuditError, OSError):
            continue
        turns = sum(first_text(message) is not None for message in stored.messages if message["role"] == "user")
        title = next(filter(None, map(first_text, stored.messages)), "")
        found.append(Listed(stored.id, stored.at, clean(title, 80), turns, len(stored.watches)))
    return sorted(found, key=lambda one: one.id, reverse=True)


def ids(folder: Path) -> list[str]:
    """The names of the sessions, newest first."""
    return sorted((path.stem for path in _files(folder)), reverse=True)


def prune(folder: Path, keep: int = KEPT) -> None:
    """Remove the oldest sessions beyond `keep`; never one that a console has open, and never raises."""
    for path in sorted(_files(folder))[:-keep]:
        try:
            fd = open_private(path, os.O_WRONLY)
        except (AuditError, OSError):
            continue
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)
        except OSError:
            continue
        finally:
            os.close(fd)


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*.jsonl") if _ID.fullmatch(path.stem)] if folder.is_dir() else []


def _path(folder: Path, id: str) -> Path:
    if not _ID.fullmatch(id):
        raise SessionError(f"{clean(id, 40)!r} is not the id of a session.", "See: /sessions")
    return folder / f"{id}.jsonl"


def _bounded(path: Path) -> bytes:
    if path.lstat().st_size > MOST_BYTES:
        raise SessionError(f"{path.name} is larger than {MOST_BYTES // 1_000_000} MB.", "Begin anew: /new")
    return read_private(path)


def _parse(data: bytes, id: str) -> Stored:
    """Raises SessionError for what is no session, or one of a newer version."""
    lines = data.split(b"\n")[:-1]  # what stands behind the last newline was torn
    header = _record(lines[0]) if lines else None
    if header is None or not isinstance(header.get("version"), int) or header.get("id") != id:
        raise SessionError(f"The file of session {id} cannot be read.", "Begin anew: /new")
    if header["version"] > VERSION:
        told = f"The session {id} was written by a newer Pilothouse (version {header['version']}, not {VERSION})."
        raise SessionError(told, "Use that one, or begin anew: /new")
    stored = Stored(id, _time(header.get("at")), end=len(lines[0]) + 1)
    for line in lines[1:]:
        record = _record(line)
        if record is None:
            break  # torn in the middle of a page: what follows it cannot be relied on
        _take(stored, record)
        stored.end += len(line) + 1
    mend(stored.messages)
    return stored


def _take(stored: Stored, record: Mapping[str, Any]) -> None:
    match record.get("kind"):
        case "message" if _is_message(record.get("message")):
            if record.get("instead"):
                del stored.messages[-1:]
            stored.messages.append(record["message"])
        case "compacted" if isinstance(record.get("messages"), list):
            stored.messages = [message for message in record["messages"] if _is_message(message)]
        case "watches" if isinstance(record.get("watches"), list):
            stored.watches = [watch for watch in record["watches"] if isinstance(watch, dict)]


def _is_message(value: object) -> bool:
    if not isinstance(value, dict) or value.get("role") not in ("user", "assistant"):
        return False
    content = value.get("content")
    return isinstance(content, str) or (isinstance(content, list) and all(map(_is_block, content)))


def _is_block(value: object) -> bool:
    """A text, a call or a result, with what everybody who reads a transcript relies on."""
    if not isinstance(value, dict) or not isinstance(kind := value.get("type"), str) or kind not in _BLOCKS:
        return False
    return all(isinstance(value.get(name), of) for name, of in _BLOCKS[kind].items())


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _time(text: object) -> datetime:
    try:
        at = datetime.fromisoformat(str(text))
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _cannot(what: str, error: Exception) -> SessionError:
    told = error.message if isinstance(error, AuditError) else getattr(error, "strerror", None) or str(error)
    hint = error.hint if isinstance(error, AuditError) else ""
    return SessionError(f"The session cannot be {what}: {told.replace(' for the audit log', '')}", hint)
