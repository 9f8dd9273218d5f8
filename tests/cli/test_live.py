"""The real command on a real embedded cluster: processes, pipes, terminals, exit codes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.harness.demo import COMMAND, rows, run_command
from tests.harness.pty_console import PtyConsole

if TYPE_CHECKING:
    from adapters.local.launch import EmbeddedCluster

pytestmark = pytest.mark.usefixtures("state_dir")


def until(look: Callable[[], Any], seconds: float = 30) -> Any:
    """The first true value of `look`; fails after the deadline."""
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.1)
    return found


def submit(cluster: EmbeddedCluster, *argv: str, name: str, **options: str) -> str:
    """Submit a job and return its id."""
    words = [word for key, value in options.items() for word in (f"--{key}", value)]
    done = run_command("submit", "--yes", "--json", "--name", name, *words, "--", *argv, config=cluster.config)
    assert done.returncode == 0, done.stderr
    made: str = json.loads(done.stdout)["outcomes"][0]["created"]
    return made.removeprefix("demo/")


def job(cluster: EmbeddedCluster, id: str) -> dict[str, Any]:
    done = run_command("job", id, "--json", config=cluster.config)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def ended(cluster: EmbeddedCluster, id: str) -> dict[str, Any]:
    """The job once it is over. The waiting asks the server itself: that costs no process."""
    headers = {"authorization": cluster.admin_key}
    url = f"{cluster.url}/xce/v1/jobs/{id}"
    until(lambda: httpx.get(url, headers=headers).json()["data"]["status"] in ("DONE", "EXIT"))
    return job(cluster, id)


def test_a_job_runs_and_its_output_and_exit_code_come_back(embedded_cluster: EmbeddedCluster, tmp_path: Path) -> None:
    id = submit(
        embedded_cluster,
        *("sh", "-c", 'printf "out $WHO\\n\\033[2J"; pwd; echo err >&2; exit 3'),
        name="first",
        env="WHO=ada b",
        cwd=str(tmp_path),
        walltime="00:05",
    )
    told = ended(embedded_cluster, id)
    assert (told["status"], told["exit_code"], told["name"]) == ("failed", 3, "first")
    assert told["walltime_seconds"] == 300
    out = subprocess.run(
        [COMMAND, "--config", str(embedded_cluster.config), "logs", id], capture_output=True, timeout=60, check=True
    )
    assert out.stdout == f"out ada b\n\x1b[2J{tmp_path}\n".encode()
    assert run_command("logs", id, "--stderr", config=embedded_cluster.config).stdout == "err\n"
    assert run_command("logs", id, "--tail", "1", config=embedded_cluster.config).stdout.endswith(f"{tmp_path}\n")
    with PtyConsole([COMMAND, "--config", str(embedded_cluster.config), "logs", id]) as console:
        console.wait_for("out ada b")
        assert console.wait_exit() == 0
        assert b"\x1b[2J" not in console.raw
        assert "␛[2J" in console.text


def test_logs_follow_ends_with_the_job(embedded_cluster: EmbeddedCluster, tmp_path: Path) -> None:
    flag = tmp_path / "go"
    script = f"echo one; while [ ! -e {flag} ]; do sleep 0.1; done; echo two"
    id = submit(embedded_cluster, "sh", "-c", script, name="follow")
    argv = [COMMAND, "--config", str(embedded_cluster.config), "logs", id, "--follow"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as logs:
        try:
            assert logs.stdout is not None
            assert logs.stdout.readline() == "one\n"
            flag.touch()
            assert logs.stdout.readline() == "two\n"
            assert logs.wait(30) == 0
        finally:
            flag.touch()
            logs.kill()


def test_cancel_asks_on_a_terminal(embedded_cluster: EmbeddedCluster) -> None:
    id = submit(embedded_cluster, "sleep", "300", name="to-be-cancelled")
    argv = [COMMAND, "--config", str(embedded_cluster.config), "cancel", id]
    with PtyConsole(argv) as console:
        shown = console.wait_for("[y/N]")
        assert f"demo/{id} to-be-cancelled" in shown and f"POST /xce/v1/jobs/{id}/control" in shown
        console.type("n\r")
        assert console.wait_exit() == 1
        assert "declined; nothing was sent" in console.text
    assert job(embedded_cluster, id)["status"] in ("pending", "running")
    with PtyConsole(argv) as console:
        console.wait_for("[y/N]")
        console.press("ctrl+c")
        assert console.wait_exit() == 130
        assert "Traceback" not in console.text
    with PtyConsole(argv) as console:
        console.wait_for("[y/N]")
        console.type("y\r")
        assert console.wait_exit() == 0
        assert f"cancel: {id} accepted" in console.text
    assert ended(embedded_cluster, id)["status"] == "cancelled"
    kinds = [json.loads(line)["kind"] for line in run_command("audit", "tail", "--json").stdout.splitlines()]
    assert kinds == ["intent", "result", "declined", "declined", "intent", "result"]
    again = run_command("cancel", id, "--yes", config=embedded_cluster.config)
    assert again.returncode == 1 and "Traceback" not in again.stderr


def test_several_targets_need_their_number_typed(embedded_cluster: EmbeddedCluster) -> None:
    ids = [submit(embedded_cluster, "sleep", "300", name=f"bulk-{number}") for number in range(2)]
    argv = [COMMAND, "--config", str(embedded_cluster.config), "cancel", *ids]
    with PtyConsole(argv) as console:
        console.wait_for("Type the number of targets to go on:")
        console.type("y\r")
        assert console.wait_exit() == 1
    with PtyConsole(argv) as console:
        console.wait_for("Type the number of targets to go on:")
        console.type("2\r")
        assert console.wait_exit() == 0
    assert [ended(embedded_cluster, id)["status"] for id in ids] == ["cancelled", "cancelled"]


def test_quota_drain_and_undrain(embedded_cluster: EmbeddedCluster) -> None:
    def node() -> dict[str, Any]:
        return next(node for node in rows("nodes", embedded_cluster.config) if node["name"] == "node2")

    until(lambda: node()["slots_total"] == 4)
    try:
        assert run_command("quota", "node2", "1", "--yes", config=embedded_cluster.config).returncode == 0
        assert node()["slots_quota"] == 1
        argv = ("drain", "node2", "--reason", "disk", "--yes")
        assert run_command(*argv, config=embedded_cluster.config).returncode == 0
        assert (node()["status"], node()["reason"]) == ("drain", "disk")
        table = run_command("nodes", "--status", "drain", config=embedded_cluster.config).stdout.splitlines()
        assert len(table) == 2 and "node2" in table[1] and "disk" in table[1]
    finally:
        run_command("undrain", "node2", "--yes", config=embedded_cluster.config)
        run_command("quota", "node2", "none", "--yes", config=embedded_cluster.config)
    assert (node()["status"] in ("idle", "busy"), node()["slots_quota"]) == (True, None)


def test_keys_are_made_listed_used_and_revoked(embedded_cluster: EmbeddedCluster, tmp_path: Path) -> None:
    config = embedded_cluster.config
    made = run_command("keys", "create", "bob", "--role", "mcp_readonly", "--yes", "--json", config=config)
    secret = json.loads(made.stdout)["outcomes"][0]["secret"]
    assert secret.startswith("xce_ak_")
    for log in Path(os.environ["PILOTHOUSE_STATE_DIR"], "audit").iterdir():
        assert secret not in log.read_text()
    listed = run_command("keys", "list", "--json", config=config).stdout
    (bob,) = [key for key in map(json.loads, listed.splitlines()) if key["owner"] == "bob"]
    assert bob["role"] == "mcp_readonly" and secret not in listed

    theirs = tmp_path / "bob.toml"
    (tmp_path / "bob.key").write_text(secret)
    (tmp_path / "bob.key").chmod(0o600)
    theirs.write_text(
        f'version = 1\n[clusters.demo]\ntype = "native"\nurl = "{embedded_cluster.url}"\ntoken_file = "bob.key"\n'
    )
    assert run_command("nodes", config=theirs).returncode == 0
    refused = run_command("quota", "node1", "1", "--yes", config=theirs)
    assert refused.returncode == 1 and "mcp_readonly" in refused.stderr

    assert run_command("keys", "revoke", bob["id"], "--yes", config=config).returncode == 0
    gone = run_command("nodes", config=theirs)
    assert gone.returncode == 1 and "Not signed in" in gone.stderr and "Traceback" not in gone.stderr


def test_a_reader_that_leaves_ends_it_quietly(embedded_cluster: EmbeddedCluster) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    argv = [COMMAND, "--config", str(embedded_cluster.config), "nodes", "--json"]
    left = subprocess.run(argv, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writing)
    assert (left.returncode, left.stderr) == (141, "")


def test_nobody_at_the_address_is_3(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: refused, and nobody else gets it
        config = tmp_path / "config.toml"
        port = taken.getsockname()[1]
        config.write_text(f'version = 1\n[clusters.demo]\ntype = "native"\nurl = "http://127.0.0.1:{port}"\n')
        for argv in (["jobs"], ["cancel", "1", "--yes"], ["doctor"]):
            done = run_command(*argv, config=config)
            assert done.returncode == 3, (argv, done.stdout, done.stderr)
            assert f"127.0.0.1:{port}" in done.stderr + done.stdout
            assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("prepare", "told"),
    [
        (lambda key: key.write_text("xce_ak_wrong"), "Not signed in"),
        (lambda key: key.chmod(0o644), "chmod 600"),
        (lambda key: key.unlink(), "my.key"),
    ],
)
def test_a_bad_key_is_said(
    embedded_cluster: EmbeddedCluster, tmp_path: Path, prepare: Callable[[Path], object], told: str
) -> None:
    key = tmp_path / "my.key"
    key.write_text("x")
    key.chmod(0o600)
    prepare(key)
    config = tmp_path / "config.toml"
    config.write_text(
        f'version = 1\n[clusters.demo]\ntype = "native"\nurl = "{embedded_cluster.url}"\ntoken_file = "my.key"\n'
    )
    done = run_command("jobs", config=config)
    assert done.returncode == 1 and told in done.stderr and "Traceback" not in done.stderr


def test_a_write_that_cannot_be_put_on_record_does_not_happen(
    embedded_cluster: EmbeddedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder is needed")
    monkeypatch.setenv("PILOTHOUSE_STATE_DIR", str(blocked))
    done = run_command("quota", "node1", "3", "--yes", config=embedded_cluster.config)
    assert done.returncode == 1 and "Cannot be put on record" in done.stderr and "Traceback" not in done.stderr
    node = next(node for node in rows("nodes", embedded_cluster.config) if node["name"] == "node1")
    assert node["slots_quota"] is None


def test_jobs_are_held_released_modified_suspended_resumed_and_waited_for(
    embedded_cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    config = embedded_cluster.config
    flag = tmp_path / "go"

    def do(*argv: str) -> None:
        done = run_command(*argv, "--yes", config=config)
        assert done.returncode == 0, (argv, done.stdout, done.stderr)

    script = f"while [ ! -e {flag} ]; do sleep 0.1; done"
    held = run_command("submit", "--hold", "--yes", "--json", "--", "sh", "-c", script, config=config)
    id = json.loads(held.stdout)["outcomes"][0]["created"].removeprefix("demo/")
    assert job(embedded_cluster, id)["raw_status"] == "PSUSP"
    do("modify", id, "--name", "renamed", "--memory", "64MB", "--walltime", "00:10")
    changed = job(embedded_cluster, id)
    assert (changed["name"], changed["memory_bytes"], changed["walltime_seconds"]) == ("renamed", 64_000_000, 600)
    do("release", id)
    until(lambda: job(embedded_cluster, id)["status"] == "running")
    do("suspend", id)
    assert job(embedded_cluster, id)["status"] == "suspended"
    early = run_command("wait", id, "--timeout", "1s", config=config)
    assert early.returncode == 1 and f"still not over: {id}" in early.stderr
    do("resume", id)
    flag.touch()
    waited = run_command("wait", id, config=config)
    assert (waited.returncode, waited.stdout) == (0, f"{id} succeeded, exit code 0\n")
    again = run_command("wait", id, id, "--json", config=config)
    assert again.returncode == 0 and json.loads(again.stdout)["id"] == id
    past = run_command("history", "--json", "--limit", "50", config=config)
    assert id in [json.loads(line)["id"] for line in past.stdout.splitlines()]
    failed = submit(embedded_cluster, "sh", "-c", "exit 4", name="fails")
    assert run_command("wait", failed, config=config).returncode == 1
    assert run_command("wait", "987654", config=config).returncode == 1
