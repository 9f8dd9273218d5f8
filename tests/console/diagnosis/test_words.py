"""The backends' words for waiting and failing, as recorded, against the closed vocabulary."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from adapters.model import Dependency, Job, Node, Queue
from console.diagnosis.causes import CAUSES
from console.diagnosis.cluster import why_nothing_starts
from console.diagnosis.efficiency import efficiency
from console.diagnosis.failed import _VERDICTS, why_failed
from console.diagnosis.log_signs import SIGNS
from console.diagnosis.pending import why_pending
from console.diagnosis.pending_reasons import REASONS, cause_of_reason
from console.diagnosis.suggest import suggest
from console.diagnosis.wait import estimate_wait

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


def test_every_table_speaks_the_closed_vocabulary() -> None:
    used = {r.cause for r in REASONS} | {s.cause for s in SIGNS} | {cause for _, cause in _VERDICTS}
    assert used <= set(CAUSES)


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("Resources", "resources"),
        ("Priority", "priority"),
        ("Dependency", "dependency"),
        ("DependencyNeverSatisfied", "dependency_never"),
        ("JobHeldUser", "held_by_owner"),
        ("JobHeldAdmin", "held_by_admin"),
        ("launch failed requeued held", "held_by_admin"),
        ("BeginTime", "begin_time"),
        ("PartitionDown", "queue_closed"),
        ("PartitionTimeLimit", "walltime_limit"),
        ("PartitionNodeLimit", "asks_too_much"),
        ("QOSMaxJobsPerUserLimit", "user_limit"),
        ("AssocGrpCpuLimit", "user_limit"),
        ("JobArrayTaskLimit", "array_throttle"),
        ("Licenses", "licence"),
        ("ReqNodeNotAvail, UnavailableNodes:n08", "nodes_unavailable"),
        ("ReqNodeNotAvail, May be reserved for other job", "reservation"),
        (
            "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
            "nodes_unavailable",
        ),
        ("None", "just_submitted"),
        ("Job was suspended by LSF admin or root while pending;", "held_by_admin"),
        ("The job was suspended by the user while pending;", "held_by_owner"),
        ("Job dependency condition not satisfied;", "dependency"),
        ("The user has reached his/her job slot limit;", "user_limit"),
        ("The queue has reached its job slot limit;", "queue_limit"),
        ("The queue has been inactivated by the administrator;", "queue_closed"),
        ("New job is waiting for scheduling;", "just_submitted"),
        ("Job's resource requirements not satisfied: 1 host;", "resources"),
        ("0/10 nodes are available: 4 Insufficient nvidia.com/gpu, 5 node(s) had untolerated taint(s).", "resources"),
        ("ImagePullBackOff", "image_pull"),
        ("Scheduling is blocked due to non-empty scheduling gates", "gated"),
        ("exceeded quota: compute, requested: requests.cpu=4, used: requests.cpu=8", "namespace_quota"),
        ("back-off 5m0s restarting failed container=main pod=bare-crash", "crash_loop"),
        ("something nobody has ever seen", None),
    ],
)
def test_reasons(reason: str, cause: str | None) -> None:
    assert cause_of_reason(reason) == cause


def job(**values: object) -> Job:
    return Job("7", cluster="c", **{"status": "failed", **values})  # type: ignore[arg-type]


def test_a_reason_that_nobody_knows_stays_unknown_and_is_quoted() -> None:
    found = why_pending(job(status="pending", reason="Moon phase\x1b[2J", raw_status="PENDING"))
    assert (found.cause, found.confidence) == ("unknown", "unknown")
    assert found.evidence[0].quote == "Moon phase␛[2J"


def test_a_dependency_that_ended_wrongly_is_named() -> None:
    other = Job("6", status="failed", cluster="c")
    found = why_pending(
        job(status="pending", dependencies=(Dependency("6", "afterok"),), reason="Dependency"), others={"6": other}
    )
    assert found.cause == "dependency_never"
    assert found.blocker == other.ref


def test_what_no_node_has_is_said_even_if_the_backend_says_resources() -> None:
    nodes = [Node("n1", "idle", cores_total=8, cluster="c"), Node("n2", "idle", cores_total=16, cluster="c")]
    asked = job(status="pending", nodes=1, cores=64, reason="Resources")
    assert why_pending(asked, nodes=nodes).cause == "asks_too_much"
    assert why_pending(asked._replace(cores=16), nodes=nodes).cause == "resources"


def test_a_time_limit_above_the_queues_is_said() -> None:
    queue = Queue("short", "active", max_walltime_seconds=3600, cluster="c")
    found = why_pending(job(status="pending", queue="short", walltime_seconds=7200), queues=[queue])
    assert found.cause == "walltime_limit"


@pytest.mark.parametrize(
    ("values", "tail", "cause"),
    [
        ({"raw_status": "OUT_OF_MEMORY", "exit_code": 0}, [], "out_of_memory"),
        ({"raw_status": "TIMEOUT", "exit_code": 0}, [], "walltime"),
        ({"raw_status": "NODE_FAIL"}, [], "node_failure"),
        ({"raw_status": "EXIT", "reason": "TERM_OWNER: job killed by owner"}, [], "cancelled_by_owner"),
        ({"raw_status": "EXIT", "reason": "TERM_MEMLIMIT"}, [], "out_of_memory"),
        ({"reason": "DeadlineExceeded"}, [], "deadline"),
        ({"exit_code": 127}, [], "command_not_found"),
        ({"exit_code": 139}, [], "segmentation_fault"),
        ({"exit_code": 1}, ["step 3", "CUDA out of memory. Tried to allocate 2.00 GiB"], "gpu_out_of_memory"),
        ({"exit_code": 1}, ["cp: error writing 'x': No space left on device"], "disk_full"),
        ({"exit_code": 1}, ["Traceback (most recent call last):", "ValueError: bad"], "application_error"),
        ({"exit_code": 1}, ["ModuleNotFoundError: No module named 'torch'"], "missing_library"),
        ({"exit_code": 1}, ["all fine", "done"], "unknown"),
        ({"exit_code": 1}, [], "unknown"),
        ({"exit_code": 137}, [], "unknown"),
        ({"exit_code": 137, "memory_bytes": 100, "extensions": {"max_memory_bytes": 99}}, [], "out_of_memory"),
        ({"extensions": {"ended_by": "admin", "signal": 15}}, [], "cancelled_by_admin"),
    ],
)
def test_failures(values: dict[str, object], tail: list[str], cause: str) -> None:
    found = why_failed(job(**values), tails={"stderr": tail})
    assert found.cause == cause
    assert found.evidence
    assert (found.confidence == "unknown") == (cause == "unknown")


def test_nothing_starts_because_every_quota_is_zero() -> None:
    nodes = [Node(f"n{i}", "idle", slots_total=8, slots_used=0, slots_quota=0, cluster="c") for i in (1, 2)]
    assert why_nothing_starts([job(status="pending")], nodes, [], now=NOW).cause == "node_quota_zero"


def test_a_scheduler_that_is_silent_is_not_an_empty_one() -> None:
    assert why_nothing_starts([], [], [], now=NOW, failure="Unable to contact slurm controller").cause == (
        "controller_silent"
    )
    assert why_nothing_starts([], [], [], now=NOW).cause == "nothing_waits"


def test_advice_never_asks_for_less_after_a_failure() -> None:
    ran = {"start_time": NOW - timedelta(hours=1), "end_time": NOW, "walltime_seconds": 36000, "cores": 8}
    used = {"max_memory_bytes": 1_000_000_000, "cpu_seconds": 7200}
    ok = efficiency(job(status="succeeded", memory_bytes=16_000_000_000, extensions=used, **ran), NOW)
    assert ok.ask == {"memory_bytes": 1_200_000_000, "walltime_seconds": 4500, "cores": 2}
    assert ok.cpu.share == 0.25
    assert efficiency(job(extensions=used, **ran), NOW).ask == {}


def test_the_wait_is_not_known_from_three_jobs() -> None:
    from adapters.model import JobSpec

    def waited(seconds: int) -> Job:
        return job(
            status="succeeded", queue="q", cores=1, submission_time=NOW, start_time=NOW + timedelta(seconds=seconds)
        )

    spec = JobSpec(command=("a",), cores=1)
    assert estimate_wait(None, "q", spec, [waited(10)] * 3, NOW).basis == "unknown"
    known = estimate_wait(None, "q", spec, [waited(n * 10) for n in range(1, 21)], NOW)
    assert known.basis == "history"
    assert known.low is not None and known.expected is not None and known.high is not None
    assert known.low < known.expected == 105 < known.high


def test_a_suggestion_takes_the_description_at_its_word() -> None:
    spec = suggest("train.py on 8 cores, 2 GPUs, 16GB for 2 hours", []).spec
    assert (spec.cores, spec.gpus, spec.memory_bytes, spec.walltime_seconds) == (8, 2, 16_000_000_000, 7200)
    assert suggest("something", []).spec == suggest("", []).spec
