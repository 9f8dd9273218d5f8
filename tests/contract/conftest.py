"""Finds the harnesses and opens one per test."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import pytest_asyncio

from tests.contract.harness import Harness

FOUND = [
    importlib.import_module(f"tests.contract.{path.stem}")
    for path in sorted(Path(__file__).parent.glob("harness_*.py"))
]
# Those that write come first: an adapter then has one and the same place in both lists, and pytest, which orders the
# tests of a session by that place, starts each backend once.
HARNESSES = {module.NAME: module for module in sorted(FOUND, key=lambda module: getattr(module, "READ_ONLY", False))}
WRITING = [name for name, module in HARNESSES.items() if not getattr(module, "READ_ONLY", False)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`harness` runs over every adapter, `writing` over those that write."""
    if "writing" in metafunc.fixturenames:
        metafunc.parametrize("adapter", WRITING, indirect=True, scope="session")
    elif "harness" in metafunc.fixturenames:
        metafunc.parametrize("adapter", list(HARNESSES), indirect=True, scope="session")


@pytest.fixture(scope="session")
def adapter(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[ModuleType, Any]]:
    """The adapter's harness module and its running backend, started once."""
    module = HARNESSES[request.param]
    with module.start_backend(tmp_path_factory.mktemp(f"contract-{request.param}")) as backend:
        yield module, backend


@pytest_asyncio.fixture
async def harness(adapter: tuple[ModuleType, Any], tmp_path: Path) -> AsyncIterator[Harness]:
    module, backend = adapter
    async with module.open_harness(backend, tmp_path) as opened:
        yield opened


@pytest.fixture
def writing(harness: Harness) -> Harness:
    """A harness whose adapter writes."""
    return harness


@pytest.fixture
def read_only(adapter: tuple[ModuleType, Any]) -> bool:
    """Whether the adapter refuses every write."""
    return bool(getattr(adapter[0], "READ_ONLY", False))
