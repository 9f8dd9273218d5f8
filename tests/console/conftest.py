"""An engine on the in-memory double, with its own audit log."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.model import Job, Node, Queue
from console.audit import AuditLog
from console.config import Config
from console.engine import Engine
from tests.doubles.memory_backend import MemoryBackend

ROWS = (
    Job("1", "train", "running", "RUN", "gpu", owner="alice"),
    Job("2", "prep", "pending", "PEND", "short", owner="alice"),
    Job("3", "other", "running", "RUN", "gpu", owner="bob"),
    Job("4", "old", "succeeded", "DONE", "gpu", owner="alice"),
    Queue("gpu", "active"),
    Node("n1", "idle", slots_used=0, slots_quota=None, slots_total=8),
    Node("n2", "busy", slots_used=4, slots_quota=4, slots_total=8),
)


def config(**settings: object) -> Config:
    """A configuration of one cluster, `demo`."""
    cluster = settings.pop("cluster", {})
    assert isinstance(cluster, dict)
    profile = {"type": "native", "url": "http://127.0.0.1:1", **cluster}
    return Config.model_validate({"version": 1, "clusters": {"demo": profile}, **settings})


@pytest.fixture
def backend() -> MemoryBackend:
    return MemoryBackend("demo", ROWS)


@pytest.fixture
def audit(tmp_path: Path) -> AuditLog:
    return AuditLog(tmp_path / "audit")


@pytest.fixture
async def engine(backend: MemoryBackend, audit: AuditLog) -> AsyncIterator[Engine]:
    async with Engine(config(), feeds=False, audit=audit, open_with=backend.open) as engine:
        yield engine
