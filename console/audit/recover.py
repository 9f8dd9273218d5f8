"""Where the log ends: after a crash, after somebody cut it, or as it should."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from console.audit.chain import Head, decode, line_hash, mac_holds
from console.audit.files import Paths, read_private

_CHUNK = 65536


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of the log.

    Args:
        head: what the next line is chained to.
        end: bytes up to the end of the last whole line.
        torn: bytes after it: a line that was being written when something stopped the writer.
        broken: what contradicts the head file, in a sentence; empty where nothing does.
    """

    head: Head
    end: int
    torn: bytes = b""
    broken: str = ""

    def findings(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The lines that must be written first, so that what was found stays on record."""
        if self.broken:
            yield "broken", {"message": self.broken}
        if self.torn:
            text = self.torn[:4096].decode("utf-8", "backslashreplace")
            told = "The last line was incomplete and was taken off: its writer was stopped before anything was sent."
            yield "recovered", {"message": told, "bytes": len(self.torn), "text": text}


def find_tail(fd: int, paths: Paths, key: bytes) -> Tail:
    """Read the end of the open log and hold it against the head file."""
    size = os.fstat(fd).st_size
    last, end = _last_line(fd, size)
    torn = _read(fd, end, size)
    head = _read_head(paths, key)
    if not last:
        empty = Head()
        if head is None or head == empty:
            return Tail(empty, end, torn, "" if head else _without_head(paths, lines=False))
        return Tail(empty, end, torn, f"All lines are missing: the head file says there were {head.count}.")
    record = decode(last)
    if record is None or not mac_holds(record, key):
        count = head.count if head else (record["seq"] if record else 0)
        return Tail(Head(count, line_hash(last)), end, torn, "The last line was altered or written with another key.")
    found = Head(record["seq"], line_hash(last))
    if head is None:
        return Tail(found, end, torn, _without_head(paths, lines=True))
    return Tail(found, end, torn, _against(head, found, fd, end, key))


def _against(head: Head, found: Head, fd: int, end: int, key: bytes) -> str:
    if head == found:
        return ""
    if head.count >= found.count:
        missing = head.count - found.count
        return f"The log was cut: the head file says {head.count} lines, {missing} of them are missing."
    # The writer was stopped after a line and before the head: the lines after the head must follow from it.
    previous = head.hash
    for line in _lines_from(fd, end, found.count - head.count):
        record = decode(line)
        if record is None or record.get("prev") != previous or not mac_holds(record, key):
            return f"The lines after number {head.count} do not follow from what the head file says."
        previous = line_hash(line)
    return ""


def _read_head(paths: Paths, key: bytes) -> Head | None:
    try:
        data = read_private(paths.head)
    except FileNotFoundError:
        return None
    return Head.decode(data, key)


def _without_head(paths: Paths, *, lines: bool) -> str:
    if paths.head.exists():
        return "The head file is damaged or was written with another key."
    return "The head file is missing." if lines else ""


def _read(fd: int, start: int, end: int) -> bytes:
    parts: list[bytes] = []
    while start < end and (part := os.pread(fd, min(_CHUNK, end - start), start)):
        parts.append(part)
        start += len(part)
    return b"".join(parts)


def _last_line(fd: int, size: int) -> tuple[bytes, int]:
    """The last line that ends in a newline, and where it ends; empty and 0 where there is none."""
    data, start = b"", size
    while start > 0 and data.count(b"\n") < 2:
        step = min(_CHUNK, start)
        start -= step
        data = _read(fd, start, start + step) + data
    last = data.rfind(b"\n")
    if last < 0:
        return b"", 0
    before = data.rfind(b"\n", 0, last)
    return data[before + 1 : last + 1], start + last + 1


def _lines_from(fd: int, end: int, count: int) -> list[bytes]:
    """The last `count` whole lines."""
    data, start = b"", end
    while start > 0 and data.count(b"\n") <= count:
        step = min(_CHUNK, start)
        start -= step
        data = _read(fd, start, start + step) + data
    return data.splitlines(keepends=True)[-count:]
