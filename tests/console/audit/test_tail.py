"""The end of a log, however long it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.audit import AuditError, AuditLog
from console.audit.tail import last_records


def test_the_last_lines_oldest_first(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit")
    for n in range(5):
        log.append("intent", action=f"a{n}")
    assert [record["action"] for record in log.tail(3)] == ["a2", "a3", "a4"]
    assert [record["action"] for record in log.tail(9)] == ["a0", "a1", "a2", "a3", "a4"]
    assert log.tail(0) == [] and AuditLog(tmp_path / "none").tail(3) == []


def test_a_line_without_its_end_is_none_yet(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit")
    log.append("intent", action="whole")
    with log.paths.log.open("ab") as file:
        file.write(b'{"seq": 2, "action": "torn"')
    assert [record["action"] for record in log.tail(5)] == ["whole"]


def test_of_a_large_log_only_the_end_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = AuditLog(tmp_path / "audit")
    log.append("intent", action="x")
    line = b'{"seq":%d,"action":"' + b"y" * 1000 + b'"}\n'
    with log.paths.log.open("wb") as file:
        for n in range(20_000):
            file.write(line % n)
    read: list[int] = []
    real = open

    class Counted:
        def __init__(self, file: object) -> None:
            self._file = file

        def __getattr__(self, name: str) -> object:
            return getattr(self._file, name)

        def __enter__(self) -> Counted:
            return self

        def __exit__(self, *_: object) -> None:
            self._file.close()  # type: ignore[attr-defined]

        def read(self, size: int) -> bytes:
            read.append(size)
            return self._file.read(size)  # type: ignore[attr-defined,no-any-return]

    monkeypatch.setattr("console.audit.tail.os.fdopen", lambda fd, mode: Counted(real(fd, mode)))
    assert [record["seq"] for record in log.tail(100)] == list(range(19_900, 20_000))
    assert sum(read) <= 512 * 1024
    read.clear()
    assert len(last_records(log.paths.log, 20_000, most_bytes=1024 * 1024)) < 1100
    assert sum(read) <= 1024 * 1024


def test_a_log_that_others_can_read_is_refused(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit")
    log.append("intent")
    log.paths.log.chmod(0o644)
    with pytest.raises(AuditError):
        log.tail(3)
