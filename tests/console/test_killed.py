"""kill -9 in the middle of a write: nothing is lost, nothing is sent twice, and the record says what became of it."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from adapters.local.launch import launch
from console.audit import AuditLog, verify
from console.config import load
from console.engine import Engine
from tests.console.waiting import until
from tests.doubles.tcp_proxy import proxy_to

SUBMIT = ("submit", "--yes", "--name", "orphan", "--", "sleep", "1")


async def test_a_submit_whose_console_was_killed_is_found_at_the_next_start(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    log = AuditLog(state / "audit")
    with launch(workers=0) as cluster:
        async with proxy_to(cluster.url) as network:
            network.writes = "mute"
            config = tmp_path / "config.toml"
            config.write_text(cluster.config.read_text().replace(cluster.url, network.url))
            config.chmod(0o600)
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "console", "--config", str(config), *SUBMIT,
                env=os.environ | {"PILOTHOUSE_STATE_DIR": str(state)}, cwd=Path(__file__).parents[2],
                stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
            )  # fmt: skip
            try:
                await until(lambda: network.received, 30)
            finally:
                process.kill()
                await process.wait()
        assert [record["kind"] for record in log.records()] == ["intent"]
        async with Engine(load(cluster.config, site=tmp_path / "none"), feeds=False, audit=log) as engine:
            await until(lambda: engine.gate.settled, 20)
            (job,) = await engine.reader().list_jobs()
        (intent, result) = log.records()
        assert result["closed_by"] == "lookup" and result["operation"] == intent["operation"]
        assert result["outcome"] == "accepted" and [made["id"] for made in result["created"]] == [job.id]
        assert job.name == "orphan" and verify(log.paths.log).ok
