"""Appending: on disk or not at all, one chain whoever writes, and nothing that others may read or replace."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.audit import AuditError, AuditLog, verify
from console.audit import files as audit_files


def lines(log: AuditLog) -> list[bytes]:
    return log.paths.log.read_bytes().splitlines(keepends=True)


def test_the_first_line_makes_private_files(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "a" / "audit", host="login1.example.org")
    record = log.append("intent", action="cancel")
    assert log.paths.log.name == "audit-login1.example.org.jsonl"
    assert stat.S_IMODE(log.paths.folder.stat().st_mode) == 0o700
    for path in (log.paths.log, log.paths.head, log.paths.key, log.paths.lock):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert (record["seq"], record["v"], record["kind"], record["prev"]) == (1, 1, "intent", "0" * 64)
    assert record["host"] == "login1.example.org" and record["person"]


def test_a_host_name_is_no_path(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit", host="../../etc/x")
    log.append("intent")
    assert log.paths.log.parent == tmp_path / "audit"


def test_no_umask_opens_the_files(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        log = AuditLog(tmp_path / "audit")
        log.append("intent")
    finally:
        os.umask(before)
    assert stat.S_IMODE(log.paths.key.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.paths.log.stat().st_mode) == 0o600


@pytest.mark.parametrize("which", ["log", "head", "key", "lock", "folder"])
def test_what_is_open_to_others_is_refused_with_the_cure(tmp_path: Path, which: str) -> None:
    log = AuditLog(tmp_path / "audit")
    log.append("intent")
    path: Path = getattr(log.paths, which)
    path.chmod(0o755 if which == "folder" else 0o644)
    with pytest.raises(AuditError) as failure:
        log.append("result")
    assert failure.value.hint.startswith("chmod ")
    assert len(lines(log)) == 1


@pytest.mark.parametrize("which", ["log", "key", "lock"])
def test_a_link_is_not_followed(tmp_path: Path, which: str) -> None:
    log = AuditLog(tmp_path / "audit")
    log.append("intent")
    path: Path = getattr(log.paths, which)
    elsewhere = tmp_path / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    with pytest.raises(AuditError):
        log.append("result")


def test_a_linked_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "audit").symlink_to(tmp_path / "real")
    with pytest.raises(AuditError, match="no folder of its own"):
        AuditLog(tmp_path / "audit").append("intent")


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a file away needs root")
def test_what_belongs_to_somebody_else_is_refused(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit")
    log.append("intent")
    os.chown(log.paths.log, 12345, 12345)
    with pytest.raises(AuditError, match="belongs to another user"):
        log.append("result")


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AuditError, match="cannot be used for the audit log") as failure:
        AuditLog(tmp_path / "file" / "audit").append("intent")
    assert "PILOTHOUSE_STATE_DIR" in failure.value.hint


def test_the_state_folder_can_be_set(state_dir: Path) -> None:
    log = AuditLog()
    log.append("intent")
    assert log.paths.folder == state_dir / "audit"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("after", [0, 1])
def test_a_line_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, after: int
) -> None:
    """`after` 0: the line itself fails half way; 1: the head file does."""
    log = AuditLog(tmp_path / "audit")
    log.append("intent")
    before = lines(log), log.paths.head.read_bytes()
    calls = 0

    def full(fd: int, data: bytes) -> None:
        nonlocal calls
        calls += 1
        if calls > after:
            os.write(fd, data[: len(data) // 2])
            raise OSError(code, os.strerror(code))
        os.write(fd, data)

    with monkeypatch.context() as patch:
        patch.setattr("console.audit.log.write_all", full)
        patch.setattr("console.audit.files.write_all", full)
        with pytest.raises(AuditError, match=os.strerror(code)):
            log.append("result")
    assert (lines(log), log.paths.head.read_bytes()) == before
    log.append("result")
    assert verify(log.paths.log).ok and len(lines(log)) == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    fd = os.open("/dev/full", os.O_WRONLY)
    try:
        with pytest.raises(OSError, match="No space left"):
            audit_files.write_all(fd, b"line")
    finally:
        os.close(fd)


def test_a_torn_last_line_is_taken_off_and_said(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit")
    log.append("intent", action="cancel")
    with log.paths.log.open("ab") as file:
        file.write(b'{"action":"half')
    assert verify(log.paths.log).ok and "incomplete line of 15 bytes" in str(verify(log.paths.log).notes[0])
    log.append("intent", action="hold")
    kinds = [record["kind"] for record in log.records()]
    assert kinds == ["intent", "recovered", "intent"]
    recovered = list(log.records())[1]
    assert recovered["bytes"] == 15 and recovered["text"] == '{"action":"half'
    found = verify(log.paths.log)
    assert found.ok and found.notes


def test_a_writer_that_died_before_the_head_file(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit")
    log.append("intent")
    head = log.paths.head.read_bytes()
    log.append("result")
    log.append("result")
    log.paths.head.write_bytes(head)
    found = verify(log.paths.log)
    assert found.ok and "2 behind" in str(found.notes[0])
    log.append("intent")
    assert [record["kind"] for record in log.records()] == ["intent", "result", "result", "intent"]
    assert verify(log.paths.log) == verify(log.paths.log) and verify(log.paths.log).ok


@pytest.mark.parametrize("damage", ["cut", "head_gone", "head_damaged", "altered", "all_gone"])
def test_what_was_broken_stays_on_record(tmp_path: Path, damage: str) -> None:
    """Work goes on, but no later line can hide it."""
    log = AuditLog(tmp_path / "audit")
    for number in range(5):
        log.append("intent", number=number)
    kept = lines(log)
    if damage == "cut":
        log.paths.log.write_bytes(b"".join(kept[:3]))
    elif damage == "head_gone":
        log.paths.head.unlink()
    elif damage == "head_damaged":
        log.paths.head.write_bytes(b"{}")
    elif damage == "altered":
        log.paths.log.write_bytes(b"".join(kept[:4]) + kept[4].replace(b'"number":4', b'"number":9'))
    else:
        log.paths.log.write_bytes(b"")
    log.append("intent", number=5)
    assert [record["kind"] for record in log.records()][-2:] == ["broken", "intent"]
    log.append("intent", number=6)
    assert not verify(log.paths.log).ok


def test_a_log_that_lost_its_key_is_not_written(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit")
    log.append("intent")
    log.paths.key.unlink()
    with pytest.raises(AuditError, match="key of the audit log") as failure:
        log.append("intent")
    assert "Bring it back" in failure.value.hint
    assert not log.paths.key.exists()


def test_threads_keep_one_chain(tmp_path: Path) -> None:
    """Also those that have each opened the log by themselves."""
    log = AuditLog(tmp_path / "audit")
    logs = [log, log, AuditLog(tmp_path / "audit"), AuditLog(tmp_path / "audit")]

    def write(one: AuditLog) -> None:
        for _ in range(10):
            one.append("intent")

    threads = [threading.Thread(target=write, args=(one,)) for one in logs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verify(log.paths.log).ok and len(lines(log)) == 40


def test_processes_keep_one_chain(tmp_path: Path) -> None:
    """Also from the very first line, when each of them would make the key."""
    script = (
        "import sys; from pathlib import Path; from console.audit import AuditLog\n"
        "log = AuditLog(Path(sys.argv[1]))\n"
        "for number in range(15): log.append('intent', number=number)\n"
    )
    root = Path(__file__).parents[3]
    running = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "audit")], cwd=root) for _ in range(4)]
    assert [process.wait(60) for process in running] == [0] * 4
    log = AuditLog(tmp_path / "audit")
    found = verify(log.paths.log)
    assert found.ok and found.lines == 60, found.problems


def test_a_writer_killed_at_any_moment_leaves_a_log_that_goes_on(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from console.audit import AuditLog\n"
        "log = AuditLog(Path(sys.argv[1]))\n"
        "while True: log.append('intent', text='x' * 5000); print('.', flush=True)\n"
    )
    root = Path(__file__).parents[3]
    log = AuditLog(tmp_path / "audit")
    said = 0
    for count in (1, 3, 7):
        process = subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path / "audit")], cwd=root, stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        try:
            for _ in range(count):
                assert process.stdout.readline()
                said += 1
        finally:
            process.kill()
            said += len(process.communicate(timeout=10)[0].splitlines())
        log.append("intent")
        said += 1
    found = verify(log.paths.log)
    assert found.ok, found.problems
    assert said <= found.lines


def test_a_line_can_be_written_on_a_condition(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit")
    assert log.append_if(lambda: False, "result") is None
    assert not log.paths.log.exists()
    assert log.append_if(lambda: True, "result") is not None


def test_the_anchor_is_told_each_head(tmp_path: Path) -> None:
    told: list[Any] = []
    log = AuditLog(tmp_path / "audit", host="h", anchor=lambda host, head: told.append((host, head)))
    log.append("intent")
    log.append("result")
    assert [(host, head.count) for host, head in told] == [("h", 1), ("h", 2)]
    assert told[-1][1] == verify(log.paths.log).head


def test_tail(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit")
    assert log.tail(3) == []
    for number in range(10):
        log.append("intent", number=number)
    assert [record["number"] for record in log.tail(3)] == [7, 8, 9]
    assert len(log.tail(50)) == 10 and log.tail(0) == []


names = st.text(max_size=40) | st.sampled_from(["a\nb", "x\u2028y", "\0", '"}\n{"seq":99', "\udc80", "\x1b[2J"])


@settings(max_examples=40, deadline=None)
@given(values=st.lists(st.dictionaries(names, st.recursive(names | st.integers() | st.none() | st.booleans(),
       lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=8),
       max_size=4), max_size=5))  # fmt: skip
def test_no_text_forges_a_line(tmp_path_factory: pytest.TempPathFactory, values: list[dict[str, Any]]) -> None:
    log = AuditLog(tmp_path_factory.mktemp("log") / "audit")
    for value in values:
        log.append("intent", parameters=value)
    if values:
        assert len(log.paths.log.read_bytes().split(b"\n")) == len(values) + 1
        assert log.paths.log.read_bytes().isascii()
        assert verify(log.paths.log).ok
        assert [record["seq"] for record in log.records()] == list(range(1, len(values) + 1))


def test_a_field_cannot_pose_as_one_of_the_log(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit")
    record = log.append("intent", seq=7, prev="x", person="root2", mac="0", time="never", host="other")
    assert record["seq"] == 1 and record["person"] != "root2" and record["host"] == log.host
    assert verify(log.paths.log).ok


def test_every_line_is_one_json_object(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit")
    log.append("intent", parameters={"name": "bad\nname"})
    (line,) = lines(log)
    assert json.loads(line)["parameters"]["name"] == "bad\nname"
