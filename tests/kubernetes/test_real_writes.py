"""Every write on a real API server, through the gate: what was planned is what the server then holds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from adapters.base import AdapterError
from adapters.intents import (
    CancelJob,
    CloseQueue,
    DrainNode,
    HoldJob,
    Intent,
    ModifyJob,
    OpenQueue,
    ReleaseJob,
    RequeueJob,
    SetNodeQuota,
    SetQueueQuota,
    SubmitJob,
    UndrainNode,
)
from adapters.kubernetes.sending import Patience
from adapters.model import JobSpec, Ref
from console.audit import AuditLog
from console.config import Config
from console.engine import Engine
from console.gate import Approval
from tests.kubernetes.conftest import until
from tests.kubernetes.real import Real
from tests.kubernetes.test_kube_gate import confirmed
from tests.rigs.kubernetes.crds import KUEUE, VOLCANO, install

SLOW = 60.0
JOBS = "/apis/batch/v1/namespaces/{}/jobs"


class Desk:
    """An engine on the real cluster, and one namespace of its own."""

    def __init__(self, real: Real, engine: Engine, space: str) -> None:
        self.real = real
        self.engine = engine
        self.space = space

    def ref(self, name: str, kind: Any = "job") -> Ref:
        return Ref("kube", kind, f"{self.space}/{name}" if kind == "job" else name)

    def held(self, name: str) -> dict[str, Any] | None:
        return self.real.admin.find(f"{JOBS.format(self.space)}/{name}")

    async def run(self, intent: Intent) -> Any:
        """Have the gate carry it out as a person who agrees would; the operation, accepted and seen to work."""
        prepared = await self.engine.gate.prepare(intent)
        typed = prepared.confirm.expected if prepared.confirm.how == "type" else None
        operation = await self.engine.gate.execute(prepared, Approval("dialog", typed))
        await operation.wait()
        assert operation.result == "accepted", operation.outcomes
        return operation

    async def shown(self, intent: Intent) -> None:
        operation = await self.run(intent)
        await until(lambda: confirmed(operation), f"{intent.verb} shows", SLOW)

    def status(self, name: str, kind: Any = "job") -> str:
        row = self.engine.store.row(self.ref(name, kind))
        return getattr(row, "status", "")


@pytest.fixture
async def desk(real: Real, tmp_path: Path) -> AsyncIterator[Desk]:
    space = real.namespace()
    profile = {
        "type": "kubernetes",
        "kubeconfig": str(real.kubeconfig),
        "image": real.image,
        "namespace": space,
        "namespaces": [space],
    }
    config = Config.model_validate({"version": 1, "clusters": {"kube": profile}})
    async with Engine(config, feeds=True, audit=AuditLog(tmp_path / "audit")) as engine:
        yield Desk(real, engine, space)


async def test_submit_makes_one_job_and_finds_it_again(desk: Desk) -> None:
    spec = JobSpec(command=("sleep", "3600"), name="train", cores=1, memory_bytes=64 << 20, walltime_seconds=900)
    intent = SubmitJob(cluster="kube", spec=spec)
    operation = await desk.run(intent)
    created = next(outcome.created for outcome in operation.outcomes if outcome.created)
    held = desk.held(created.id.partition("/")[2])
    assert held is not None and held["metadata"]["uid"] == created.born
    assert held["metadata"]["labels"]["pilothouse/intent-id"] == str(intent.intent_id)
    assert held["spec"]["activeDeadlineSeconds"] == 900
    container = held["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"]["requests"] == {"cpu": "1", "memory": "64Mi"}
    reader = desk.engine.reader("kube")
    assert [ref.id for ref in await reader.find_intent(str(intent.intent_id))] == [created.id]
    await until(lambda: desk.engine.store.row(created) is not None, "the new row", SLOW)


async def test_a_refusal_is_in_the_servers_words_and_nothing_is_asked(desk: Desk) -> None:
    spec = JobSpec(command=("true",), name="Bad_Name", extensions={"exact_name": True})
    with pytest.raises(AdapterError) as raised:
        await desk.engine.gate.prepare(SubmitJob(cluster="kube", spec=spec))
    assert "RFC 1123" in raised.value.message or "DNS-1123" in raised.value.message


async def test_cancel_takes_the_pods_along(desk: Desk) -> None:
    desk.real.needs_controllers()
    desk.real.job(desk.space, "victim")
    pods = f"/api/v1/namespaces/{desk.space}/pods"
    await until(lambda: len(desk.real.admin.items(pods)) == 1, "its pod", SLOW)
    await until(lambda: desk.status("victim") == "running", "it runs", SLOW)
    await desk.shown(CancelJob(cluster="kube", refs=(desk.ref("victim"),)))
    await until(lambda: desk.held("victim") is None, "the job is gone", SLOW)
    await until(lambda: desk.real.admin.items(pods) == [], "its pod is gone", SLOW)
    assert desk.status("victim") == "cancelled"


async def test_another_job_of_the_same_name_is_left_alone(desk: Desk) -> None:
    desk.real.job(desk.space, "again")
    reader, writer = desk.real.opened(namespaces=[desk.space])
    plans = [
        await writer.plan(CancelJob(cluster="kube", refs=(desk.ref("again"),))),
        await writer.plan(ModifyJob(cluster="kube", refs=(desk.ref("again"),), walltime_seconds=60)),
    ]
    desk.real.admin.delete(f"{JOBS.format(desk.space)}/again")
    await until(lambda: desk.held("again") is None, "it is gone", SLOW)
    second = desk.real.job(desk.space, "again")
    for plan in plans:
        (outcome,) = await writer.send(plan.steps[0])
        assert (outcome.result, outcome.error) == ("refused", "conflict"), outcome
    held = desk.held("again")
    assert held is not None and held["metadata"]["uid"] == second["metadata"]["uid"]
    assert "deletionTimestamp" not in held["metadata"] and "activeDeadlineSeconds" not in held["spec"]
    await reader.close()


async def test_modify_changes_what_the_api_lets_change(desk: Desk) -> None:
    desk.real.job(desk.space, "wide")
    extensions = {"parallelism": 3, "backoff_limit": 2}
    await desk.shown(ModifyJob(cluster="kube", refs=(desk.ref("wide"),), walltime_seconds=600, extensions=extensions))
    held = desk.held("wide")
    assert held is not None
    assert [held["spec"][name] for name in ("activeDeadlineSeconds", "parallelism", "backoffLimit")] == [600, 3, 2]
    with pytest.raises(AdapterError) as raised:
        await desk.engine.gate.prepare(
            ModifyJob(cluster="kube", refs=(desk.ref("wide"),), extensions={"completions": 7})
        )
    assert "immutable" in raised.value.message


async def test_hold_ends_the_pods_and_release_starts_them(desk: Desk) -> None:
    desk.real.needs(24, "suspended jobs")
    desk.real.needs_controllers()
    desk.real.job(desk.space, "held")
    await until(lambda: desk.status("held") == "running", "it runs", SLOW)
    await desk.shown(HoldJob(cluster="kube", refs=(desk.ref("held"),)))
    await until(lambda: desk.status("held") == "suspended", "it is suspended", SLOW)
    await desk.shown(ReleaseJob(cluster="kube", refs=(desk.ref("held"),)))
    await until(lambda: desk.status("held") == "running", "it runs again", SLOW)


async def test_what_kubernetes_has_not_is_said(desk: Desk) -> None:
    desk.real.job(desk.space, "one")
    with pytest.raises(AdapterError) as raised:
        await desk.engine.gate.prepare(RequeueJob(cluster="kube", refs=(desk.ref("one"),)))
    assert "cannot run again" in raised.value.message


async def test_the_quota_of_a_namespace_is_made_and_changed(desk: Desk) -> None:
    queue = desk.ref(desk.space, "queue")
    path = f"/api/v1/namespaces/{desk.space}/resourcequotas"
    await desk.shown(SetQueueQuota(cluster="kube", refs=(queue,), limits={"requests.cpu": "4", "pods": 9}))
    (made,) = desk.real.admin.items(path)
    assert made["spec"]["hard"] == {"requests.cpu": "4", "pods": "9"}
    await desk.shown(SetQueueQuota(cluster="kube", refs=(queue,), limits={"pods": 11, "requests.cpu": None}))
    (made,) = desk.real.admin.items(path)
    assert made["spec"]["hard"] == {"pods": "11"}


async def test_a_job_beyond_its_quota_waits_with_the_servers_reason(desk: Desk) -> None:
    desk.real.needs_controllers()
    path = f"/api/v1/namespaces/{desk.space}/resourcequotas"
    desk.real.admin.create(path, {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}})
    await until(lambda: "hard" in desk.real.admin.items(path)[0].get("status", {}), "the quota is counted", SLOW)
    desk.real.job(desk.space, "refused")
    reason = await until(lambda: getattr(desk.engine.store.row(desk.ref("refused")), "reason", None), "a reason", SLOW)
    assert "exceeded quota" in reason, reason


async def test_a_node_is_paused_and_let_go(desk: Desk) -> None:
    if desk.real.rig is None:
        pytest.skip("nodes of a cluster that is not ours are left alone")
    node = desk.ref("rig-1", "node")
    path = "/api/v1/nodes/rig-1"
    try:
        await desk.shown(SetNodeQuota(cluster="kube", refs=(node,), slots=0))
        assert desk.real.admin.get(path)["spec"]["unschedulable"] is True
        await until(lambda: desk.status("rig-1", "node") == "drain", "the node shows it", SLOW)
        await desk.shown(SetNodeQuota(cluster="kube", refs=(node,), slots=None))
        assert "unschedulable" not in desk.real.admin.get(path)["spec"]
    finally:
        desk.real.admin.merge(path, {"spec": {"unschedulable": None}})


@pytest.fixture
def policy(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> str:
    """The version of evictions and budgets; an older server gets the same requests in the version that it knows."""
    if desk.real.rig is None:
        pytest.skip("nodes of a cluster that is not ours are left alone")
    desk.real.needs_controllers()
    version = "policy/v1" if desk.real.minor >= 22 else "policy/v1beta1"
    monkeypatch.setattr("adapters.kubernetes.write_nodes.EVICTION", version)
    return version


async def on_a_node(desk: Desk, name: str) -> tuple[dict[str, Any], Ref]:
    """A running job's pod and the node that it is on."""
    desk.real.job(desk.space, name)
    await until(lambda: desk.status(name) == "running", "it runs", SLOW)
    (pod,) = desk.real.admin.items(f"/api/v1/namespaces/{desk.space}/pods")
    return pod, desk.ref(pod["spec"]["nodeName"], "node")


async def test_a_drain_cordons_and_evicts_and_an_undrain_takes_it_back(desk: Desk, policy: str) -> None:
    pods = f"/api/v1/namespaces/{desk.space}/pods"
    pod, node = await on_a_node(desk, "moved")
    path = f"/api/v1/nodes/{node.id}"
    try:
        operation = await desk.run(DrainNode(cluster="kube", refs=(node,), reason="disk swap"))
        assert len(operation.steps) >= 2
        held = desk.real.admin.get(path)
        assert held["spec"]["unschedulable"] is True
        assert held["metadata"]["annotations"]["pilothouse/drain-reason"] == "disk swap"
        uid = pod["metadata"]["uid"]
        await until(
            lambda: uid not in {one["metadata"]["uid"] for one in desk.real.admin.items(pods)}, "the pod left", SLOW
        )
        await desk.run(UndrainNode(cluster="kube", refs=(node,)))
        held = desk.real.admin.get(path)
        assert "unschedulable" not in held["spec"]
        assert "pilothouse/drain-reason" not in held["metadata"].get("annotations", {})
    finally:
        desk.real.admin.merge(path, {"spec": {"unschedulable": None}})


async def test_a_disruption_budget_holds_a_pod(desk: Desk, policy: str) -> None:
    pod, node = await on_a_node(desk, "kept")
    budgets = f"/apis/{policy}/namespaces/{desk.space}/poddisruptionbudgets"
    labels = {"job-name": "kept"}
    budget = {"apiVersion": policy, "kind": "PodDisruptionBudget", "metadata": {"name": "one"}}
    desk.real.admin.create(budgets, {**budget, "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}}})
    await until(
        lambda: desk.real.admin.get(f"{budgets}/one").get("status", {}).get("currentHealthy") == 1, "it counts", SLOW
    )
    reader, writer = desk.real.opened(patience=Patience(total=0.5, pause=0.1))
    path = f"/api/v1/nodes/{node.id}"
    try:
        plan = await writer.plan(DrainNode(cluster="kube", refs=(node,), reason="x"))
        name = pod["metadata"]["name"]
        assert any(name in one and "waits for its disruption budget" in one for one in plan.warnings), plan.warnings
        (cordoned,) = await writer.send(plan.steps[0])
        assert cordoned.result == "accepted"
        (step,) = [one for one in plan.steps if one.targets[0].ref.id == f"{desk.space}/pod/{name}"]
        (outcome,) = await writer.send(step)
        assert outcome.result == "refused" and "disruption budget" in outcome.message, outcome
        held = desk.real.admin.get(f"/api/v1/namespaces/{desk.space}/pods/{name}")
        assert held["metadata"]["uid"] == pod["metadata"]["uid"] and "deletionTimestamp" not in held["metadata"]
    finally:
        desk.real.admin.merge(path, {"spec": {"unschedulable": None}})
        desk.real.admin.delete(f"{budgets}/one")
        await reader.close()


async def test_queues_of_kueue_and_volcano_appear_later_and_are_changed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    if desk.real.rig is None:
        pytest.skip("custom kinds are defined on the rig alone")
    monkeypatch.setattr("adapters.kubernetes.supervisor.DISCOVERY_PERIOD", 1.0)
    monkeypatch.setattr("adapters.kubernetes.reader.OFFER_KEPT", 0.5)
    admin = desk.real.admin
    install(admin, KUEUE)
    install(admin, VOLCANO)
    base = "/apis/kueue.x-k8s.io/v1beta2"
    flavors = [{"name": "cpu", "resources": [{"name": "cpu", "nominalQuota": "16"}]}]
    groups = [{"coveredResources": ["cpu"], "flavors": flavors}]
    kind = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue"}
    admin.create(f"{base}/clusterqueues", {**kind, "metadata": {"name": "shared"}, "spec": {"resourceGroups": groups}})
    local = {**kind, "kind": "LocalQueue", "metadata": {"name": "user"}, "spec": {"clusterQueue": "shared"}}
    admin.create(f"{base}/namespaces/{desk.space}/localqueues", local)
    volcano = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}
    admin.create(
        "/apis/scheduling.volcano.sh/v1beta1/queues",
        {**volcano, "metadata": {"name": "research"}, "spec": {"capability": {"cpu": "64"}}},
    )
    wanted = {f"{desk.space}/user", "clusterqueue:shared", "volcano:research"}
    await until(lambda: wanted <= {row.id for row in desk.engine.store.rows("queue")}, "the queues appear", SLOW)
    desk.engine.refresh("kube")
    local_ref, whole = desk.ref(f"{desk.space}/user", "queue"), desk.ref("clusterqueue:shared", "queue")
    await desk.shown(CloseQueue(cluster="kube", refs=(local_ref,), what="starts"))
    assert admin.get(f"{base}/namespaces/{desk.space}/localqueues/user")["spec"]["stopPolicy"] == "Hold"
    await desk.shown(OpenQueue(cluster="kube", refs=(local_ref,)))
    await desk.shown(SetQueueQuota(cluster="kube", refs=(whole,), limits={"cpu:cpu": "24"}))
    held = admin.get(f"{base}/clusterqueues/shared")["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]
    assert held["nominalQuota"] == "24"
    research = desk.ref("volcano:research", "queue")
    await desk.shown(SetQueueQuota(cluster="kube", refs=(research,), limits={"cpu": "80"}))
    held = admin.get("/apis/scheduling.volcano.sh/v1beta1/queues/research")["spec"]["capability"]
    assert held["cpu"] == "80"
