"""Answers of LSF commands -> records, in each of the three tiers.

Everything that is not a row (lines of a shell's start-up files, "Please wait", mail notices, site messages) is kept
as a banner and never parsed. Bytes that are no UTF-8 survive as surrogates until `clean()` shows them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from adapters.base import ProtocolError
from adapters.lsf.tables import DELIMITER, Record, Table
from adapters.text import clean

_HEAD = re.compile(r"\{\s*\"COMMAND\"\s*:")
_RECORDS = re.compile(r"\"RECORDS\"\s*:\s*\[")
_BETWEEN = re.compile(r"\s*(,|\])\s*")
_TAIL = re.compile(r"\s*\}")
_DECODER = json.JSONDecoder(strict=False)  # some versions leave control characters in strings as they are
BANNER_LINES = 20


class Sink(Protocol):
    """Takes records one by one, so that those of a large answer are never all in memory."""

    def begin(self) -> None:
        """Forget what was taken: the answer is read anew, in another form."""
        ...

    def take(self, record: Record) -> None: ...


@dataclass(slots=True)
class Rows:
    """What an answer holds: records, LSF's complaints about single ids, and the lines around it.

    With a `sink` the records go there instead. `count` says how many there were.
    """

    records: list[Record] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    banner: list[str] = field(default_factory=list)
    sink: Sink | None = None
    count: int = 0

    def add(self, record: Record) -> None:
        self.count += 1
        if self.sink is None:
            self.records.append(record)
        else:
            self.sink.take(record)

    def note(self, line: str) -> None:
        """Keep a line that is no data."""
        if line.strip() and len(self.banner) < BANNER_LINES:
            self.banner.append(line.strip())


def text_of(data: bytes) -> str:
    """Bytes as text; a byte that is no UTF-8 becomes a lone surrogate."""
    return data.decode("utf-8", "surrogateescape")


class Undecodable(ProtocolError):
    """An answer that is there but not in the form that was asked for; another form may still work."""


def broken(table: Table, what: str, line: str = "") -> Undecodable:
    """The error for an answer that cannot be read."""
    shown = f": {clean(line.strip(), 120)}" if line else ""
    return Undecodable(
        f"{table.command} gave an answer that cannot be read ({what}{shown})",
        f"Run `{table.command}` by hand and look at what it prints.",
    )


def _begun(sink: Sink | None) -> Rows:
    if sink is not None:
        sink.begin()
    return Rows(sink=sink)


def read_json(text: str, table: Table, sink: Sink | None = None) -> Rows:
    """Tier A. Decodes one record after the other, so that a large answer never holds the interpreter for long.

    Raises ProtocolError for anything that is not the whole of a JSON answer.
    """
    head = _HEAD.search(text)
    start = _RECORDS.search(text, head.end()) if head else None
    if head is None or start is None:
        raise broken(table, "no JSON records", text[:200])
    rows = _begun(sink)
    for line in text[: head.start()].splitlines():
        rows.note(line)
    end = _read_records(text, start.end(), table, rows)
    tail = _TAIL.match(text, end)
    if tail is None:
        raise broken(table, "JSON cut off", text[end : end + 80])
    for line in text[tail.end() :].splitlines():
        rows.note(line)
    return rows


def _read_records(text: str, position: int, table: Table, rows: Rows) -> int:
    """Read records from behind the ``[``; returns the position behind the ``]``."""
    while text[position : position + 1].isspace():
        position += 1
    if text[position : position + 1] == "]":
        return position + 1
    decode, between, add = _DECODER.raw_decode, _BETWEEN.match, rows.add
    while True:
        try:
            record, position = decode(text, position)
        except ValueError as error:
            raise broken(table, "invalid JSON", text[position : position + 80]) from error
        step = between(text, position)
        if step is None or type(record) is not dict:
            raise broken(table, "invalid JSON", text[position : position + 80])
        if "ERROR" in record:
            rows.complaints.append(str(record["ERROR"]))
        else:
            add(_plain(record))
        position = step.end()
        if step[1] == "]":
            return position


def _plain(record: Record) -> Record:
    """Values as text: newer versions may write numbers, and some clones write ``-`` for nothing."""
    for name, value in record.items():
        if type(value) is not str:
            record[name] = "" if value is None else str(value)
        elif value == "-":
            record[name] = ""
    return record


def read_delimited(
    text: str, table: Table, columns: Sequence[str], delimiter: str = DELIMITER, sink: Sink | None = None
) -> Rows:
    """Tier B. `columns` as they were asked for; the last one may hold the delimiter."""
    names = [name.upper() for name in columns]
    rows, lines = _begun(sink), _lines(text)
    for line in lines:
        if [cell.strip().upper() for cell in line.split(delimiter)] == names:
            break
        rows.note(line)
    else:
        if any(rows.banner):
            raise broken(table, "no header line", rows.banner[0])
        return rows
    return _read_rows(lines, table, names, delimiter, rows)


def _read_rows(lines: Iterator[str], table: Table, names: list[str], delimiter: str, rows: Rows) -> Rows:
    splits = len(names) - 1
    last = names[-1] if table.last and names[-1].lower() == table.last.lower() else None
    holds = table.checker(names)
    for line in lines:
        cells = line.split(delimiter, splits)
        if len(cells) <= splits or (last is None and delimiter in cells[-1]):
            rows.note(line)
            continue
        # Spelt out here, not `_cell`: this runs two million times for a large cluster.
        record = dict(zip(names, ["" if cell == "-" else cell for cell in map(str.strip, cells)], strict=True))
        if holds(record):
            rows.add(record)
        else:
            rows.note(line)
    return rows


def _cell(raw: str) -> str:
    """A value without its padding; ``-`` is none."""
    cell = raw.strip()
    return "" if cell == "-" else cell


def read_table(text: str, table: Table) -> Rows:
    """Tier C, but for bjobs: a header and blank-separated columns, the last perhaps with blanks in it.

    A host that is down has a short row; two columns that have run into each other are both unknown.
    """
    rows, lines = Rows(), _lines(text)
    names: list[str] = []
    for line in lines:
        if line.split()[:1] == [table.key]:
            names = [table.renamed.get(name, name.upper()) for name in line.split()]
            break
        rows.note(line)
    if not names:
        if rows.banner:
            raise broken(table, "no header line", rows.banner[0])
        return rows
    holds = table.checker(names)
    for line in lines:
        record = _table_record(line, names, table)
        if record is not None and holds(record):
            rows.add(record)
        else:
            rows.note(line)
    return rows


def _table_record(line: str, names: list[str], table: Table) -> Record | None:
    free = table.last is not None and names[-1] == table.last.upper()
    cells = line.split(None, len(names) - 1) if free else line.split()
    if len(cells) > len(names):
        return None
    if len(cells) == len(names) - 1 and "IT" in names and "TMP" in names and len(cells) > 2:
        cells = _unglue(cells, names.index("IT"))
    cells += [""] * (len(names) - len(cells))
    return dict(zip(names, [_cell(cell) for cell in cells], strict=True))


def _unglue(cells: list[str], at: int) -> list[str]:
    """``274810648G``: idle minutes and free disk space without a blank between them. Where one ends cannot be told."""
    return [*cells[:at], "", "", *cells[at + 1 :]]


def _lines(text: str) -> Iterator[str]:
    """Lines at newlines only: a form feed or a Unicode separator in a name is no end of line."""
    return iter(text.split("\n"))
