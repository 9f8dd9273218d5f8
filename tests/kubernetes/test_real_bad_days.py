"""A real API server that forgets, restarts and dies, while it is watched."""

from __future__ import annotations

import signal

import pytest

from adapters.base import InterestCell
from adapters.kubernetes.client import Api
from adapters.kubernetes.kubeconfig import find
from adapters.kubernetes.lists import ListPosition, listed
from adapters.kubernetes.reflector import Timing
from adapters.kubernetes.resources import RESOURCES
from tests.contract.test_contract_watch import until_equal
from tests.kubernetes.conftest import until, watched
from tests.kubernetes.real import Real
from tests.rigs.kubernetes.rig import Rig

SLOW = 60.0
SOON = Timing(first_delay=0.1, longest_delay=1.0, refused=2.0)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
async def test_a_restart_loses_and_doubles_nothing(rig: Rig, real: Real, how: signal.Signals) -> None:
    space = real.namespace()
    real.job(space, "before")
    reader, _ = real.opened(namespaces=[space], timing=SOON)
    cell = InterestCell()
    async with watched(reader, cell) as mirror:
        await until(lambda: f"{space}/before" in mirror.of("job"), "the first job", SLOW)
        rig.stop("kube-apiserver", how)
        await until(lambda: any(state.label == "stale" for state in mirror.states), "it is said", SLOW)
        assert f"{space}/before" in mirror.of("job"), "rows stay"
        rig.start_apiserver()
        real.job(space, "after")
        await until(lambda: f"{space}/after" in mirror.of("job"), "it goes on", SLOW)
        await until_equal(mirror, reader, cell, True)
    await reader.close()


async def test_what_happened_behind_a_compaction_is_told(rig: Rig, real: Real) -> None:
    """The version of before has been forgotten when the server is back: a 410, and a new list."""
    space = real.namespace()
    for name in ("stays", "goes"):
        real.job(space, name)
    reader, _ = real.opened(namespaces=[space], timing=SOON)
    cell = InterestCell()
    async with watched(reader, cell) as mirror:
        await until(lambda: len(mirror.of("job")) == 2, "two jobs", SLOW)
        rig.stop("kube-apiserver")
        await until(lambda: any(state.label == "stale" for state in mirror.states), "it is away", SLOW)
        other = Rig.start_apiserver
        other(rig)
        real.admin.delete(f"/apis/batch/v1/namespaces/{space}/jobs/goes")
        real.job(space, "comes")
        rig.compact()
        rig.restart_apiserver()
        await until(lambda: f"{space}/comes" in mirror.of("job"), "the new job", SLOW)
        await until(lambda: mirror.rows["job", f"{space}/goes"].status == "cancelled", "the deleted one", SLOW)  # type: ignore[union-attr]
        await until_equal(mirror, reader, cell, True)
    await reader.close()


async def test_a_list_whose_token_expires_half_way_goes_on(
    rig: Rig, real: Real, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = real.namespace()
    gate = {"containers": [{"name": "main", "image": real.image}], "nodeSelector": {"pilothouse-test": "nowhere"}}
    for number in range(25):
        real.admin.create(f"/api/v1/namespaces/{space}/pods", {"metadata": {"name": f"p-{number:02}"}, "spec": gate})
    monkeypatch.setattr("adapters.kubernetes.lists.PAGE", 10)
    api = Api(lambda: find(kubeconfig=str(real.kubeconfig)))
    names: list[str] = []
    position = ListPosition()
    async for raw in listed(api, RESOURCES["pods"], space, position):
        names.append(raw["metadata"]["name"])
        if len(names) == 3:
            real.admin.merge(f"/api/v1/namespaces/{space}", {"metadata": {"labels": {"moved": "on"}}})
            rig.compact()
    await api.close()
    assert sorted(set(names)) == [f"p-{number:02}" for number in range(25)]
    assert position.version
