"""`pilothouse mcp` as a process, on a real embedded cluster: standard streams, a unix socket, loopback with a token."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from mcp import Client, StdioServerParameters

from tests.harness.demo import COMMAND, run_command
from tests.mcp_server.clients import ERAS, told

if TYPE_CHECKING:
    from adapters.local.launch import EmbeddedCluster

HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip
ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@contextmanager
def serving(config: Path, *options: str) -> Iterator[str]:
    """Run the server over HTTP; gives the line that says where it listens. Nothing may come on standard output."""
    process = subprocess.Popen(
        [COMMAND, "--config", str(config), "mcp", *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None and process.stdout is not None
        line = process.stderr.readline()
        assert line.startswith("MCP on "), line
        yield line.strip()
    finally:
        process.terminate()
        out, _ = process.communicate(timeout=20)
    assert out == ""


@pytest.mark.parametrize("era", ERAS)
async def test_standard_streams(embedded_cluster: EmbeddedCluster, state_dir: Path, era: str) -> None:
    server = StdioServerParameters(
        command=COMMAND, args=["--config", str(embedded_cluster.config), "mcp"], env=dict(os.environ)
    )
    async with Client(server, mode=era) as session:
        nodes = await session.call_tool("scheduler_list_nodes", {})
        plan = await session.call_tool("scheduler_submit", {"command": ["true"], "name": "from-mcp"})
        refused = await session.call_tool("scheduler_cancel", {"ids": ["-u"]})
    assert nodes.structured_content is not None and nodes.structured_content["total"] == 2
    assert refused.is_error and "cannot be the id" in told(refused)
    assert plan.structured_content is not None and plan.structured_content["state"] == "waiting"
    listed = run_command("approve", "--json", config=embedded_cluster.config)
    assert [json.loads(line)["plan_id"] for line in listed.stdout.splitlines()] == [plan.structured_content["plan_id"]]
    jobs = run_command("jobs", "--json", "--name", "from-mcp", config=embedded_cluster.config)
    assert jobs.stdout == ""


def test_nothing_but_protocol_on_standard_output(embedded_cluster: EmbeddedCluster, state_dir: Path) -> None:
    lines = [HELLO, {"jsonrpc": "2.0", "method": "notifications/initialized"},
             {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
              "params": {"name": "scheduler_get_job", "arguments": {"id": "999999"}}},
             {"jsonrpc": "2.0", "id": 3, "method": "no/such/method"}]  # fmt: skip
    process = subprocess.Popen(
        [COMMAND, "--config", str(embedded_cluster.config), "mcp"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    answers: dict[int, Any] = {}
    try:
        assert process.stdin is not None and process.stdout is not None
        for line in lines:
            process.stdin.write(json.dumps(line) + "\n")
        process.stdin.write("this is no JSON\n")
        process.stdin.flush()
        while len(answers) < 3:
            answer = json.loads(process.stdout.readline())
            if answer.get("id") is not None:
                answers[answer["id"]] = answer
        process.stdin.close()
        rest = process.stdout.read()
        assert process.wait(timeout=20) == 0
    finally:
        process.kill()
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
    assert answers[2]["result"]["isError"] and answers[3]["error"]["code"] == -32601


async def test_loopback_needs_the_token_and_the_right_names(embedded_cluster: EmbeddedCluster, state_dir: Path) -> None:
    with serving(embedded_cluster.config, "--port", "0") as line:
        url = line.split()[2].rstrip(",")
        file = state_dir / "mcp" / "token"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        token = {"authorization": f"Bearer {file.read_text().strip()}"}
        good = {**ACCEPT, **token}
        async with httpx.AsyncClient() as http:

            async def status(headers: dict[str, str]) -> int:
                return (await http.post(url, json=HELLO, headers=headers)).status_code

            assert await status(good) == 200
            assert await status(ACCEPT) == 401
            assert await status({**ACCEPT, "authorization": "Bearer wrong"}) == 401
            assert await status({**ACCEPT, "authorization": f"Basic {'x' * 5000}"}) == 401
            assert await status({**good, "host": "evil.example"}) == 421
            assert await status({**good, "origin": "http://evil.example"}) == 403
            assert await status({**good, "origin": url.removesuffix("/mcp")}) == 200
    assert url.startswith("http://127.0.0.1:")


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_over_loopback(embedded_cluster: EmbeddedCluster, state_dir: Path, era: str) -> None:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    with serving(embedded_cluster.config, "--port", "0") as line:
        token = (state_dir / "mcp" / "token").read_text().strip()
        http = httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"})
        transport = streamable_http_client(line.split()[2].rstrip(","), http_client=http)
        async with http, Client(transport, mode=era) as session:
            result = await session.call_tool("scheduler_list_queues", {})
    assert result.structured_content is not None and result.structured_content["total"] >= 1


async def test_the_unix_socket_is_the_owners_alone(
    embedded_cluster: EmbeddedCluster, state_dir: Path, tmp_path: Path
) -> None:
    place = tmp_path / "own" / "mcp.sock"
    with serving(embedded_cluster.config, "--http", "--socket", str(place)):
        assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
        async with httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(uds=str(place))) as http:
            assert (await http.post("http://localhost/mcp", json=HELLO, headers=ACCEPT)).status_code == 200
            wrong = {**ACCEPT, "host": "evil.example"}
            assert (await http.post("http://localhost/mcp", json=HELLO, headers=wrong)).status_code == 421
            bad_origin = {**ACCEPT, "origin": "http://localhost"}
            assert (await http.post("http://localhost/mcp", json=HELLO, headers=bad_origin)).status_code == 403
        second = run_command("mcp", "--http", "--socket", str(place), config=embedded_cluster.config)
        assert second.returncode == 1 and "Another server listens" in second.stderr
    assert not place.exists()


def test_a_folder_that_others_can_enter_is_refused(
    embedded_cluster: EmbeddedCluster, state_dir: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "open"
    folder.mkdir(mode=0o755)
    done = run_command("mcp", "--http", "--socket", str(folder / "s"), config=embedded_cluster.config)
    assert done.returncode == 1 and "open to others" in done.stderr


@pytest.mark.parametrize(("role", "state"), [("mcp_readonly", None), ("mcp_operator", "waiting")])
async def test_a_service_key_decides_what_may_be_proposed(
    embedded_cluster: EmbeddedCluster, state_dir: Path, tmp_path: Path, role: str, state: str | None
) -> None:
    config = embedded_cluster.config
    made = run_command("keys", "create", "svc", "--role", role, "--yes", "--json", config=config)
    assert made.returncode == 0, made.stderr
    key = tmp_path / "key"
    key.write_text(json.loads(made.stdout)["outcomes"][0]["secret"] + "\n")
    key.chmod(0o600)
    settings = tomllib.loads(config.read_text())
    (name, profile), *_ = settings["clusters"].items()
    own = tmp_path / "c.toml"
    own.write_text(
        f'version = 1\n[clusters.{name}]\ntype = "native"\nurl = "{profile["url"]}"\nowner = "somebody"\n'
        f'token_file = "{profile["token_file"]}"\nservice_token_file = "{key}"\n'
    )
    server = StdioServerParameters(command=COMMAND, args=["--config", str(own), "mcp"], env=dict(os.environ))
    async with Client(server) as session:
        mine = await session.call_tool("scheduler_list_jobs", {"filter": {"owner": "me"}})
        plan = await session.call_tool("scheduler_submit", {"command": ["true"]})
        quota = await session.call_tool("scheduler_set_node_quota", {"node": "node1", "slots": 1})
    assert mine.structured_content is not None and mine.structured_content["total"] == 0  # "somebody" has none
    assert (plan.structured_content or {}).get("state") == state and plan.is_error is (state is None)
    assert quota.is_error  # neither role manages nodes


def test_a_service_key_needs_to_know_whose_jobs_are_mine(tmp_path: Path, state_dir: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text(
        'version = 1\n[clusters.x]\ntype = "native"\nurl = "http://127.0.0.1:1"\nservice_token_file = "key"\n'
    )
    done = run_command("mcp", config=config)
    assert done.returncode == 2 and "owner" in done.stderr and done.stdout == ""
