"""Kubernetes behind the gate: from an intent to what the cluster shows, each write on record."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from adapters.intents import CancelJob, CloseQueue, DrainNode, HoldJob, Intent, SetNodeQuota, SetQueueQuota, SubmitJob
from adapters.model import JobSpec, Ref
from console.audit import AuditLog
from console.config import Config
from console.engine import Engine
from console.gate import Approval
from tests.doubles.kube_api import KubeDouble
from tests.doubles.kube_api.kinds import CORE, KUEUE
from tests.doubles.kube_api.objects import bound_pod, budget, job, node
from tests.doubles.kube_api.recordings import fill
from tests.kubernetes.conftest import until


def ref(id: str, kind: Any = "job") -> Ref:
    return Ref("kube", kind, id)


@pytest.fixture
async def engine(double: KubeDouble, tmp_path: Path) -> AsyncIterator[Engine]:
    """An engine whose one cluster is the double, opened by its profile as the console opens it."""
    profile = {
        "type": "kubernetes",
        "kubeconfig": str(double.kubeconfig(tmp_path)),
        "image": "registry.example/tool:1",
    }
    config = Config.model_validate({"version": 1, "clusters": {"kube": profile}})
    async with Engine(config, feeds=True, audit=AuditLog(tmp_path / "audit")) as engine:
        yield engine


async def run(engine: Engine, intent: Intent) -> Any:
    prepared = await engine.gate.prepare(intent)
    typed = prepared.confirm.expected if prepared.confirm.how == "type" else None
    operation = await engine.gate.execute(prepared, Approval("dialog", typed))
    await operation.wait()
    return operation


def confirmed(operation: Any) -> bool:
    """Whether every target of it has shown that the write took effect."""
    shown = [state for step in operation.steps for state in step.verified.values()]
    return bool(shown) and set(shown) == {"confirmed"}


async def test_writes_take_effect_and_show(double: KubeDouble, engine: Engine) -> None:
    fill(double)
    double.put("jobs", job("victim", active=1, ready=1))
    double.put("jobs", job("pausing", active=1, ready=1))
    intents: list[Intent] = [
        CancelJob(cluster="kube", refs=(ref("team-a/victim"),)),
        HoldJob(cluster="kube", refs=(ref("team-a/pausing"),)),
        SetQueueQuota(cluster="kube", refs=(ref("team-a", "queue"),), limits={"pods": 61}),
        SetNodeQuota(cluster="kube", refs=(ref("node-f01", "node"),), slots=0),
    ]
    for intent in intents:
        operation = await run(engine, intent)
        assert operation.result == "accepted", operation.outcomes
        await until(lambda done=operation: confirmed(done), f"{intent.verb} shows")  # type: ignore[misc]
    submitted = await run(engine, SubmitJob(cluster="kube", spec=JobSpec(command=("true",), name="new")))
    assert submitted.result == "accepted"
    assert len(double.mutations) == 5


async def test_a_drain_is_an_operation_with_an_outcome_for_each_pod(double: KubeDouble, engine: Engine) -> None:
    double.put("nodes", node("n"))
    for name in ("web-1", "web-2"):
        double.put("pods", bound_pod(name, "n", controller="ReplicaSet", labels={"app": name}))
    double.put("poddisruptionbudgets", budget("free", {"app": "web-1"}, 1))
    operation = await run(engine, DrainNode(cluster="kube", refs=(ref("n", "node"),), reason="disk swap"))
    assert [step.state for step in operation.steps] == ["accepted"] * 3
    assert operation.result == "accepted"
    assert double.store.listed(double.served("pods"), "team-a") == []
    await until(lambda: engine.store.row(ref("n", "node")) is not None, "the row")
    await until(lambda: getattr(engine.store.row(ref("n", "node")), "status", "") == "drain", "the node shows it")


async def test_the_console_sees_the_cluster_live(double: KubeDouble, engine: Engine) -> None:
    double.put("jobs", job("a"))
    await until(lambda: [row for row in engine.store.rows("job") if row.id == "team-a/a"], "the job's row")
    state = engine.store.state("kube", "job")
    await until(lambda: engine.store.state("kube", "job").label == "live", f"live, not {state}")


async def test_a_stop_policy_that_was_not_set_shows_when_it_comes(double: KubeDouble, engine: Engine) -> None:
    double.kinds = [*CORE, *KUEUE]
    fill(double)
    (_, queue), *_ = double.store.listed(double.served("localqueues"), "team-a")
    double.store.change(
        double.served("localqueues"), "team-a", queue["metadata"]["name"], lambda obj: obj["spec"].pop("stopPolicy")
    )
    name = f"team-a/{queue['metadata']['name']}"
    operation = await run(engine, CloseQueue(cluster="kube", refs=(ref(name, "queue"),), what="starts"))
    assert operation.result == "accepted", operation.outcomes
    await until(lambda: confirmed(operation), "the stop policy shows")
