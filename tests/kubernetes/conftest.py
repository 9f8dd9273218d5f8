"""A double a test, readers and writers on it, and waiting for a condition."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from adapters.base import InterestCell
from adapters.kubernetes import open_kubernetes
from adapters.kubernetes.reader import KubernetesReader
from adapters.kubernetes.reflector import Timing
from adapters.kubernetes.sending import Patience
from adapters.kubernetes.writer import KubernetesWriter
from tests.contract.test_contract_watch import Mirror, watching
from tests.doubles.kube_api import KubeDouble, running
from tests.doubles.kube_api.kinds import CORE, KUEUE, VOLCANO
from tests.kubernetes.real import Real, real_cluster
from tests.rigs.kubernetes.rig import Rig

QUICK = Timing(silence=5.0, watch=30.0, first_delay=0.02, longest_delay=0.2, refused=0.3, doubt=0.1)
DEADLINE = 20.0


@pytest.fixture(scope="session")
def shared_double() -> Iterator[KubeDouble]:
    with running() as double:
        yield double


@pytest.fixture
def double(shared_double: KubeDouble) -> Iterator[KubeDouble]:
    """An empty double, as it was at its start."""
    yield shared_double
    shared_double.cut_watches()
    for name, value in vars(KubeDouble()).items():
        if name not in ("store", "port", "scheme", "_loop", "_links", "silent", "kinds"):
            setattr(shared_double, name, value)
    shared_double.silent.clear()
    shared_double.kinds = [*CORE, *KUEUE, *VOLCANO]
    shared_double.store.clear()
    shared_double.kinds = [*CORE]


class Opened:
    """Readers and writers on a double; closed at the end of the test."""

    def __init__(self, double: KubeDouble, folder: Path) -> None:
        self.double = double
        self.folder = folder
        self._open: list[KubernetesReader] = []

    def __call__(self, person: str = "admin", **options: Any) -> tuple[KubernetesReader, KubernetesWriter]:
        if "kubeconfig" not in options:
            options["kubeconfig"] = str(self.double.kubeconfig(self.folder, person))
        options.setdefault("timing", QUICK)
        options.setdefault("patience", Patience(total=0.3, pause=0.05))
        options.setdefault("image", "registry.example/tool:1")
        reader, writer = open_kubernetes("kube", **options)
        self._open.append(cast(KubernetesReader, reader))
        return self._open[-1], cast(KubernetesWriter, writer)

    def reader(self, person: str = "admin", **options: Any) -> KubernetesReader:
        return self(person, **options)[0]

    async def close(self) -> None:
        for reader in self._open:
            await reader.close()


@pytest.fixture
async def opened(double: KubeDouble, tmp_path: Path) -> AsyncIterator[Opened]:
    found = Opened(double, tmp_path)
    yield found
    await found.close()


async def until(condition: Callable[[], Any], what: str = "", deadline: float = DEADLINE) -> Any:
    """Wait for a condition to hold and return its value."""
    ends = asyncio.get_running_loop().time() + deadline
    while not (value := condition()):
        assert asyncio.get_running_loop().time() < ends, f"it never came about: {what}"
        await asyncio.sleep(0.01)
    return value


@asynccontextmanager
async def watched(reader: KubernetesReader, cell: InterestCell | None = None) -> AsyncIterator[Mirror]:
    """A watch folded into rows, loaded."""
    held = cell or InterestCell()
    async with watching(reader, held) as mirror:
        await until(lambda: {"job", "queue"} <= mirror.loaded, "the watch loads")
        yield mirror
        assert mirror.breaches == []


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    """A real API server; skips, with the reason, where the environment names none."""
    with real_cluster(tmp_path_factory.mktemp("kubernetes") / "rig") as cluster:
        yield cluster


@pytest.fixture
def rig(real: Real) -> Rig:
    """The control plane that the tests started themselves and may stop."""
    if real.rig is None:
        pytest.skip("this cluster is not ours to stop")
    return real.rig
