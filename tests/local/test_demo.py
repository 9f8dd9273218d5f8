"""`pilothouse demo --headless`, `serve` and `worker` as a person starts them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import httpx
import pytest

from adapters.local.strays import strays
from tests.local.api import Api, until


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "console", *arguments]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_demo_runs_small_jobs_and_leaves_nothing(number: signal.Signals) -> None:
    demo = subprocess.Popen(command("demo", "--headless"), stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    assert demo.stdout is not None
    try:
        place = json.loads(demo.stdout.readline())
        assert set(place) == {"url", "config", "admin_key_file"}
        config = tomllib.loads(Path(place["config"]).read_text())
        assert (config["version"], config["default_cluster"]) == (1, "demo")
        assert config["clusters"]["demo"] == {
            "type": "native", "url": place["url"], "token_file": place["admin_key_file"],
        }  # fmt: skip
        assert Path(place["admin_key_file"]).stat().st_mode & 0o077 == 0
        with httpx.Client(base_url=place["url"], timeout=20) as http:
            api = Api(http, Path(place["admin_key_file"]).read_text().strip())
            until(lambda: len(api.get("/api/admin/nodes")) == 3)
            assert {node["max_slots"] for node in api.get("/api/admin/nodes")} == {8}
            until(lambda: {"PEND", "RUN", "DONE"} <= {job["status"] for job in api.get("/xce/v1/jobs")})
            assert len({job["queue"] for job in api.get("/xce/v1/jobs")}) >= 2
        folder = Path(place["config"]).parent
        demo.send_signal(number)
        assert demo.wait(40) == 0
        assert not strays(folder) and not folder.exists()
        assert demo.stdout.read() == "", "one line of JSON and nothing else"
    finally:
        demo.kill()
        demo.wait()
        demo.stdout.close()


def test_serve_and_worker_by_hand(tmp_path: Path) -> None:
    data = tmp_path / "data"
    environment = os.environ | {"DCTS_MAX_SLOTS": "3"}
    # folders are named as a person does it: relative to where the command is given
    server = subprocess.Popen(
        command("serve", "--data", "data", "--port", "0"), stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    worker = None
    try:
        assert server.stdout is not None
        url = server.stdout.readline().split()[-1]
        assert str(data / "admin.key") in server.stdout.readline()
        options = ("--url", url, "--name", "mine", "--token-file", "data/join.token", "--state", "state")
        worker = subprocess.Popen(command("worker", *options), env=environment, cwd=tmp_path)
        with httpx.Client(base_url=url, timeout=20) as http:
            api = Api(http, (data / "admin.key").read_text().strip())
            until(lambda: any(node["status"] != "offline" for node in api.get("/api/admin/nodes")))
            assert api.node("mine")["max_slots"] == 3
            wanted = tmp_path / "out-%J"
            job = api.submit("echo hello; pwd", output=str(wanted), cwd=str(tmp_path), env={"A": "b"})
            assert api.wait(job)["status"] == "DONE"
            assert (tmp_path / f"out-{job}").read_text() == f"hello\n{tmp_path}\n"
            script = api.submit(f"#!{sys.executable}\nimport os\nprint(os.environ['LSB_JOBINDEX'])\n", array="7")
            assert api.wait(script)["status"] == "DONE"
    finally:
        for process in (worker, server):
            if process is not None:
                process.terminate()
        codes = [process.wait(20) for process in (worker, server) if process is not None]
        assert server.stdout is not None
        server.stdout.close()
    assert codes == [0, 0]
