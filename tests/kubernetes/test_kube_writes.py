"""Plans and what comes of them: the exact requests, their guards, the server's words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adapters.base import Conflict, Forbidden, Invalid, NotFound, Unsupported
from adapters.intents import (
    CancelJob,
    CloseQueue,
    DrainNode,
    HoldJob,
    HttpRequest,
    ModifyJob,
    OpenQueue,
    Plan,
    ReleaseJob,
    RequeueJob,
    SetNodeQuota,
    SetQueueQuota,
    SubmitJob,
    UndrainNode,
)
from adapters.kubernetes.manifest import dns_name, read_manifest
from adapters.model import Dependency, JobSpec, Ref
from tests.doubles.kube_api import KubeDouble
from tests.doubles.kube_api.kinds import CORE, KUEUE, VOLCANO
from tests.doubles.kube_api.objects import bound_pod, budget, job, node
from tests.doubles.kube_api.recordings import answer_bytes, body, fill
from tests.doubles.kube_api.server import Fault
from tests.kubernetes.conftest import Opened
from tests.kubernetes.test_kube_double import ask_for_project, no_big_jobs

KUBE = "kube"


def ref(id: str, kind: Any = "job") -> Ref:
    return Ref(KUBE, kind, id)


def http(plan: Plan, step: int = 0) -> HttpRequest:
    request = plan.steps[step].request
    assert isinstance(request, HttpRequest)
    return request


def sent(plan: Plan, step: int = 0) -> Any:
    return json.loads(http(plan, step).body or b"null")


def submit(**fields: Any) -> SubmitJob:
    return SubmitJob(cluster=KUBE, spec=JobSpec(**{"command": ("python", "train.py"), **fields}))


async def test_a_submission_is_a_job_with_the_intents_label(double: KubeDouble, opened: Opened) -> None:
    reader, writer = opened("editor")
    intent = submit(
        name="Train Model", cores=4, memory_bytes=8 * 2**30, gpus=1, walltime_seconds=3600, env={"A": "b"}, cwd="/work",
        extensions={"ttl_seconds": 600, "node_selector": {"zone": "z"}, "priority_class": "high"},
    )  # fmt: skip
    plan = await writer.plan(intent)
    made = sent(plan)
    assert (
        http(plan).path.startswith("/apis/batch/v1/namespaces/team-a/jobs?")
        and "fieldValidation=Strict" in http(plan).path
    )
    assert made["metadata"]["name"] == dns_name("train model", intent.intent_id.hex[:8])
    assert made["metadata"]["labels"]["pilothouse/intent-id"] == str(intent.intent_id)
    assert made["metadata"]["annotations"]["pilothouse/owner"] == "eddy"
    container = made["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"]["requests"] == {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "1"}
    assert container["resources"]["limits"] == {"memory": "8Gi", "nvidia.com/gpu": "1"}
    assert (container["command"], container["workingDir"]) == (["python", "train.py"], "/work")
    assert made["spec"]["activeDeadlineSeconds"] == 3600 and made["spec"]["backoffLimit"] == 0
    assert plan.dry_run == "The server accepted 1 of 1 requests in a dry run."
    (outcome,) = await writer.send(plan.steps[0])
    assert outcome.result == "accepted" and outcome.created is not None
    assert list(await reader.find_intent(str(intent.intent_id))) == [outcome.created]
    row = await reader.get_job(outcome.created.id)
    assert (row.owner, row.cores, row.gpus, row.walltime_seconds) == ("eddy", 4, 1, 3600)
    again = await writer.send(plan.steps[0])
    assert again[0].result == "accepted" and again[0].created == outcome.created, "the same intent makes no second job"


async def test_arrays_nodes_holds_and_queues(double: KubeDouble, opened: Opened) -> None:
    double.kinds = [*CORE, *KUEUE, *VOLCANO]
    _, writer = opened()
    array = sent(await writer.plan(submit(array="0-9%2", hold=True)))["spec"]
    assert (array["completions"], array["parallelism"], array["completionMode"]) == (10, 2, "Indexed")
    assert array["suspend"] is True
    plan = await writer.plan(submit(nodes=3, cores=8))
    wide = sent(plan)["spec"]
    assert (wide["completions"], wide["parallelism"], wide["completionMode"]) == (3, 3, "Indexed")
    assert wide["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "3"
    assert any("share" in warning for warning in plan.warnings)
    kueue = await writer.plan(submit(queue="team-b/user-queue"))
    assert "/namespaces/team-b/" in http(kueue).path and sent(kueue)["spec"]["suspend"] is True
    assert sent(kueue)["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "user-queue"
    volcano = sent(await writer.plan(submit(queue="volcano:research")))["spec"]["template"]
    assert volcano["spec"]["schedulerName"] == "volcano"
    assert volcano["metadata"]["annotations"]["scheduling.volcano.sh/queue-name"] == "research"


@pytest.mark.parametrize(
    ("fields", "error", "said"),
    [
        ({"array": "1-10"}, Invalid, "1-10"), ({"array": "0-9:2"}, Invalid, "0-9:2"),
        ({"dependencies": (Dependency("x", "afterok"),)}, Unsupported, "wait for other jobs"),
        ({"extensions": {"nope": 1}}, Invalid, "nope"), ({"queue": "clusterqueue:gpu"}, Invalid, "clusterqueue"),
        ({"extensions": {"template": "gone"}}, Invalid, "gone"),
        ({"extensions": {"backoff_limit": "many"}}, Invalid, "backoffLimit"),
    ],
)  # fmt: skip
async def test_what_kubernetes_cannot_express_is_refused(
    opened: Opened, fields: dict[str, Any], error: type[Exception], said: str
) -> None:
    _, writer = opened()
    with pytest.raises(error, match=said):
        await writer.plan(submit(**fields))


async def test_an_image_must_come_from_somewhere(opened: Opened) -> None:
    _, writer = opened(image=None)
    with pytest.raises(Invalid, match="image"):
        await writer.plan(submit())
    plan = await writer.plan(submit(extensions={"image": "a:1"}))
    assert sent(plan)["spec"]["template"]["spec"]["containers"][0]["image"] == "a:1"


async def test_a_script_runs_in_its_shell_and_a_template_is_kept(opened: Opened, tmp_path: Path) -> None:
    template = tmp_path / "gpu.yaml"
    template.write_text(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {labels: {team: ml}}\n"
        "spec:\n  backoffLimit: 3\n  template:\n    spec:\n      restartPolicy: OnFailure\n"
        "      containers: [{name: work, image: 'b:2', env: [{name: A, value: '1'}]}]\n"
    )
    _, writer = opened(template="gpu", templates={"gpu": str(template)})
    made = sent(await writer.plan(submit(command=(), script="#!/bin/bash -e\necho hi\n", env={"B": "2"})))
    container = made["spec"]["template"]["spec"]["containers"][0]
    assert container["command"] == ["/bin/bash", "-e", "-c", "#!/bin/bash -e\necho hi\n"]
    assert (container["name"], container["image"]) == ("work", "b:2")
    assert container["env"] == [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    assert made["spec"]["backoffLimit"] == 3 and made["metadata"]["labels"]["team"] == "ml"


MANIFEST = """
apiVersion: batch/v1
kind: Job
metadata:
  generateName: sweep-
  namespace: team-b
spec:
  parallelism: 2
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "a:1"}]
"""


async def test_a_manifest_is_submitted_as_it_is(opened: Opened) -> None:
    _, writer = opened()
    intent = submit(command=(), script=MANIFEST)
    plan = await writer.plan(intent)
    made = sent(plan)
    assert "/namespaces/team-b/" in http(plan).path and made["spec"]["parallelism"] == 2
    assert made["metadata"]["name"] == f"sweep-{intent.intent_id.hex[:8]}" and "generateName" not in made["metadata"]
    assert made["metadata"]["labels"]["pilothouse/intent-id"] == str(intent.intent_id)


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: Pod", "apiVersion: batch/v1\nkind: Job\n---\napiVersion: batch/v1\nkind: Job\n", "a: [",
        "",
        "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job", "x" * 600_000, "&a [*a]" + ", *a" * 40,
        "apiVersion: batch/v1\nkind: Job\na: &a [1,1]\nb: [" + ",".join(["*a"] * 30) + "]",
    ],
)  # fmt: skip
def test_what_is_no_job_is_no_manifest(text: str) -> None:
    with pytest.raises(Invalid):
        read_manifest(text)


async def test_the_servers_refusal_of_a_submission_is_raised_by_the_plan(double: KubeDouble, opened: Opened) -> None:
    double.policies += [no_big_jobs, ask_for_project]
    _, writer = opened()
    with pytest.raises(Forbidden, match="needs a ticket"):
        await writer.plan(submit(array="0-99"))
    plan = await writer.plan(submit())
    assert any("billed to unknown" in warning for warning in plan.warnings)
    manifest = MANIFEST.replace("parallelism", "parallelizm")
    with pytest.raises(Invalid, match="unknown field"):
        await writer.plan(submit(command=(), script=manifest))


async def test_a_webhook_that_is_down_is_a_warning_in_the_plan_and_unknown_when_sent(
    double: KubeDouble, opened: Opened
) -> None:
    down = Fault(lambda method, _: method == "POST", code=500, body=answer_bytes("err-500-webhook-down"))
    _, writer = opened()
    intent = submit()
    await writer.plan(intent)  # the rights are known now
    double.faults.append(down)
    plan = await writer.plan(intent)
    assert any("failed calling webhook" in warning for warning in plan.warnings)
    (outcome,) = await writer.send(plan.steps[0])
    assert outcome.result == "unknown" and "failed calling webhook" in outcome.message


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
async def test_a_cancel_always_says_what_becomes_of_the_pods_and_names_the_uid(
    double: KubeDouble, opened: Opened, propagation: str
) -> None:
    held = double.put("jobs", job("a", active=1, ready=1))
    double.put("pods", bound_pod("a-1", "n", owner=held))
    reader, writer = opened(propagation=propagation)
    plan = await writer.plan(CancelJob(cluster=KUBE, refs=(ref("team-a/a"),)))
    assert sent(plan) == {
        "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": held["metadata"]["uid"]},
        "propagationPolicy": propagation,
    }  # fmt: skip
    (outcome,) = await writer.send(plan.steps[0])
    assert outcome.result == "accepted"
    pods = double.store.listed(double.served("pods"), "team-a")
    assert len(pods) == (0 if propagation == "Background" else 1)
    left = await reader.list_jobs()
    assert [row.status for row in left] == ([] if propagation == "Background" else ["cancelled"])


async def test_another_job_of_the_same_name_is_left_alone(double: KubeDouble, opened: Opened) -> None:
    double.put("jobs", job("a", uid="one"))
    _, writer = opened()
    refs = (Ref(KUBE, "job", "team-a/a", "one"),)
    cancel = await writer.plan(CancelJob(cluster=KUBE, refs=refs))
    hold = await writer.plan(HoldJob(cluster=KUBE, refs=refs))
    double.store.remove(double.served("jobs"), "team-a", "a")
    double.put("jobs", job("a", uid="two"))
    (deleted,) = await writer.send(cancel.steps[0])
    assert (deleted.result, deleted.error) == ("refused", "conflict") and "does not match the UID" in deleted.message
    (held,) = await writer.send(hold.steps[0])
    assert (held.result, held.error) == ("refused", "conflict") and "another object has this name now" in held.message
    with pytest.raises(NotFound, match="another job"):
        await writer.plan(CancelJob(cluster=KUBE, refs=refs))


async def test_hold_release_and_what_they_warn_of(double: KubeDouble, opened: Opened) -> None:
    held = double.put("jobs", job("a", active=1, ready=1))
    reader, writer = opened()
    plan = await writer.plan(HoldJob(cluster=KUBE, refs=(ref("team-a/a"),)))
    assert sent(plan) == [
        {"op": "test", "path": "/metadata/uid", "value": held["metadata"]["uid"]},
        {"op": "add", "path": "/spec/suspend", "value": True},
    ]
    assert any("from the start" in warning for warning in plan.warnings)
    assert (await writer.send(plan.steps[0]))[0].result == "accepted"
    assert (await reader.get_job("team-a/a")).extensions["suspended"] is True
    back = await writer.plan(ReleaseJob(cluster=KUBE, refs=(ref("team-a/a"),)))
    assert (await writer.send(back.steps[0]))[0].result == "accepted"
    assert "suspended" not in (await reader.get_job("team-a/a")).extensions


async def test_finished_jobs_and_pods_cannot_be_held(double: KubeDouble, opened: Opened) -> None:
    fill(double)
    _, writer = opened()
    with pytest.raises(Conflict, match="is over"):
        await writer.plan(HoldJob(cluster=KUBE, refs=(ref("team-a/done-ok"),)))
    with pytest.raises(Unsupported, match="no Job made"):
        await writer.plan(HoldJob(cluster=KUBE, refs=(ref("team-a/pod/bare-run"),)))
    with pytest.raises(Unsupported, match="submit it anew"):
        await writer.plan(RequeueJob(cluster=KUBE, refs=(ref("team-a/run-simple"),)))
    plan = await writer.plan(CancelJob(cluster=KUBE, refs=(ref("team-a/pod/bare-run"),), signal="KILL"))
    assert http(plan).path == "/api/v1/namespaces/team-a/pods/bare-run" and sent(plan)["gracePeriodSeconds"] == 0


async def test_modify_changes_what_can_be_changed(double: KubeDouble, opened: Opened) -> None:
    double.put("jobs", job("a"))
    reader, writer = opened()
    intent = ModifyJob(
        cluster=KUBE, refs=(ref("team-a/a"),), walltime_seconds=1800,
        extensions={"parallelism": 3, "backoff_limit": 2, "ttl_seconds": 100},
    )  # fmt: skip
    plan = await writer.plan(intent)
    assert (await writer.send(plan.steps[0]))[0].result == "accepted"
    row = await reader.get_job("team-a/a")
    assert row.walltime_seconds == 1800
    assert (row.extensions["parallelism"], row.extensions["backoff_limit"], row.extensions["ttl_seconds"]) == (
        3,
        2,
        100,
    )
    lifted = ModifyJob(cluster=KUBE, refs=(ref("team-a/a"),), extensions={"walltime_seconds": None})
    assert (await writer.send((await writer.plan(lifted)).steps[0]))[0].result == "accepted"
    assert (await reader.get_job("team-a/a")).walltime_seconds is None


async def test_modify_refuses_the_rest_in_the_apis_words(double: KubeDouble, opened: Opened) -> None:
    double.put("jobs", job("a"))
    double.put("jobs", job("held", suspend=True))
    _, writer = opened()
    target = (ref("team-a/a"),)
    with pytest.raises(Invalid, match=r"spec\.completions: Invalid value: 6: field is immutable"):
        await writer.plan(ModifyJob(cluster=KUBE, refs=target, extensions={"completions": 6}))
    with pytest.raises(Invalid, match=r"spec\.template: Invalid value"):
        await writer.plan(ModifyJob(cluster=KUBE, refs=target, cores=2))
    with pytest.raises(Unsupported, match="account"):
        await writer.plan(ModifyJob(cluster=KUBE, refs=target, account="x"))
    with pytest.raises(Invalid, match="whole number"):
        await writer.plan(ModifyJob(cluster=KUBE, refs=target, extensions={"parallelism": "three"}))
    plan = await writer.plan(ModifyJob(cluster=KUBE, refs=(ref("team-a/held"),), cores=2))
    assert (await writer.send(plan.steps[0]))[0].result == "accepted"
    double.mutable_resources = False
    with pytest.raises(Invalid):
        await writer.plan(ModifyJob(cluster=KUBE, refs=(ref("team-a/held"),), cores=4))


async def drained(double: KubeDouble, opened: Opened, **options: Any) -> tuple[Plan, Any]:
    """The plan of a drain of a node with one pod of each kind."""
    held = double.put("jobs", job("train", active=1, ready=1))
    double.put("nodes", node("n"))
    double.put("pods", bound_pod("train-1", "n", owner=held, volumes=[{"name": "scratch", "emptyDir": {}}]))
    double.put("pods", bound_pod("web-1", "n", controller="ReplicaSet", labels={"app": "web"}))
    double.put("pods", bound_pod("agent", "n", controller="DaemonSet"))
    double.put("pods", bound_pod("bare", "n"))
    double.put("pods", bound_pod("old", "n", controller="ReplicaSet", phase="Succeeded"))
    double.put("pods", bound_pod("elsewhere", "m", controller="ReplicaSet"))
    _, writer = opened(**options)
    return await writer.plan(DrainNode(cluster=KUBE, refs=(ref("n", "node"),), reason="disk swap")), writer


async def test_a_drain_is_a_cordon_and_an_eviction_a_pod(double: KubeDouble, opened: Opened) -> None:
    plan, writer = await drained(double, opened)
    assert [http(plan, step).path.partition("?")[0] for step in range(len(plan.steps))] == [
        "/api/v1/nodes/n",
        "/api/v1/namespaces/team-a/pods/train-1/eviction",
        "/api/v1/namespaces/team-a/pods/web-1/eviction",
    ]
    warned = " ".join(plan.warnings)
    assert "DaemonSets stay: team-a/agent" in warned and "nothing would make them anew: team-a/bare" in warned
    assert "emptyDir): team-a/train-1" in warned and "2 pods are evicted" in warned
    assert [target.ref.id for target in plan.targets] == ["n", "team-a/pod/train-1", "team-a/pod/web-1"]
    for step in plan.steps:
        assert (await writer.send(step))[0].result == "accepted"
    held = double.store.get(double.served("nodes"), None, "n")
    assert held is not None and held["spec"]["unschedulable"] is True
    assert held["metadata"]["annotations"]["pilothouse/drain-reason"] == "disk swap"
    left = {obj["metadata"]["name"] for _, obj in double.store.listed(double.served("pods"), "team-a")}
    assert left == {"agent", "bare", "old", "elsewhere"}
    undrain = await writer.plan(UndrainNode(cluster=KUBE, refs=(ref("n", "node"),)))
    assert (await writer.send(undrain.steps[0]))[0].result == "accepted"
    held = double.store.get(double.served("nodes"), None, "n")
    assert held is not None and not held["spec"]["unschedulable"]
    assert "pilothouse/drain-reason" not in held["metadata"]["annotations"]


async def test_an_eviction_waits_for_its_disruption_budget(double: KubeDouble, opened: Opened) -> None:
    double.put("poddisruptionbudgets", budget("keep", {"app": "web"}, 0))
    plan, writer = await drained(double, opened)
    assert any("waits for its disruption budget" in warning for warning in plan.warnings)
    await writer.send(plan.steps[0])
    (blocked,) = await writer.send(plan.steps[2])
    assert (blocked.result, blocked.error) == ("refused", "conflict")
    assert "The disruption budget keep needs 1 healthy pods" in blocked.message
    attempts = [request for request in double.mutations if "web-1/eviction" in request.path]
    assert len(attempts) > 1 and len({request.body for request in attempts}) == 1
    double.put("poddisruptionbudgets", budget("keep", {"app": "web"}, 1))
    assert (await writer.send(plan.steps[2]))[0].result == "accepted"


async def test_nothing_is_evicted_from_a_node_that_is_not_cordoned(double: KubeDouble, opened: Opened) -> None:
    plan, writer = await drained(double, opened)
    (outcome,) = await writer.send(plan.steps[1])
    assert outcome.result == "refused" and "is not cordoned" in outcome.message
    assert double.mutations == []


async def test_a_drain_can_be_a_mere_cordon(double: KubeDouble, opened: Opened) -> None:
    plan, _ = await drained(double, opened, evict=False)
    assert len(plan.steps) == 1


async def test_a_pod_that_is_gone_counts_as_evicted(double: KubeDouble, opened: Opened) -> None:
    plan, writer = await drained(double, opened)
    await writer.send(plan.steps[0])
    double.store.remove(double.served("pods"), "team-a", "web-1")
    (outcome,) = await writer.send(plan.steps[2])
    assert outcome.result == "accepted" and "gone already" in outcome.message


async def test_a_nodes_quota_is_zero_or_nothing(double: KubeDouble, opened: Opened) -> None:
    double.put("nodes", node("n"))
    reader, writer = opened()
    target = (ref("n", "node"),)
    plan = await writer.plan(SetNodeQuota(cluster=KUBE, refs=target, slots=0))
    assert (await writer.send(plan.steps[0]))[0].result == "accepted"
    assert (await reader.list_nodes())[0].slots_quota == 0
    clear = await writer.plan(SetNodeQuota(cluster=KUBE, refs=target, slots=None))
    assert (await writer.send(clear.steps[0]))[0].result == "accepted"
    assert (await reader.list_nodes())[0].slots_quota is None
    with pytest.raises(Unsupported, match="maxPods"):
        await writer.plan(SetNodeQuota(cluster=KUBE, refs=target, slots=5))


async def test_a_namespaces_quota(double: KubeDouble, opened: Opened) -> None:
    fill(double)
    reader, writer = opened()
    target = (ref("team-a", "queue"),)
    limits = {"requests.cpu": "100", "high-prio:pods": 3, "limits.memory": None, "requests.nvidia.com/gpu": 6}
    plan = await writer.plan(SetQueueQuota(cluster=KUBE, refs=target, limits=limits))
    assert any("110100m is in use" in warning for warning in plan.warnings)
    assert {http(plan, i).path.partition("?")[0].rpartition("/")[2] for i in range(2)} == {"compute", "high-prio"}
    for step in plan.steps:
        assert (await writer.send(step))[0].result == "accepted"
    quota = next(row for row in await reader.list_queues() if row.name == "team-a").extensions["quota"]
    assert quota["compute: requests.cpu"] == "110100m/100" and quota["compute: requests.nvidia.com/gpu"] == "3/6"
    assert quota["high-prio (PriorityClass In high): pods"] == "2/3" and "compute: limits.memory" not in quota
    for limits_, said in (({"pods": "many"}, "quantity"), ({"pods": -1}, "negative"), ({"nope:pods": 1}, "nope")):
        with pytest.raises((Invalid, NotFound), match=said):
            await writer.plan(SetQueueQuota(cluster=KUBE, refs=target, limits=limits_))


async def test_a_namespace_without_a_quota_gets_one(double: KubeDouble, opened: Opened) -> None:
    double.put("namespaces", {"metadata": {"name": "new"}, "status": {"phase": "Active"}})
    _, writer = opened()
    plan = await writer.plan(SetQueueQuota(cluster=KUBE, refs=(ref("new", "queue"),), limits={"pods": 5}))
    assert (await writer.send(plan.steps[0]))[0].result == "accepted"
    held = double.store.get(double.served("resourcequotas"), "new", "pilothouse")
    assert held is not None and held["spec"]["hard"] == {"pods": "5"}


async def test_kueues_and_volcanos_queues(double: KubeDouble, opened: Opened) -> None:
    double.kinds = [*CORE, *KUEUE, *VOLCANO]
    fill(double)
    reader, writer = opened()

    async def done(intent: Any) -> Any:
        plan = await writer.plan(intent)
        (outcome,) = await writer.send(plan.steps[0])
        assert outcome.result == "accepted", outcome
        return {row.name: row for row in await reader.list_queues()}

    local = (ref("team-a/user-queue", "queue"),)
    assert (await done(CloseQueue(cluster=KUBE, refs=local, what="starts")))[local[0].id].status == "inactive"
    assert (await done(OpenQueue(cluster=KUBE, refs=local)))[local[0].id].status == "active"
    shared = (ref("clusterqueue:gpu-cq", "queue"),)
    rows = await done(SetQueueQuota(cluster=KUBE, refs=shared, limits={"nvidia.com/gpu": 16, "h200:cpu": "128"}))
    quota = rows["clusterqueue:gpu-cq"].extensions["quota"]
    assert (quota["h200:nvidia.com/gpu"], quota["h200:cpu"]) == ("6/16", "-/128")
    rows = await done(SetQueueQuota(cluster=KUBE, refs=(ref("volcano:research", "queue"),), limits={"cpu": 10}))
    assert rows["volcano:research"].extensions["quota"]["cpu"] == "20/10"
    with pytest.raises(Unsupported, match="no quota of its own"):
        await writer.plan(SetQueueQuota(cluster=KUBE, refs=local, limits={"cpu": 1}))
    with pytest.raises(Unsupported, match="cannot be lifted"):
        await writer.plan(SetQueueQuota(cluster=KUBE, refs=shared, limits={"cpu": None}))
    with pytest.raises(Unsupported, match="submissions"):
        await writer.plan(CloseQueue(cluster=KUBE, refs=local))


async def test_without_kueue_no_queue_can_be_stopped(double: KubeDouble, opened: Opened) -> None:
    reader, writer = opened()
    assert "no Kueue" in ((await reader.capabilities()).why_not("close_queue") or "")
    with pytest.raises(Unsupported, match="no Kueue"):
        await writer.plan(CloseQueue(cluster=KUBE, refs=(ref("team-a", "queue"),), what="starts"))


async def test_rights_are_asked_beforehand_once_and_said(double: KubeDouble, opened: Opened) -> None:
    fill(double)
    reader, writer = opened("viewer")
    found = await reader.capabilities()
    assert found.supported == frozenset()
    assert found.why_not("drain") == "You have no right to patch nodes in the cluster."
    asked = sum("selfsubjectaccessreviews" in request.path for request in double.requests)
    await reader.capabilities()
    assert sum("selfsubjectaccessreviews" in request.path for request in double.requests) == asked
    with pytest.raises(Forbidden, match="no right to patch jobs in namespace team-a"):
        await writer.plan(HoldJob(cluster=KUBE, refs=(ref("team-a/run-simple"),)))
    assert double.mutations == []


async def test_a_refusal_after_all_is_in_the_servers_words(double: KubeDouble, opened: Opened) -> None:
    double.put("jobs", job("a"))
    _, writer = opened()
    plan = await writer.plan(CancelJob(cluster=KUBE, refs=(ref("team-a/a"),)))
    _, other = opened("nobody")
    (outcome,) = await other.send(plan.steps[0])
    assert (outcome.result, outcome.error) == ("refused", "forbidden")
    assert 'User "nobody" cannot delete resource "jobs"' in outcome.message


async def test_one_target_that_would_be_refused_does_not_hide_the_others(double: KubeDouble, opened: Opened) -> None:
    double.put("jobs", job("a"))
    double.put("jobs", job("b", completions=3))
    indexed = job("c", completions=1)
    indexed["spec"]["completionMode"] = "Indexed"
    double.put("jobs", indexed)
    _, writer = opened()
    intent = ModifyJob(
        cluster=KUBE, refs=(ref("team-a/b"), ref("team-a/c")), extensions={"parallelism": 4, "completions": 4}
    )
    plan = await writer.plan(intent)
    assert len(plan.steps) == 2 and plan.dry_run == "The server accepted 1 of 2 requests in a dry run."
    assert any("team-a/b" in warning and "immutable" in warning for warning in plan.warnings)


def test_names_are_always_taken() -> None:
    assert dns_name("Träin: Model_7!", "0a1b2c3d") == "tr-in-model-7-0a1b2c3d"
    assert dns_name("---", "0a1b2c3d") == "job-0a1b2c3d" and len(dns_name("x" * 300, "0a1b2c3d")) == 63


def test_the_recorded_job_is_a_manifest() -> None:
    assert read_manifest(body("create-job"))["metadata"]["name"] == "w-job"


async def test_what_was_written_shows_when_the_targets_are_read_again(double: KubeDouble, opened: Opened) -> None:
    double.kinds = [*CORE, *KUEUE, *VOLCANO]
    fill(double)
    reader, writer = opened()
    for name, limits in (
        ("team-a", {"pods": 61, "secrets": 3}),
        ("clusterqueue:gpu-cq", {"nvidia.com/gpu": 16}),
        ("volcano:research", {"cpu": 10}),
    ):
        plan = await writer.plan(SetQueueQuota(cluster=KUBE, refs=(ref(name, "queue"),), limits=limits))
        (target,) = plan.targets
        for step in plan.steps:
            assert (await writer.send(step))[0].result == "accepted"
        (now,) = (await reader.observe([target.ref])).values()
        assert now is not None
        assert {limit: now.values[limit] for limit in limits} == {limit: str(value) for limit, value in limits.items()}
        assert all(target.values[limit] != now.values[limit] for limit in limits)


async def test_planning_a_deletion_deletes_nothing(double: KubeDouble, opened: Opened) -> None:
    """A DELETE takes its options from its body: a dry run in the query alone would delete."""
    held = double.put("jobs", job("a"))
    _, writer = opened()
    plan = await writer.plan(CancelJob(cluster=KUBE, refs=(ref("team-a/a"),)))
    assert plan.dry_run == "The server accepted 1 of 1 requests in a dry run."
    assert double.store.get(double.served("jobs"), "team-a", "a") is not None and double.mutations == []
    (tried,) = [request for request in double.requests if request.method == "DELETE"]
    assert json.loads(tried.body or b"")["dryRun"] == ["All"]
    assert json.loads(tried.body or b"")["preconditions"] == {"uid": held["metadata"]["uid"]}
    assert "dryRun" not in sent(plan)


async def test_a_person_who_may_not_see_what_there_is(double: KubeDouble, opened: Opened) -> None:
    fill(double)
    double.faults.append(Fault(lambda _, path: path == "/apis", code=403, body=answer_bytes("err-403-viewer-cordon")))
    reader, _ = opened("editor")
    assert len(await reader.list_jobs()) > 30


async def test_what_may_not_be_read_is_no_figure_and_no_eviction(double: KubeDouble, opened: Opened) -> None:
    """Somebody who may see and cordon nodes but not their pods."""
    double.put("nodes", node("n"))
    double.put("pods", bound_pod("web-1", "n", controller="ReplicaSet"))
    reader, writer = opened("operator")
    (row,) = await reader.list_nodes()
    assert (row.status, row.slots_used, row.cores_used, row.memory_bytes_used) == ("unknown", None, None, None)
    assert row.slots_total == 250 and row.reason == "what runs here may not be read"
    with pytest.raises(Forbidden, match="may not be read"):
        await writer.plan(DrainNode(cluster=KUBE, refs=(ref("n", "node"),), reason="x"))
    plan = await writer.plan(SetNodeQuota(cluster=KUBE, refs=(ref("n", "node"),), slots=0))
    assert (await writer.send(plan.steps[0]))[0].result == "accepted"
