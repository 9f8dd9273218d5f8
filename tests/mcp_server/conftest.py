"""An MCP server on the in-memory double, and clients of both protocol eras in the same process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from console.audit import AuditLog
from console.engine import Engine
from console.gate import PlanFiles
from tests.console.conftest import ROWS, config
from tests.doubles.memory_backend import MemoryBackend


@pytest.fixture
def backend() -> MemoryBackend:
    return MemoryBackend("demo", ROWS)


@pytest.fixture
def audit(tmp_path: Path) -> AuditLog:
    return AuditLog(tmp_path / "audit")


@pytest.fixture
def plans(tmp_path: Path) -> PlanFiles:
    return PlanFiles(tmp_path / "plans")


@pytest.fixture
async def engine(backend: MemoryBackend, audit: AuditLog) -> AsyncIterator[Engine]:
    """A cluster whose profile does not trust what a client answers."""
    async with Engine(config(), feeds=False, audit=audit, open_with=backend.open) as engine:
        yield engine


@pytest.fixture
async def trusting(backend: MemoryBackend, audit: AuditLog) -> AsyncIterator[Engine]:
    """A cluster whose profile takes a client's answer for the person's."""
    settings = config(cluster={"trust_elicitation": True})
    async with Engine(settings, feeds=False, audit=audit, open_with=backend.open) as engine:
        yield engine
