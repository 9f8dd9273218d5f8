"""Whether a log is what was written: each line, their chain, and their number."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from console.audit.chain import START, VERSION, Head, decode, line_hash, mac_holds
from console.audit.errors import AuditError
from console.audit.files import Paths, locked, open_private, read_key, read_private


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong; `line` counts from 1 and is None for what concerns the whole log."""

    line: int | None
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


@dataclass(frozen=True, slots=True)
class Verification:
    """`problems` mean that the log is not what was written; `notes` are harmless and said all the same."""

    log: Path
    lines: int
    head: Head
    problems: tuple[Finding, ...]
    notes: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        return not self.problems


@dataclass(slots=True)
class _Walk:
    key: bytes
    count: int = 0
    previous: str = START
    seq: int = 0
    hashes: dict[int, str] = field(default_factory=dict)
    problems: list[Finding] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)

    def take(self, line: bytes) -> None:
        self.count += 1
        record = decode(line)
        if record is None:
            self._wrong("is no line of an audit log")
        else:
            self._check(record)
            self.seq = record["seq"]
        self.previous = line_hash(line)
        self.hashes[self.count] = self.previous

    def _check(self, record: dict[str, Any]) -> None:
        if record.get("v") != VERSION:
            self._wrong(f"is of version {record.get('v')}; this program knows version {VERSION}")
            return
        if not mac_holds(record, self.key):
            self._wrong("was altered, or was written with another key")
        if record.get("prev") != self.previous:
            self._wrong("does not follow from the line before: lines were removed, added or reordered")
        if record["seq"] != self.seq + 1:
            self._wrong(f"has number {record['seq']} where {self.seq + 1} is due")
        if record.get("kind") == "broken":
            self._wrong(f"records that the log was found broken: {record.get('message')}")
        if record.get("kind") == "recovered":
            self.notes.append(Finding(self.count, str(record.get("message"))))

    def _wrong(self, message: str) -> None:
        self.problems.append(Finding(self.count, message))


def verify(log: Path, *, most: int = 100) -> Verification:
    """Check the log at `log` with the key and the head file beside it; at most `most` problems are kept.

    Raises AuditError where there is no log or no key to check it with.
    """
    paths = Paths.beside(log)
    if not log.exists():
        raise AuditError(f"there is no audit log {log}.", "It is begun with the first action.")
    with locked(paths, shared=True):
        key = read_key(paths, create=False)
        walk = _Walk(key)
        torn = _walk(paths, walk)
        _check_head(paths, walk)
    if torn:
        told = f"an incomplete line of {torn} bytes at the end: its writer was stopped; the next action records that"
        walk.notes.append(Finding(None, told))
    head = Head(walk.seq, walk.previous)
    return Verification(log, walk.count, head, tuple(walk.problems[:most]), tuple(walk.notes[:most]))


def _walk(paths: Paths, walk: _Walk) -> int:
    """Feed every whole line to `walk`; the bytes of a torn last one."""
    with os.fdopen(open_private(paths.log, os.O_RDONLY), "rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                return len(line)
            walk.take(line)
    return 0


def _check_head(paths: Paths, walk: _Walk) -> None:
    try:
        head = Head.decode(read_private(paths.head), walk.key)
    except FileNotFoundError:
        walk.problems.append(Finding(None, "the head file is missing: whether lines were cut off cannot be told"))
        return
    if head is None:
        walk.problems.append(Finding(None, "the head file is damaged or was written with another key"))
    elif head.count > walk.count:
        told = f"the log was cut: the head file says {head.count} lines, there are {walk.count}"
        walk.problems.append(Finding(None, told))
    elif walk.hashes.get(head.count, START) != head.hash:
        walk.problems.append(Finding(head.count, "is not the line that the head file says was written"))
    elif head.count < walk.count:
        told = f"the head file is {walk.count - head.count} behind: a writer was stopped just after its line"
        walk.notes.append(Finding(None, told))
