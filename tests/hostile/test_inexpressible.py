"""What no call of an agent can express, on recorded Slurm: several nodes by one name, other commands, other options."""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from adapters import outgoing
from adapters.base import AdapterError
from console.agent import Agent
from console.audit import AuditLog
from console.config import Config
from console.engine import Engine
from console.gate import AgentScope
from tests.scenarios.test_scenarios import slurm


@pytest.fixture
async def operator(tmp_path: Path) -> AsyncIterator[Agent]:
    """An agent whose scope is everything: what is refused here is refused by nothing but what can be said."""
    config = Config.model_validate({"version": 1, "clusters": {"slurm": slurm(tmp_path / "slurm")}})
    async with Engine(config, feeds=False, settle=False, audit=AuditLog(tmp_path / "audit")) as engine:
        await engine.gate.agents.widen(AgentScope("all"))
        yield Agent(engine, "chat")


@pytest.mark.parametrize(
    "name", ["ALL", "n[01-04]", "n01,n02", "n*", "n01 State=DOWN", "--help", "../n01", "", "n01\nn02"]
)
@pytest.mark.parametrize("tool", ["scheduler_drain_node", "scheduler_undrain_node", "scheduler_set_node_quota"])
async def test_one_node_is_one_node(operator: Agent, tool: str, name: str) -> None:
    given: dict[str, Any] = {"node": name}
    given |= {"reason": "x"} if tool == "scheduler_drain_node" else {}
    given |= {"slots": 0} if tool == "scheduler_set_node_quota" else {}
    sent: list[Any] = []
    end = outgoing.observe(lambda cluster, request: sent.append(request))
    try:
        with pytest.raises(AdapterError):
            await operator.propose(tool, given, "t1")
    finally:
        end()
    assert sent == [] and len(operator.engine.gate.agents.inbox) == 0


@pytest.mark.parametrize(
    "id", ["54,55", "54_[0-100000]", "54 55", "54;55", "-u", "--user=alice", "54\x00", "all", "0x36", "54.batch", "٥٤"]
)
async def test_one_job_is_one_job(operator: Agent, id: str) -> None:
    try:
        answer, _ = await operator.propose("scheduler_cancel", {"ids": [id]}, "t1")
    except AdapterError:
        return
    (request,) = answer.requests  # one command with one operand, and that is the job that is shown
    *command, operand = shlex.split(request)
    assert command == ["scancel", "-v"] and operand.partition("_")[0] == answer.targets[0].id
    assert answer.target_count == 1


@pytest.mark.parametrize(
    "tool", ["scheduler_reconfigure", "scheduler_shutdown", "sacctmgr", "scontrol", "scheduler_run"]
)
async def test_there_is_no_such_tool(operator: Agent, tool: str) -> None:
    with pytest.raises(AdapterError, match="There is no tool"):
        await operator.propose(tool, {}, "t1")
