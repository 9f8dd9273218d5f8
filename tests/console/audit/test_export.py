"""The log for other programs."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from console.audit import AuditLog, all_logs, export


def test_lines_of_a_span(tmp_path: Path) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    at = iter(start + timedelta(hours=hour) for hour in range(5))
    log = AuditLog(tmp_path / "audit", clock=lambda: next(at))
    for number in range(5):
        log.append("intent", number=number)
    told = export(log.records(), since=start + timedelta(hours=1), until=start + timedelta(hours=3))
    assert [json.loads(line)["number"] for line in told] == [1, 2, 3]


def test_a_table_runs_no_formula(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit")
    log.append("intent", action="=HYPERLINK(1)", message='a,"b\nc')
    rows = list(csv.DictReader(io.StringIO("".join(export(log.records(), "csv")))))
    assert len(rows) == 1
    assert rows[0]["action"] == "'=HYPERLINK(1)" and rows[0]["message"] == 'a,"b\nc' and rows[0]["kind"] == "intent"


def test_logs_of_every_host(tmp_path: Path) -> None:
    for host in ("b", "a"):
        AuditLog(tmp_path / "audit", host=host).append("intent")
    assert [path.name for path in all_logs(tmp_path / "audit")] == ["audit-a.jsonl", "audit-b.jsonl"]
