"""What the recorded cluster looks like as rows: each state, each reason, each figure."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.kubernetes.records import PodRecord
from adapters.kubernetes.rows import Memory, Rows
from adapters.kubernetes.slim import pod_requests
from adapters.kubernetes.slim_more import SLIMMERS, slim, slim_pod
from adapters.kubernetes.world import World
from adapters.model import ArrayInfo, Job, Node, Queue, ResourceSpec
from adapters.text import clean
from tests.doubles.kube_api.objects import bound_pod, job, node
from tests.doubles.kube_api.recordings import body

NOW = datetime(2026, 11, 30, 2, 0, tzinfo=UTC)
TABLES = (
    ("namespaces", "list-namespaces"),
    ("nodes", "list-nodes"),
    ("resourcequotas", "list-resourcequotas-all"),
    ("limitranges", "list-limitranges-team-a"),
    ("jobs", "list-jobs-team-a"),
    ("jobs", "list-jobs-team-b-with-deleting"),
    ("pods", "list-pods-team-a"),
    ("events", "list-events-of-one-job"),
    ("events", "list-events-reason-failedcreate"),
    ("clusterqueues", "crd-kueue-clusterqueues"),
    ("localqueues", "crd-kueue-localqueues"),
    ("workloads", "crd-kueue-workloads"),
    ("volcanoqueues", "crd-volcano-queues"),
)


def rows_of(*objects: tuple[str, dict[str, Any]], namespace: str = "team-a") -> Rows:
    """Rows of a world of these raw objects."""
    world = World()
    for key, raw in objects:
        record = slim(key, raw)
        assert record is not None
        world.put(key, record)
    world.know_pods(True)
    rows = Rows(world, "kube", namespace, Memory())
    rows.flush(NOW)
    return rows


@pytest.fixture(scope="module")
def recorded() -> Rows:
    return rows_of(*((key, item) for key, name in TABLES for item in body(name)["items"]))


def job_named(rows: Rows, name: str) -> Job:
    return rows.jobs[f"team-a/{name}"]


@pytest.mark.parametrize(
    ("name", "status", "raw", "reason"),
    [
        ("done-ok", "succeeded", "Complete", None),
        ("success-policy", "succeeded", "Complete", "success policy"),
        ("fail-backoff", "failed", "BackoffLimitExceeded", "exit code 2"),
        ("fail-deadline", "failed", "DeadlineExceeded", "deadline"),
        ("fail-evicted", "failed", "BackoffLimitExceeded", "low on resource: memory"),
        ("fail-oom", "failed", "BackoffLimitExceeded", "out of memory: it used more than its limit (OOMKilled)"),
        ("pfp-failjob", "failed", "PodFailurePolicy", "exit code 42"),
        ("idx-failsome", "failed", "FailedIndexes", "(0-3)"),
        ("run-simple", "running", "Running", None),
        ("idx-mixed", "running", "Running", None),
        ("pend-highquota", "running", "Running", None),
        ("pend-toobig", "pending", "Unschedulable", "Insufficient cpu"),
        ("pend-selector", "pending", "Unschedulable", "affinity/selector"),
        ("sched-gated", "pending", "SchedulingGated", "gates"),
        ("creating", "pending", "ContainerCreating", "is being made"),
        ("crash-loop", "pending", "CrashLoopBackOff", "crashes again and again"),
        ("img-pull", "pending", "ImagePullBackOff", "cannot be pulled"),
        ("bad-config", "pending", "CreateContainerConfigError", "missing-secret"),
        ("run-gpu", "pending", "FailedCreate", "exceeded quota: "),
        ("susp-start", "suspended", "Suspended", "held"),
        ("susp-mid", "suspended", "Suspended", "held"),
        ("managed-by-kueue", "pending", "QueuedByKueue", "2 more needed"),
        ("other-controller", "unknown", "Unreported", "example.com/mk"),
        ("pod/bare-run", "running", "Running", None),
        ("pod/bare-done", "succeeded", "Succeeded", None),
        ("pod/bare-oom", "failed", "OOMKilled", "exit code 137"),
        ("pod/bare-evicted", "failed", "Evicted", "evicted"),
        ("pod/bare-crash", "pending", "CrashLoopBackOff", "crashes"),
        ("pod/bare-gated", "pending", "SchedulingGated", "gates"),
        ("pod/bare-unknown", "unknown", "Unknown", "lost track"),
    ],
)
def test_states_and_reasons(recorded: Rows, name: str, status: str, raw: str, reason: str | None) -> None:
    row = job_named(recorded, name)
    assert (row.status, row.raw_status) == (status, raw)
    if reason is None:
        assert row.reason is None
    else:
        assert reason in (row.reason or "")


def test_a_job_that_is_being_deleted_is_cancelling(recorded: Rows) -> None:
    row = recorded.jobs["team-b/b-stuckterm"]
    assert row.status == "cancelled" and "cancelling: 1 pods still end" in (row.reason or "")
    assert row.extensions["deleting"] == "foregroundDeletion"


def test_what_will_not_get_better_is_a_warning(recorded: Rows) -> None:
    for name in ("img-pull", "crash-loop", "bad-config", "run-gpu"):
        assert job_named(recorded, name).extensions["warning"]
    for name in ("run-simple", "done-ok", "fail-oom", "pend-toobig"):
        assert "warning" not in job_named(recorded, name).extensions


def test_figures_of_jobs(recorded: Rows) -> None:
    array = job_named(recorded, "idx-array")
    assert array.array == ArrayInfo("team-a/idx-array", range="0-5%3")
    assert (array.cores, array.memory_bytes, array.exit_code) == (2, 3 * 512 * 2**20, 0)
    gpu = job_named(recorded, "run-gpu2")
    assert (gpu.gpus, gpu.cores, gpu.node_names, gpu.nodes) == (2, 4, ("node-g01",), 1)
    assert job_named(recorded, "fail-deadline").walltime_seconds == 5
    assert job_named(recorded, "fail-oom").exit_code == 137
    simple = job_named(recorded, "run-simple")
    assert simple.owner == "eddy" and simple.queue == "team-a"
    assert simple.submission_time == datetime(2026, 11, 30, 1, 25, 51, tzinfo=UTC)
    assert simple.extensions["requests"] == "cpu 500m, memory 512Mi"
    assert job_named(recorded, "pend-toobig").start_time is None
    assert job_named(recorded, "cron-minute-29933366").extensions["made_by"] == "CronJob/cron-minute"
    assert job_named(recorded, "managed-by-kueue").queue == "team-a/user-queue"


def test_every_text_is_clean(recorded: Rows) -> None:
    shown = json.dumps([*map(str, recorded.jobs.values()), *map(str, recorded.nodes.values())], ensure_ascii=False)
    assert "\x1b" not in shown and "\u202e" not in shown and "\u200b" not in shown
    hostile = job_named(recorded, "fail-hostile")
    assert clean(hostile.reason or "") == hostile.reason and "␛" in (hostile.reason or "")


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("node-a01", "busy", None), ("node-d03", "idle", "DiskPressure"), ("node-c01", "drain", "cordoned"),
        ("node-d01", "down", "Kubelet never posted"), ("node-d02", "down", "container runtime network not ready"),
        ("node-g02", "idle", "maintenance=disk-swap"),
    ],
)  # fmt: skip
def test_nodes(recorded: Rows, name: str, status: str, reason: str | None) -> None:
    row = recorded.nodes[name]
    assert row.status == status
    assert (row.reason is None) if reason is None else reason in (row.reason or "")


def test_figures_of_nodes(recorded: Rows) -> None:
    gpu, cordoned = recorded.nodes["node-g01"], recorded.nodes["node-c01"]
    assert (gpu.gpu_count, gpu.gpus_used, gpu.cores_total, gpu.cores_used) == (8, 2, 95, 4)
    assert (gpu.memory_bytes_total, gpu.memory_bytes_used) == (2**40, 16 * 2**30)
    assert (gpu.slots_total, gpu.slots_used, gpu.slots_quota) == (250, 1, None)
    assert "gpu.model=h200" in gpu.features and gpu.extensions["cpu"] == "4/95500m"
    assert cordoned.slots_quota == 0 and cordoned.extensions["cordoned"] is True
    assert recorded.nodes["node-a02"].extensions["cpu"] == "2500m/63500m"


def test_down_and_cordoned_are_both_said() -> None:
    raw = next(item for item in body("list-nodes")["items"] if item["metadata"]["name"] == "node-d02")
    raw["spec"]["unschedulable"] = True
    row = rows_of(("nodes", raw)).nodes["node-d02"]
    assert row.status == "down" and "cordoned" in (row.reason or "") and row.extensions["cordoned"] is True


def test_a_node_without_status_is_unknown() -> None:
    bare = {"metadata": {"name": "n", "uid": "u"}, "spec": {}}
    row = rows_of(("nodes", bare)).nodes["n"]
    assert (row.status, row.cores_total, row.memory_bytes_total, row.slots_total) == ("unknown", None, None, None)


def test_a_daemon_does_not_make_a_node_busy() -> None:
    rows = rows_of(("nodes", node("n")), ("pods", bound_pod("d", "n", controller="DaemonSet")))
    assert rows.nodes["n"].status == "idle" and rows.nodes["n"].slots_used == 1 and rows.jobs == {}


def test_queues(recorded: Rows) -> None:
    team, other = recorded.queues["team-a"], recorded.queues["team-b"]
    assert team.extensions["quota"]["compute: requests.cpu"] == "110100m/140"
    assert team.extensions["tightest"] == "requests.cpu 110100m/140 (79%)"
    assert team.default_resources == ResourceSpec(cores=1, memory_bytes=256 * 2**20)
    assert other.running_jobs == 2 and other.extensions["tightest"].startswith("requests.cpu 39600m/40")
    local, held = recorded.queues["team-a/user-queue"], recorded.queues["clusterqueue:held-cq"]
    assert (local.status, local.pending_jobs, local.extensions["cluster_queue"]) == ("active", 3, "gpu-cq")
    assert held.status == "inactive" and held.extensions["stop_policy"] == "Hold"
    shared = recorded.queues["clusterqueue:gpu-cq"].extensions["quota"]
    assert shared["h200:nvidia.com/gpu"] == "6/8"
    volcano = recorded.queues["volcano:research"]
    assert (volcano.status, volcano.running_jobs, volcano.pending_jobs) == ("active", 5, 2)
    assert set(recorded.queues) == {
        "team-a", "team-b", "team-a/user-queue", "clusterqueue:gpu-cq", "clusterqueue:held-cq", "volcano:research",
    }  # fmt: skip


def test_a_namespace_that_is_being_deleted_is_draining() -> None:
    place = body("get-namespace-terminating")
    rows = rows_of(("namespaces", place), ("jobs", job("j", "dying")))
    assert rows.queues["dying"].status == "draining"


def test_totals(recorded: Rows) -> None:
    totals = recorded.metrics(NOW)
    assert sum(totals.jobs.values()) == len(recorded.jobs) and sum(totals.nodes.values()) == 10
    assert totals.gpus_total == 16 and totals.gpus_used == 2 and totals.cores_total == 638


def test_a_volcano_job_is_not_a_batch_job() -> None:
    pod = bound_pod("worker-0", "n")
    pod["metadata"]["ownerReferences"] = [
        {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "vj", "uid": "v", "controller": True}
    ]
    pod["metadata"]["annotations"] = {"scheduling.volcano.sh/queue-name": "research"}
    rows = rows_of(("pods", pod))
    row = rows.jobs["team-a/pod/worker-0"]
    assert row.queue == "volcano:research" and row.extensions["made_by"] == "Job/vj"


def test_the_scheduler_counts_sidecars_and_the_largest_init_container() -> None:
    def container(cpu: str, **more: Any) -> dict[str, Any]:
        return {"name": "c", "resources": {"requests": {"cpu": cpu}}, **more}

    spec = {
        "containers": [container("1"), container("500m")],
        "initContainers": [container("100m", restartPolicy="Always"), container("4")],
        "overhead": {"cpu": "250m"},
    }
    assert pod_requests(spec).cpu == (4100 + 250) * 10**6
    limited = {"containers": [{"name": "c", "resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}]}
    assert pod_requests(limited)[:2] == (2 * 10**9, 2**30)
    assert pod_requests({"containers": None}) == (None, None, None)


def test_a_job_that_vanishes_unfinished_stays_as_cancelled_for_a_while() -> None:
    world, memory = World(), Memory()
    for raw in (job("lost"), *body("list-jobs-team-a")["items"]):
        world.put("jobs", SLIMMERS["jobs"](raw))
    rows = Rows(world, "kube", "team-a", memory)
    rows.flush(NOW)
    world.drop("jobs", ("team-a", "lost"))
    world.drop("jobs", ("team-a", "done-ok"))
    changes = rows.flush(NOW)
    assert [ref.id for ref in changes.removals] == ["team-a/done-ok"]
    gone = rows.jobs["team-a/lost"]
    assert (gone.status, gone.raw_status, gone.end_time) == ("cancelled", "Deleted", NOW)
    fresh = Rows(World(), "kube", "team-a", memory)
    fresh.recall(NOW)
    assert fresh.jobs == {"team-a/lost": gone}
    later = rows.flush(NOW + timedelta(minutes=16))
    assert [ref.id for ref in later.removals] == ["team-a/lost"] and "team-a/lost" not in rows.jobs


def test_a_job_made_anew_under_the_same_name_is_another() -> None:
    world, memory = World(), Memory()
    rows = Rows(world, "kube", "team-a", memory)
    world.put("jobs", SLIMMERS["jobs"](job("again", uid="one")))
    rows.flush(NOW)
    world.drop("jobs", ("team-a", "again"))
    rows.flush(NOW)
    world.put("jobs", SLIMMERS["jobs"](job("again", uid="two")))
    changes = rows.flush(NOW)
    assert [ref.born for ref in changes.removals] == ["one"]
    assert rows.jobs["team-a/again"].born == "two" and rows.jobs["team-a/again"].status == "pending"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["metadata", "spec", "status", "name", "conditions", "containers", "type", "items", "limits"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(
    raw=st.dictionaries(st.sampled_from(["metadata", "spec", "status", "kind"]), JSON),
    key=st.sampled_from(list(SLIMMERS)),
)
def test_no_object_however_odd_stops_the_others(raw: dict[str, Any], key: str) -> None:
    record = slim(key, {**raw, "metadata": {"name": "x", "uid": "u", "namespace": "team-a"}})
    if record is not None:
        world = World()
        world.put(key, record)
        Rows(world, "kube", "team-a", Memory()).flush(NOW)


def test_kinds_of_rows(recorded: Rows) -> None:
    assert all(isinstance(row, Job) for row in recorded.of("job"))
    assert all(isinstance(row, Node) for row in recorded.of("node"))
    assert all(isinstance(row, Queue) for row in recorded.of("queue"))
    assert isinstance(slim_pod(bound_pod("p", None)), PodRecord)
