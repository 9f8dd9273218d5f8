"""Whose jobs a worker runs: as root those of every user, as that user; else those of its own user only."""

from __future__ import annotations

import base64
import os
import pwd
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.local import runs
from adapters.local.launch import EmbeddedCluster
from tests.local.api import Api, until
from tests.local.conftest import Server

Own = Callable[..., tuple[EmbeddedCluster, Api]]
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")


@AS_ROOT
def test_a_worker_of_root_runs_a_job_as_the_user_who_submitted_it(own: Own, tmp_path: Path) -> None:
    _, api = own(1, 4)
    daemon = api.key_for("daemon", "user")
    job = daemon.submit("id -un; echo $HOME $USER; pwd", cwd="/")
    assert daemon.wait(job)["status"] == "DONE"
    data = base64.b64decode(daemon.get(f"/xce/v1/jobs/{job}/logs")["data"]).decode()
    home = pwd.getpwnam("daemon").pw_dir
    assert data.split("\n")[:3] == ["daemon", f"{home} daemon", "/"]
    script = daemon.submit("#!/bin/sh\nid -un\n", cwd="/")
    assert daemon.wait(script)["status"] == "DONE"


@AS_ROOT
def test_a_user_who_is_not_known_on_the_machine_is_said(own: Own) -> None:
    _, api = own(1, 4)
    ghost = api.key_for("no-such-user", "user")
    row = ghost.wait(ghost.submit("true"))
    assert row["status"] == "EXIT" and "no user 'no-such-user'" in row["pendreason"]


def test_a_worker_of_a_person_refuses_jobs_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs.os, "geteuid", lambda: 12345)
    monkeypatch.setattr(runs.getpass, "getuser", lambda: "ada")
    with pytest.raises(runs.Unrunnable, match="jobs of ada only, not of root"):
        runs.account("root")


def test_the_server_gives_such_a_worker_no_jobs_of_others_and_says_why_they_wait(server: Server) -> None:
    node = server.node("n1", users=["ada"])
    ada, bob = server.admin.key_for("ada", "user"), server.admin.key_for("bob", "user")
    of_bob, of_ada = bob.submit(priority=100), ada.submit()
    assert [task["task_id"] for task in node.claim()] == [of_ada]
    wanted = "No node runs jobs of bob: its worker has to run as root or as bob"
    until(lambda: bob.job(of_bob)["pendreason"] == wanted)


def test_a_job_sees_little_of_the_workers_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    task = {
        "task_id": 5, "lease": "l", "attempt": 1, "array_id": None, "array_index": None, "name": "n", "queue": "q",
        "env": {"MINE": "1", "PILOTHOUSE_LEASE": "forged"},
    }  # fmt: skip
    found = runs.environment(task, {"home": "/h", "user": "u", "shell": "/bin/sh"}, [0, 2])
    assert "AWS_SECRET_ACCESS_KEY" not in found
    assert (found["MINE"], found["PILOTHOUSE_LEASE"], found["CUDA_VISIBLE_DEVICES"]) == ("1", "l", "0,2")
