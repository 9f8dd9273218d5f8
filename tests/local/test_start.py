"""What keeps a server or worker from starting is one line that names the thing, and exit code 1."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.local import schema, seed
from adapters.local.cgroups import delegated, make_group, own_group, remove_group
from adapters.local.problem import StartError
from tests.local.conftest import Server


def start(*arguments: str, **environment: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "console", *arguments], capture_output=True, text=True, timeout=60,
        stdin=subprocess.DEVNULL, env=os.environ | environment,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr.strip()


def test_a_taken_port(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, said = start("serve", "--data", str(tmp_path / "data"), "--port", str(port))
    assert code == 1 and len(said.splitlines()) == 1
    assert f"port {port}" in said and "--port" in said


def test_an_address_that_is_not_ours(tmp_path: Path) -> None:
    code, said = start("serve", "--data", str(tmp_path / "data"), "--host", "203.0.113.7", "--port", "0")
    assert code == 1 and "203.0.113.7" in said and len(said.splitlines()) == 1


def test_a_data_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("x")
    code, said = start("serve", "--data", str(tmp_path / "data"))
    assert code == 1 and str(tmp_path / "data") in said and len(said.splitlines()) == 1


def test_a_data_folder_that_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema.os, "access", lambda path, mode: False)
    with pytest.raises(StartError, match="cannot be read and written"):
        seed.set_up(tmp_path / "data")


def test_a_data_folder_in_use(server: Server) -> None:
    with pytest.raises(StartError, match="another server"):
        from adapters.local.lockfile import hold

        with hold(server.folder, "server"), hold(server.folder, "server"):
            pass


@pytest.mark.parametrize("kind", sorted(schema.NETWORK_FILE_SYSTEMS))
def test_write_ahead_logging_is_refused_on_network_file_systems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(schema, "file_system", lambda path: kind)
    with pytest.raises(StartError, match="network file system"):
        schema.prepare_folder(tmp_path / "data")


def test_the_file_system_of_a_folder_is_that_of_the_longest_mount_point(tmp_path: Path) -> None:
    here = str(tmp_path.resolve()).replace(" ", "\\040")
    table = f"/dev/sda / ext4 rw 0 0\nhost:/x {here} nfs4 rw 0 0\ntmpfs {here}x tmpfs rw 0 0\n"
    assert schema.file_system(tmp_path / "data", table) == "nfs4"
    assert schema.file_system(Path("/"), table) == "ext4"


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    seed.set_up(tmp_path / "data")
    with sqlite3.connect(tmp_path / "data" / "cluster.db") as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    code, said = start("serve", "--data", str(tmp_path / "data"))
    assert code == 1 and "version 99" in said and len(said.splitlines()) == 1


def test_a_database_that_is_none_of_ours_or_none_at_all(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "cluster.db"
    path.write_bytes(b"not a database, but a text that is long enough to be looked at" * 20)
    with pytest.raises(StartError, match=r"cluster\.db"):
        seed.set_up(tmp_path / "data")
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE songs (name TEXT)")
    db.close()
    with pytest.raises(StartError, match="none of an embedded cluster"):
        seed.set_up(tmp_path / "data")


def test_a_migration_runs_once_and_is_whole_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seed.set_up(tmp_path / "data")

    def to_two(db: sqlite3.Connection) -> None:
        db.execute("ALTER TABLE users ADD COLUMN email TEXT")

    def fails(db: sqlite3.Connection) -> None:
        to_two(db)
        raise sqlite3.OperationalError("power cut")

    monkeypatch.setattr(schema, "VERSION", 2)
    monkeypatch.setattr(schema, "MIGRATIONS", {1: fails})
    with pytest.raises(StartError, match="power cut"):
        schema.open_database(tmp_path / "data")
    monkeypatch.setattr(schema, "MIGRATIONS", {1: to_two})
    for _ in range(2):
        db, _ = schema.open_database(tmp_path / "data")
        assert db.execute("PRAGMA user_version").fetchone()[0] == 2
        assert [row["name"] for row in db.execute("PRAGMA table_info(users)")].count("email") == 1
        db.close()


@pytest.mark.parametrize(
    ("text", "word"),
    [("version = 1\n[queues.a]\ntypo = 1", "typo"), ("version = 2\n[queues.a]", "version"), ("[[", "queues.toml"),
     ("version = 1", "no \\[queues"), ('version = 1\n[queues.a]\nrun_limit = "soon"', "HH:MM")],
)  # fmt: skip
def test_a_queue_file_that_cannot_be_used(tmp_path: Path, text: str, word: str) -> None:
    seed.set_up(tmp_path / "data")
    (tmp_path / "data" / "queues.toml").write_text(text)
    with pytest.raises(StartError, match=word):
        seed.set_up(tmp_path / "data")


def test_a_full_disk_refuses_the_write_and_the_server_lives_on(server: Server) -> None:
    """The database may not grow beyond the pages it has: what SQLite then says is what it says of a full disk."""
    pages = server.cluster.db._connection.execute("PRAGMA page_count").fetchone()[0]
    server.cluster.db._connection.execute(f"PRAGMA max_page_count = {pages}")
    message = server.admin.refused(503, "POST", "/xce/v1/jobs", {"command": "x" * 200_000})
    assert "full" in message
    assert server.admin.get("/xce/v1/jobs") == []
    server.cluster.db._connection.execute("PRAGMA max_page_count = 1073741823")
    assert server.admin.submit() == 1


def test_a_full_disk_at_the_start(tmp_path: Path) -> None:
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("mounting a small file system needs root")
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(small)], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"cannot mount here: {mounted.stderr.decode().strip()}")
    try:
        code, said = start("serve", "--data", str(small / "data"), "--port", "0")
        assert code == 1 and str(small) in said and len(said.splitlines()) == 1
    finally:
        subprocess.run(["umount", str(small)], check=True)


@pytest.mark.parametrize(
    ("content", "mode", "word"),
    [(None, 0o600, "cannot read"), ("xce_join_x", 0o644, "chmod 600"), ("hello", 0o600, "neither")],
)
def test_a_token_file_that_cannot_be_used(tmp_path: Path, content: str | None, mode: int, word: str) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_text(content)
        path.chmod(mode)
    code, said = start("worker", "--url", "http://127.0.0.1:9", "--name", "n", "--token-file", str(path),
                       "--state", str(tmp_path / "state"), "--slots", "1")  # fmt: skip
    assert code == 1 and word in said and str(path) in said and len(said.splitlines()) == 1


def test_slots_come_from_the_environment_too(tmp_path: Path) -> None:
    from argparse import ArgumentParser

    from adapters.local.options import configure_worker, slots_of

    parser = ArgumentParser()
    configure_worker(parser)
    common = ["--url", "x", "--name", "n", "--token-file", "f"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DCTS_MAX_SLOTS", "7")
        assert slots_of(parser.parse_args(common)) == 7
        assert slots_of(parser.parse_args([*common, "--slots", "3"])) == 3
    code, said = start("worker", *common, DCTS_MAX_SLOTS="many")
    assert code == 2 and "DCTS_MAX_SLOTS" in said


def test_a_name_that_has_joined_already_is_refused_to_another_worker(server: Server, tmp_path: Path) -> None:
    server.node("n1")
    code, said = start("worker", "--url", server.url, "--name", "n1", "--token-file", str(server.folder / "join.token"),
                       "--state", str(tmp_path / "state"), "--slots", "1")  # fmt: skip
    assert code == 1 and "n1 has joined already" in said


def test_secrets_are_readable_by_their_owner_only(server: Server) -> None:
    for name in ("admin.key", "join.token", "cluster.db"):
        assert (server.folder / name).stat().st_mode & 0o077 == 0
    assert server.folder.stat().st_mode & 0o077 == 0


def test_memory_limits_by_cgroup_where_a_part_of_the_tree_is_ours(tmp_path: Path) -> None:
    """On a tree of plain files, which says no more than that the right ones are written; see the kernel's manual."""
    proc, tree = tmp_path / "proc", tmp_path / "fs"
    group = tree / "user" / "pilothouse"
    group.mkdir(parents=True)
    proc.mkdir()
    (proc / "mountinfo").write_text(f"30 1 0:26 / {tree} rw - cgroup2 cgroup2 rw\n")
    (proc / "cgroup").write_text("0::/user/pilothouse\n")
    assert own_group(proc) == group
    assert delegated(group) is None, "no controllers are offered"
    (group / "cgroup.controllers").write_text("cpu memory")
    assert delegated(own_group(proc)) == group
    assert (group / "cgroup.subtree_control").read_text() == "+memory"
    assert (group / "worker" / "cgroup.procs").read_text() == str(os.getpid())
    job = make_group(group, "abc", 1000)
    assert (job / "memory.max").read_text() == "1000" and (job / "memory.oom.group").read_text() == "1"
    for file in job.iterdir():
        file.unlink()
    remove_group(group, "abc")
    assert not job.exists()
    assert delegated(None) is None
