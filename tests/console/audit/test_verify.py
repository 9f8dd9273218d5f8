"""Verification: whatever is done to the log afterwards is found, and where."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.audit import AuditError, AuditLog, verify


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[AuditLog, bytes, bytes]:
    log = AuditLog(tmp_path_factory.mktemp("verify") / "audit")
    for number in range(8):
        log.append("intent" if number % 2 == 0 else "result", number=number)
    return log, log.paths.log.read_bytes(), log.paths.head.read_bytes()


def found_in(written: tuple[AuditLog, bytes, bytes], data: bytes, head: bytes | None = None) -> list[str]:
    """The problems of the log with other bytes in its place; the log is put back."""
    log, before, head_before = written
    log.paths.log.write_bytes(data)
    if head is not None:
        log.paths.head.write_bytes(head)
    try:
        return [str(problem) for problem in verify(log.paths.log).problems]
    finally:
        log.paths.log.write_bytes(before)
        log.paths.head.write_bytes(head_before)


def test_an_untouched_log_holds(written: tuple[AuditLog, bytes, bytes]) -> None:
    found = verify(written[0].paths.log)
    assert found.ok and found.lines == 8 and found.head.count == 8 and not found.notes


@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_a_flipped_bit_is_found(written: tuple[AuditLog, bytes, bytes], data: st.DataObject) -> None:
    whole = bytearray(written[1])
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= 1 << data.draw(st.integers(0, 7))
    assert found_in(written, bytes(whole))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_lines_removed_doubled_or_reordered_are_found(
    written: tuple[AuditLog, bytes, bytes], data: st.DataObject
) -> None:
    lines = written[1].splitlines(keepends=True)
    other = data.draw(st.lists(st.sampled_from(lines), max_size=9).filter(lambda some: some != lines))
    assert found_in(written, b"".join(other))


@pytest.mark.parametrize("keep", range(8))
def test_a_cut_tail_is_found(written: tuple[AuditLog, bytes, bytes], keep: int) -> None:
    lines = written[1].splitlines(keepends=True)
    problems = found_in(written, b"".join(lines[:keep]))
    assert problems == [f"the log was cut: the head file says 8 lines, there are {keep}"]


def test_the_line_at_fault_is_named(written: tuple[AuditLog, bytes, bytes]) -> None:
    problems = found_in(written, written[1].replace(b'"number":3', b'"number":4'))
    assert problems[0] == "line 4: was altered, or was written with another key"
    assert problems[1].startswith("line 5: does not follow from the line before")


def test_another_key_is_found(written: tuple[AuditLog, bytes, bytes], tmp_path: Path) -> None:
    other = AuditLog(tmp_path / "other")
    other.append("intent")
    problems = found_in(written, other.paths.log.read_bytes(), other.paths.head.read_bytes())
    assert problems == [
        "line 1: was altered, or was written with another key",
        "the head file is damaged or was written with another key",
    ]


def test_an_older_head_file_does_not_hide_a_cut(written: tuple[AuditLog, bytes, bytes]) -> None:
    """A head that is behind is a note; one whose line is not in the log is a problem."""
    log = written[0]
    lines = written[1].splitlines(keepends=True)
    assert found_in(written, b"".join(lines[:2] + lines[3:]))
    log.paths.head.unlink()
    try:
        assert "head file is missing" in str(verify(log.paths.log).problems[0])
    finally:
        log.paths.head.write_bytes(written[2])
        log.paths.head.chmod(0o600)


def test_a_later_version_is_named(written: tuple[AuditLog, bytes, bytes]) -> None:
    problems = found_in(written, written[1].replace(b'"v":1', b'"v":2'))
    assert problems[0] == "line 1: is of version 2; this program knows version 1"


def test_no_log_and_no_key(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit")
    with pytest.raises(AuditError, match="there is no audit log"):
        verify(log.paths.log)
    log.append("intent")
    log.paths.key.unlink()
    with pytest.raises(AuditError, match="key of the audit log"):
        verify(log.paths.log)
    assert not log.paths.key.exists()
