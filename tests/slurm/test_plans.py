"""Plans without a cluster: the exact command lines, warnings, and the reservations that keep a quota."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.base import Conflict, Invalid
from adapters.intents import (
    CancelJob,
    CloseQueue,
    Command,
    CreateReservation,
    DrainNode,
    HoldJob,
    ModifyJob,
    ReleaseJob,
    SetNodeQuota,
    SuspendJob,
    Target,
    UndrainNode,
)
from adapters.model import ArrayInfo, Job, Node, Queue, Ref, Reservation
from adapters.slurm import plan_cluster, plan_jobs
from adapters.slurm.facts import Person, Version, parse_version
from adapters.slurm.observe import job_target, node_target, queue_target
from adapters.slurm.options import SlurmOptions
from adapters.slurm.quota import quota_plan
from adapters.slurm.reservations import by_node, parse_reservations
from adapters.slurm.rights import capabilities, modify_offers

OPTIONS = SlurmOptions("rig")
ALICE, OPER = Person("alice", "user"), Person("oper", "operator")
OLD, NEW = Version(22, 5, 8), Version(26, 5, 5)


def job(id: str = "31", **fields: Any) -> Job:
    return Job(id, **({"name": "n", "status": "pending", "owner": "alice", "cluster": "rig"} | fields))


def argvs(plan: Any) -> list[tuple[str, ...]]:
    return [step.request.argv for step in plan.steps]


def targets(*jobs: Job) -> tuple[tuple[Ref, ...], list[Target]]:
    return tuple(each.ref for each in jobs), [job_target(each) for each in jobs]


def test_one_command_a_job() -> None:
    refs, found = targets(job("31"), job("29_[3-49%3]"), job("26+1"))
    plan = plan_jobs.simple_plan(HoldJob(cluster="rig", refs=refs), found, OPTIONS, NEW, ALICE)
    assert argvs(plan) == [("scontrol", "hold", each) for each in ("31", "29_[3-49]", "26+1")]
    assert plan.undo == "scontrol release 31 29_[3-49] 26+1" and all(len(step.targets) == 1 for step in plan.steps)


def test_warnings_say_what_will_surprise() -> None:
    refs, found = targets(
        job(status="running"), job("32", owner="bob"), job("33", status="failed", raw_status="FAILED")
    )
    hold = plan_jobs.simple_plan(HoldJob(cluster="rig", refs=refs), found, OPTIONS, OLD, ALICE).warnings
    assert "runs and goes on" in hold[0] and "belongs to bob" in hold[1] and "has ended" in hold[2]
    refs, found = targets(job(reason="JobHeldAdmin"))
    assert (
        "only operators release"
        in plan_jobs.simple_plan(ReleaseJob(cluster="rig", refs=refs), found, OPTIONS, OLD, ALICE).warnings[0]
    )
    refs, found = targets(job(status="running"))
    for version, warned in ((OLD, True), (NEW, False)):
        plan = plan_jobs.simple_plan(SuspendJob(cluster="rig", refs=refs), found, OPTIONS, version, ALICE)
        assert bool(plan.warnings) == warned


def test_cancel_and_signals() -> None:
    element = job("29_3", status="running", extensions={"job_id": "37"})
    refs, found = targets(element, job("31"))
    assert argvs(plan_jobs.cancel_plan(CancelJob(cluster="rig", refs=refs), found, OPTIONS)) == [
        ("scancel", "-v", "29_3"),
        ("scancel", "-v", "31"),
    ]
    plan = plan_jobs.cancel_plan(CancelJob(cluster="rig", refs=refs, signal="USR1"), found, OPTIONS)
    assert argvs(plan) == [
        ("scancel", "-v", "--signal=USR1", "--full", "37"),
        ("scancel", "-v", "--signal=USR1", "--full", "31"),
    ]
    assert plan.changes == ()
    refs, found = targets(job("7_[1,3,5,...]"))
    plan = plan_jobs.cancel_plan(CancelJob(cluster="rig", refs=refs), found, OPTIONS)
    assert argvs(plan) == [("scancel", "-v", "7")] and "the whole array is meant" in plan.warnings[0]


def test_another_cluster_stands_on_every_command_line() -> None:
    options = SlurmOptions("rig", slurm_cluster="east")
    refs, found = targets(job())
    assert argvs(plan_jobs.cancel_plan(CancelJob(cluster="rig", refs=refs), found, options)) == [
        ("scancel", "-M", "east", "-v", "31")
    ]


def test_modify_is_one_command_for_all_fields() -> None:
    refs, found = targets(job(walltime_seconds=3600, extensions={"qos": "normal"}))
    intent = ModifyJob(cluster="rig", refs=refs, walltime_seconds=5430, memory_bytes=10**9,
                       extensions={"qos": "long", "dependency": "afterok:7", "nice": -5})  # fmt: skip
    plan = plan_jobs.modify_plan(intent, found, OPTIONS, ALICE)
    assert argvs(plan) == [
        ("scontrol", "update", "jobid=31", "minmemorynode=954", "timelimit=01:31:00", "qos=long",
         "dependency=afterok:7", "nice=-5")
    ]  # fmt: skip
    said = " ".join(plan.warnings)
    assert "whole minutes" in said and "MiB on each node" in said and "negative nice" in said
    assert [(c.field, c.before, c.after) for c in plan.changes if c.field == "qos"] == [("qos", "normal", "long")]


def test_the_throttle_of_an_array_is_set_by_the_arrays_own_id() -> None:
    """24.11: "Update of ArrayTaskThrottle is only allowed on ArrayJobId"."""
    refs, found = targets(job("157_[0-9%2]", array=ArrayInfo("157", range="0-9%2")))
    only = ModifyJob(cluster="rig", refs=refs, extensions={"array_throttle": 3})
    assert argvs(plan_jobs.modify_plan(only, found, OPTIONS, ALICE)) == [
        ("scontrol", "update", "jobid=157", "arraytaskthrottle=3")
    ]
    both = ModifyJob(cluster="rig", refs=refs, name="x", extensions={"array_throttle": 3})
    assert argvs(plan_jobs.modify_plan(both, found, OPTIONS, ALICE)) == [
        ("scontrol", "update", "jobid=157_[0-9]", "jobname=x"),
        ("scontrol", "update", "jobid=157", "arraytaskthrottle=3"),
    ]


def test_a_deadline_is_for_operators() -> None:
    refs, found = targets(job())
    intent = ModifyJob(cluster="rig", refs=refs, extensions={"deadline": "now+2days"})
    assert "operator" in plan_jobs.modify_plan(intent, found, OPTIONS, ALICE).warnings[0]
    assert plan_jobs.modify_plan(intent, found, OPTIONS, OPER).warnings == ()
    assert "only operators" in (modify_offers(job(), ALICE)["deadline"] or "")
    assert modify_offers(job(), OPER)["deadline"] is None


@pytest.mark.parametrize(
    "extensions", [{"colour": "red"}, {"dependency": "afterok:7;rm"}, {"qos": "a\nb"}, {"top": 1, "qos": "x"}]
)
def test_what_cannot_be_modified(extensions: dict[str, Any]) -> None:
    refs, found = targets(job())
    with pytest.raises(Invalid):
        plan_jobs.modify_plan(ModifyJob(cluster="rig", refs=refs, extensions=extensions), found, OPTIONS, ALICE)


def test_what_is_offered_depends_on_the_job_and_the_person() -> None:
    pending, running, foreign = job(), job(status="running"), job(owner="bob")
    assert modify_offers(pending, ALICE)["qos"] is None and "only operators" in (
        modify_offers(pending, ALICE)["priority"] or ""
    )
    assert modify_offers(pending, OPER)["priority"] is None
    assert modify_offers(running, ALICE)["walltime_seconds"] is None and "pending job" in (
        modify_offers(running, OPER)["queue"] or ""
    )
    assert all(modify_offers(foreign, ALICE).values()) and not all(modify_offers(foreign, OPER).values())
    assert set(modify_offers(job(status="failed"), OPER).values()) == {"The job has ended."}


def test_coordinators_change_jobs_of_their_accounts() -> None:
    bob = Person("bob", "user", ("bio",))
    members, others = job(owner="carol", extensions={"account": "bio"}), job(owner="carol", extensions={"account": "x"})
    assert modify_offers(members, bob)["queue"] is None and "only operators" in (
        modify_offers(members, bob)["priority"] or ""
    )
    assert all(modify_offers(others, bob).values()) and bob.identity().accounts == {"bio"}
    for person, version, may in (
        (bob, Version(24, 11, 5), True), (bob, OLD, False), (ALICE, Version(24, 11, 5), False), (ALICE, NEW, True),
        (OPER, OLD, True), (Person("who"), OLD, True),
    ):  # fmt: skip
        found = capabilities(version, person, {})
        assert ("suspend" in found.supported) == ("resume" in found.supported) == may, (person, version)
    for each, warned in ((members, False), (others, True)):
        refs, seen = targets(each._replace(status="running"))
        plan = plan_jobs.simple_plan(SuspendJob(cluster="rig", refs=refs), seen, OPTIONS, Version(24, 11, 5), bob)
        assert any("only operators suspend" in warning for warning in plan.warnings) == warned


def test_nodes_and_partitions() -> None:
    node = Node("n01", "busy", slots_used=4, cluster="rig", extensions={"state": "mixed"})
    refs, found = (node.ref,), [node_target(node)]
    drain = plan_cluster.drain_plan(DrainNode(cluster="rig", refs=refs, reason="a | b"), found, OPTIONS)
    assert argvs(drain) == [("scontrol", "update", "nodename=n01", "state=drain", "reason=a | b")]
    assert "they go on to their end" in drain.warnings[0]
    for state, word in (
        ("mixed+drain", "undrain"),
        ("draining", "undrain"),
        ("drained*", "undrain"),
        ("down*", "resume"),
        ("down+not_responding", "resume"),
        ("idle+not_responding", "undrain"),
    ):
        found = [node_target(node._replace(extensions={"state": state}))]
        assert (
            argvs(plan_cluster.undrain_plan(UndrainNode(cluster="rig", refs=refs), found, OPTIONS))[0][-1]
            == f"state={word}"
        )
    queue = Queue("debug", "active", cluster="rig", extensions={"state": "up"})
    for what, state in (("submissions", "drain"), ("starts", "down"), ("both", "inactive")):
        intent = CloseQueue(cluster="rig", refs=(queue.ref,), what=what)  # type: ignore[arg-type]
        plan = plan_cluster.queue_plan(intent, [queue_target(queue)], OPTIONS)
        assert argvs(plan) == [("scontrol", "update", "partitionname=debug", f"state={state}")]


def test_reservations_are_checked() -> None:
    good: dict[str, Any] = {
        "cluster": "rig",
        "name": "r",
        "nodes": ("n01",),
        "users": ("a", "b"),
        "duration_seconds": 3601,
    }
    (argv,) = argvs(plan_cluster.create_reservation_plan(CreateReservation(**good), OPTIONS))
    assert argv[3:] == ("reservationname=r", "starttime=now", "duration=61", "nodes=n01", "users=a,b")
    for wrong in ({"nodes": ()}, {"users": ()}, {"nodes": ("n01,n02",)}, {"extensions": {"colour": "red"}}):
        with pytest.raises(Invalid):
            plan_cluster.create_reservation_plan(CreateReservation(**(good | wrong)), OPTIONS)


def held(*rows: tuple[str, int], node: str = "n01") -> Any:
    return by_node([Reservation(name, "active", (node,), cores) for name, cores in rows]).get(node)


def quota(
    slots: int | None,
    *,
    used: int = 4,
    rows: tuple[tuple[str, int], ...] = (),
    version: Version = OLD,
    threads: int = 1,
    jobs: tuple[Job, ...] = (),
    status: Any = "busy",
) -> list[str]:
    """The steps of a quota on a node of 16 slots, each in a word: ``3`` creates, ``-name`` deletes, ``3!`` and ``3~``
    create over busy cores and with overlap."""
    from adapters.slurm.reservations import NodeReservations

    node = Node("n01", status, slots_used=used, slots_total=16, cores_total=16, cluster="rig",
                extensions={"state": "mixed", "threads_per_core": threads})  # fmt: skip
    intent = SetNodeQuota(cluster="rig", refs=(node.ref,), slots=slots)
    reserved = held(*rows) or NodeReservations()
    plan = quota_plan(intent, [(node, node_target(node), reserved, jobs)], OPTIONS, version)
    return [_word(step.request) for step in plan.steps]


def _word(request: Any) -> str:
    assert isinstance(request, Command)
    settings = dict(part.partition("=")[::2] for part in request.argv)
    if "delete" in request.argv:
        return f"-{settings['reservationname'].removeprefix('pilothouse_quota_n01_')}"
    assert (settings["users"], settings["duration"], settings["nodes"]) == ("root", "infinite", "n01")
    return settings["corecnt"] + {"": "", "ignore_jobs": "!", "overlap": "~"}[settings.get("flags", "")]


Q = "pilothouse_quota_n01_"


@pytest.mark.parametrize(
    ("steps", "given"),
    [
        (["6"], {"slots": 10}),
        (["12", "2!"], {"slots": 2}),
        (["12", "1", "1"], {"slots": 2, "version": NEW, "jobs": (job(status="running", cores=1),
                                                               job(status="running", cores=3, nodes=1))}),
        (["12", "2"], {"slots": 2, "version": NEW}),
        (["16!"], {"slots": 0, "used": 16}),
        (["2"], {"slots": 8, "rows": ((f"{Q}10_1", 6),)}),
        (["-10_1", "4"], {"slots": 12, "rows": ((f"{Q}10_1", 6),)}),
        (["-8_2"], {"slots": 10, "rows": ((f"{Q}10_1", 6), (f"{Q}8_2", 2))}),
        (["-10_1", "-8_2"], {"slots": None, "rows": ((f"{Q}10_1", 6), (f"{Q}8_2", 2))}),
        (["-10_1"], {"slots": 16, "rows": ((f"{Q}10_1", 6),)}),
        (["6~"], {"slots": 10, "rows": (("exam", 16),)}),
        (["8~", "-10_1"], {"slots": 8, "rows": ((f"{Q}10_1", 6), ("exam", 16))}),
        (["3"], {"slots": 10, "threads": 2}),
        (["3"], {"slots": 11, "threads": 2}),
    ],
)  # fmt: skip
def test_the_reservations_of_a_quota(steps: list[str], given: dict[str, Any]) -> None:
    slots = given.pop("slots")
    assert quota(slots, **given) == steps


def test_a_quota_that_cannot_be_or_is_already() -> None:
    for slots, given in (
        (None, {}),
        (10, {"rows": ((f"{Q}10_1", 6),)}),
        (3, {"status": "drain"}),
        (3, {"status": "down"}),
    ):
        with pytest.raises(Conflict):
            quota(slots, **given)  # type: ignore[arg-type]


def test_names_of_reservations_tell_the_quota() -> None:
    found = held((f"{Q}10_1", 6), (f"{Q}8_2", 2), ("exam", 16))
    assert found.quota(16, 1) == 8 and found.unfulfilled(16, 1) is None and found.others == ("exam",)
    assert held((f"{Q}8_1", 3)).unfulfilled(16, 1) == 8, "five cores are still to be set apart"
    assert held((f"{Q}8_1", 3), node="n02").ours == (), "a name that tells of another node is not ours"
    assert held(("pilothouse_quota_a_b-c.d_4_12", 4), node="a_b-c.d").quota(16, 1) == 4


def test_reservations_of_each_version_are_read() -> None:
    lines = (
        b"ReservationName=later StartTime=1796028292 EndTime=1796031892 Duration=01:00:00 Nodes=n02 NodeCnt=1 "
        b"CoreCnt=16 Features=(null) PartitionName=(null) Flags=IGNORE_JOBS,SPEC_NODES TRES=cpu=16 "
        b"Users=alice Groups=(null) "
        b"State=INACTIVE BurstBuffer=(null) Watts=n/a MaxStartDelay=(null)\n"
        b"ReservationName=a b StartTime=1796007429 EndTime=1827543429 Duration=365-00:00:00 "
        b"Nodes=n[05-06] NodeCnt=2 CoreCnt=2 Features=(null) Flags=SPEC_NODES   NodeName=n05 CoreIDs=3-4 TRES=cpu=2 "
        b"AllowedPartitions=(null) "
        b"QOS=(null) Users=root,bob State=ACTIVE\n"
    )
    first, second = parse_reservations(lines, "rig")
    assert (first.name, first.node_names, first.cores, first.users, first.status) == (
        "later",
        ("n02",),
        16,
        ("alice",),
        "inactive",
    )
    assert (second.name, second.node_names, second.users) == ("a b", ("n05", "n06"), ("root", "bob"))
    assert parse_reservations(b"No reservations in the system\n", "rig") == ()


def test_versions() -> None:
    assert parse_version("slurm-wlm 22.05.8\n") == OLD and str(parse_version("slurm 26.05.5")) == "26.05.5"
    assert parse_version("slurm 25.11.0-0rc1")[:2] == (25, 11)


def test_capabilities_hide_nothing_when_nobody_knows() -> None:
    unknown = capabilities(OLD, Person("alice"), {})
    assert {"drain", "suspend", "set_node_quota"} <= unknown.supported
    known = capabilities(OLD, ALICE, {"PrivateData": "jobs,usage"})
    assert "suspend" in known.unsupported and any("jobs, usage" in note for note in known.notes)
    assert capabilities(OLD, Person("root", "administrator"), {}).why_not("drain") is None
