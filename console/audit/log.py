"""Appending to the log: a line is on disk when `append` returns, or nothing of it is and AuditError says why."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from console.audit.chain import START, VERSION, Head, decode, encode, line_hash
from console.audit.errors import AuditError
from console.audit.files import (
    Paths,
    describe,
    host_name,
    locked,
    open_private,
    prepare_folder,
    read_key,
    replace_private,
    state_folder,
    write_all,
)
from console.audit.process import this_process
from console.audit.recover import Tail, find_tail
from console.audit.redact import redact
from console.audit.tail import last_records

Anchor = Callable[[str, Head], None]
Record = dict[str, Any]
_HINT = "Free some space, or set PILOTHOUSE_STATE_DIR to a folder that can be written."


def person() -> str:
    """The Unix user this process acts for."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def _utc_now() -> datetime:
    return datetime.now(UTC)


class AuditLog:
    """The log of this host. Any number of processes and threads may append to it; the lines keep one chain.

    Args:
        folder: where the files are; by default `audit` in the state folder.
        anchor: told the host and the new head after each line, for a copy that the log's owner cannot change.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        host: str | None = None,
        clock: Callable[[], datetime] = _utc_now,
        anchor: Anchor | None = None,
    ) -> None:
        self.host = host or host_name()
        self.paths = Paths.of(folder if folder is not None else state_folder() / "audit", self.host)
        self._clock = clock
        self._anchor = anchor

    def append(self, kind: str, **fields: Any) -> Record:
        """Put one line on disk and return it. Blocks for the lock and the disk. Raises AuditError."""
        record = self.append_if(lambda: True, kind, **fields)
        assert record is not None
        return record

    def append_if(self, wanted: Callable[[], bool], kind: str, **fields: Any) -> Record | None:
        """As `append`, if `wanted()` says so while the lock is held; otherwise None and nothing is written."""
        prepare_folder(self.paths.folder)
        with locked(self.paths):
            if not wanted():
                return None
            key = read_key(self.paths, create=True)
            fd = open_private(self.paths.log, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            try:
                return self._append(fd, key, kind, fields)
            except OSError as error:
                raise AuditError(f"{self.paths.log} cannot be written: {describe(error)}.", _HINT) from error
            finally:
                os.close(fd)

    def check_writable(self) -> None:
        """Raise AuditError if a line could not be written now, without writing one."""
        prepare_folder(self.paths.folder)
        with locked(self.paths):
            read_key(self.paths, create=True)
            os.close(open_private(self.paths.log, os.O_RDWR | os.O_CREAT | os.O_APPEND))

    def records(self) -> Iterator[Record]:
        """Every line of the log that is one, oldest first. No log: none. Raises AuditError."""
        try:
            fd = open_private(self.paths.log, os.O_RDONLY)
        except FileNotFoundError:
            return
        with os.fdopen(fd, "rb") as file:
            for line in file:
                record = decode(line) if line.endswith(b"\n") else None
                if record is not None:
                    yield record

    def tail(self, count: int) -> list[Record]:
        """The last `count` lines, oldest first, of the last 32 MiB. No log: none. Raises AuditError."""
        return last_records(self.paths.log, count)

    def _append(self, fd: int, key: bytes, kind: str, fields: Mapping[str, Any]) -> Record:
        tail = find_tail(fd, self.paths, key)
        if tail.torn:
            os.ftruncate(fd, tail.end)
        for found_kind, found in tail.findings():
            tail = self._write(fd, key, tail, found_kind, found)[0]
        tail, record = self._write(fd, key, tail, kind, fields)
        if self._anchor is not None:
            self._anchor(self.host, tail.head)
        return record

    def _write(self, fd: int, key: bytes, tail: Tail, kind: str, fields: Mapping[str, Any]) -> tuple[Tail, Record]:
        """One line and the head, or neither."""
        record: Record = {
            **redact(fields),
            "v": VERSION,
            "seq": tail.head.count + 1,
            "time": self._clock().astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "host": self.host,
            "person": person(),
            "process": this_process(),
            "kind": kind,
            "prev": tail.head.hash,
        }
        line = encode(record, key)
        head = Head(tail.head.count + 1, line_hash(line))
        try:
            write_all(fd, line)
            os.fsync(fd)
            replace_private(self.paths.head, head.encode(key))
        except (OSError, AuditError):
            _take_back(fd, tail.end)
            raise
        return Tail(head, tail.end + len(line)), decode(line) or record


def _take_back(fd: int, size: int) -> None:
    """Remove what there is of a line that could not be finished. What cannot be removed is recovered next time."""
    try:
        os.ftruncate(fd, size)
        os.fsync(fd)
    except OSError:
        return


__all__ = ["START", "Anchor", "AuditLog", "Record", "person"]
