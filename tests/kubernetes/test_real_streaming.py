"""Streaming lists of a real watch cache, also where the rig's control plane is older than they are.

Any server of 1.34 and later has them. Beside an older one the rig starts `apiextensions-apiserver`, where KUBERIG_BIN
holds one: it serves custom kinds alone, by the library that every API server of its release is made of.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from adapters.kubernetes.client import Api
from adapters.kubernetes.kubeconfig import find
from adapters.kubernetes.records import Key, Raw
from adapters.kubernetes.reflector import Reflector, Timing
from adapters.kubernetes.resources import RESOURCES, Resource
from adapters.kubernetes.slim import key_of
from tests.kubernetes.conftest import until
from tests.kubernetes.real import Real
from tests.rigs.kubernetes.admin import Admin
from tests.rigs.kubernetes.crds import PATH, definition
from tests.rigs.kubernetes.extension import running_extension
from tests.rigs.kubernetes.rig import Rig
from tests.rigs.kubernetes.rig import until as wait

SLOW = 60.0
QUEUES = RESOURCES["clusterqueues"].at("v1beta2")
BASE = QUEUES.base + "/clusterqueues"


class Heard:
    """What the reflector told: the version of each object, and how often a list was complete."""

    def __init__(self) -> None:
        self.versions: dict[str, str] = {}
        self.lists = 0

    def put(self, resource: Resource, raw: Raw) -> None:
        self.versions[key_of(raw)[1]] = raw["metadata"]["resourceVersion"]

    def drop(self, resource: Resource, key: Key) -> None:
        self.versions.pop(key[1], None)

    def sweep(self, resource: Resource, namespace: str | None, seen: set[Key]) -> None:
        self.versions = {name: one for name, one in self.versions.items() if ("", name) in seen}
        self.lists += 1

    def fares(self, *_: object) -> None:
        pass


@asynccontextmanager
async def following(kubeconfig: Path, version: str = "") -> AsyncIterator[tuple[Heard, list[dict[str, str]]]]:
    """A reflector whose watches end after two seconds, and what each of them asked for."""
    api = Api(lambda: find(kubeconfig=str(kubeconfig)))
    asked: list[dict[str, str]] = []
    stream = api.stream

    def noted(path: str, params: Any, read_timeout: float) -> Any:
        asked.append(dict(params))
        return stream(path, params, read_timeout)

    api.stream = noted  # type: ignore[method-assign]
    heard = Heard()
    reflector = Reflector(api, QUEUES, None, heard, Timing(watch=2.0, first_delay=0.1, longest_delay=1.0))
    reflector._version = version
    task = asyncio.create_task(reflector.run())
    try:
        yield heard, asked
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await api.close()


@pytest.fixture
def extension(real: Real, rig: Rig) -> Iterator[tuple[Admin, Path]]:
    """Thirty queues on a server that knows streaming lists."""
    with running_extension(rig) as (admin, kubeconfig):
        admin.ensure(PATH, definition(QUEUES.group, ("v1beta2",), "clusterqueues", "ClusterQueue"))
        wait(lambda: admin.answers(BASE), "the kind is served")
        for number in range(30):
            make(admin, f"queue-{number:02}")
        yield admin, kubeconfig


def make(admin: Admin, name: str) -> None:
    kind = {"apiVersion": f"{QUEUES.group}/v1beta2", "kind": "ClusterQueue"}
    admin.create(BASE, {**kind, "metadata": {"name": name}, "spec": {}})


def truth(admin: Admin) -> dict[str, str]:
    return {one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in admin.items(BASE)}


async def test_a_streaming_list_goes_on_from_its_end(extension: tuple[Admin, Path]) -> None:
    admin, kubeconfig = extension
    async with following(kubeconfig) as (heard, asked):
        await until(lambda: heard.lists and len(heard.versions) == 30, "the list", SLOW)
        for number in range(3):
            ended = len(asked)
            make(admin, f"late-{number}")
            admin.delete(f"{BASE}/queue-0{number}")
            admin.merge(f"{BASE}/queue-1{number}", {"spec": {"stopPolicy": "Hold"}})
            await until(lambda ended=ended: len(asked) > ended, "another watch", SLOW)  # type: ignore[misc]
        held = truth(admin)
        await until(lambda: heard.versions == held, "it agrees with the server", SLOW)
        assert heard.lists == 1 and asked[0]["sendInitialEvents"] == "true"
        assert all(int(one["resourceVersion"]) > 0 for one in asked[1:])


async def test_a_version_that_is_forgotten_is_a_new_list(extension: tuple[Admin, Path], rig: Rig) -> None:
    admin, kubeconfig = extension
    make(admin, "newest")
    rig.compact()
    async with following(kubeconfig, version="1") as (heard, asked):
        await until(lambda: heard.versions == truth(admin), "it agrees with the server", SLOW)
        assert asked[0]["resourceVersion"] == "1" and heard.lists <= 1
