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

HARNESSES = {
    module.NAME: module
    for module in (
        importlib.import_module(f"tests.contract.{path.stem}")
        for path in sorted(Path(__file__).parent.glob("harness_*.py"))
    )
}
WRITING = [name for name, module in HARNESSES.items() if not getattr(module, "READ_ONLY", False)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`harness` runs over every adapter, `writing` over those that write, `read_only` over the others."""
    if "writing" in metafunc.fixturenames:
        metafunc.parametrize("adapter", WRITING, indirect=True, scope="session")
    elif "read_only" in metafunc.fixturenames:
        metafunc.parametrize("adapter", [n for n in HARNESSES if n not in WRITING], indirect=True, scope="session")
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
def read_only(harness: Harness) -> Harness:
    """A harness whose adapter refuses every write."""
    return harness
