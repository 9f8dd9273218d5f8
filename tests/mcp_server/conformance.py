"""`make mcp-conformance`: the public MCP conformance suite and the Inspector against our server.

Needs Node and npm, and fetches both tools from the npm registry at the versions below. The suite wants Node 22 or
later; with an older one, or none, that part says so and is left out. Run as: python -m tests.mcp_server.conformance
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from adapters.model import Job, Node, Queue
from console.audit import AuditLog
from console.config import Config
from console.engine import Engine
from console.gate import PlanFiles
from console.mcp_server import http
from console.mcp_server.server import build
from tests.doubles.memory_backend import MemoryBackend

INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
SUITE = "@modelcontextprotocol/conformance@0.1.16"
# The other scenarios of the suite call tools that only a server made for the suite has.
SCENARIOS = ("server-initialize", "ping", "tools-list", "resources-list", "dns-rebinding-protection")
COMMAND = Path(sysconfig.get_path("scripts")) / "pilothouse"


def node_version(node: str) -> int:
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    return int(told.strip().removeprefix("v").split(".")[0])


def inspector(folder: Path) -> list[str]:
    """What goes wrong with the Inspector on standard streams: both eras, strict schemas, a write that fails closed."""
    (folder / "c.toml").write_text('version = 1\n[clusters.x]\ntype = "native"\nurl = "http://127.0.0.1:1"\n')
    server = folder / "server"
    server.write_text(f"#!/bin/sh\nexec {COMMAND} --config {folder / 'c.toml'} mcp\n")
    server.chmod(0o755)
    run = [str(folder / "node_modules/.bin/mcp-inspector"), "--cli", str(server)]
    failures = []
    for more in (["--protocol-era", "legacy"], ["--protocol-era", "modern"], ["--strict"]):
        done = _run([*run, "--method", "tools/list", *more], folder)
        good = done.returncode == 0 and len(json.loads(done.stdout)["tools"]) > 20
        failures += [] if good else [f"tools/list {' '.join(more)}: {done.stderr[-300:]}"]
    call = ["--method", "tools/call", "--tool-name", "scheduler_cancel", "--tool-args-json", '{"ids": ["1"]}']
    done = _run([*run, *call], folder)
    return failures + ([] if '"isError": true' in done.stdout else [f"a write on a dead cluster: {done.stdout[-300:]}"])


async def suite(folder: Path, node: str) -> list[str]:
    """What goes wrong with the scenarios of the suite, on a server of this process without a token."""
    rows = (Job("1", "a", "running", owner="alice"), Queue("q", "active"), Node("n1", "idle"))
    config = Config.model_validate(
        {"version": 1, "clusters": {"demo": {"type": "native", "url": "http://127.0.0.1:1"}}}
    )
    opened = MemoryBackend("demo", rows).open
    failures = []
    async with Engine(config, feeds=False, audit=AuditLog(folder / "audit"), open_with=opened) as engine:
        listening = http.loopback_socket(0)
        port = listening.getsockname()[1]
        application = http.app(build(engine, PlanFiles(folder / "plans")), port=port, needed=None)
        serving = asyncio.create_task(http.serve(application, listening))
        program = folder / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
        try:
            for scenario in SCENARIOS:
                argv = [node, str(program), "server", "--url", f"http://127.0.0.1:{port}/mcp", "--scenario", scenario]
                done = await asyncio.to_thread(_run, argv, folder)
                print(f"  {scenario}: {'passed' if done.returncode == 0 else 'FAILED'}")
                failures += [] if done.returncode == 0 else [f"{scenario}: {(done.stdout + done.stderr)[-800:]}"]
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
            listening.close()
    return failures


def _run(argv: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PILOTHOUSE_STATE_DIR": str(folder / "state")}
    return subprocess.run(argv, capture_output=True, text=True, timeout=120, cwd=folder, env=env)


def main() -> int:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        print("no Node here: the MCP conformance suite and the Inspector are left out")
        return 0
    recent = node_version(node) >= 22
    with tempfile.TemporaryDirectory(prefix="pilothouse-mcp-") as place:
        folder = Path(place)
        packages = [INSPECTOR, *([SUITE] if recent else [])]
        subprocess.run([npm, "install", "--no-audit", "--no-fund", "-E", *packages], cwd=folder, check=True)
        failures = inspector(folder)
        print("Inspector:", "failed" if failures else "passed")
        if recent:
            print("conformance suite:")
            failures += asyncio.run(suite(folder, node))
        else:
            print("conformance suite: left out, it wants Node 22 or later")
    print(*failures, sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
