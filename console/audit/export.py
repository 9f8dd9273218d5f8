"""The log for other programs: lines as they are, or a table for a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Literal

COLUMNS = (
    "seq", "time", "host", "person", "identity", "origin", "cluster", "kind", "action", "targets", "decision", "rule",
    "outcome", "seconds", "plan_id", "message",
)  # fmt: skip
Format = Literal["jsonl", "csv"]


def export(
    records: Iterable[Mapping[str, Any]],
    form: Format = "jsonl",
    *,
    since: datetime | None = None,
    until: datetime | None = None,
) -> Iterator[str]:
    """Lines of text, each with its newline: JSON of every record of that span, or CSV of the fields most asked for."""
    chosen = (record for record in records if _within(record, since, until))
    if form == "jsonl":
        for record in chosen:
            yield json.dumps(record, sort_keys=True, ensure_ascii=True) + "\n"
        return
    yield _row(COLUMNS)
    for record in chosen:
        yield _row([_cell(record.get(column)) for column in COLUMNS])


def _within(record: Mapping[str, Any], since: datetime | None, until: datetime | None) -> bool:
    try:
        at = datetime.fromisoformat(str(record.get("time")))
    except ValueError:
        return True  # a line without a readable time is never left out
    return (since is None or at >= since) and (until is None or at <= until)


def _cell(value: Any) -> str:
    """Text for one cell; what a spreadsheet would run as a formula gets a quote in front."""
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=True)
    return "'" + text if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _row(cells: Iterable[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()
