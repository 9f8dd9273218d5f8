"""Plans: the exact argv of every write, what is refused before it is sent, and what becomes of it on the double."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from adapters.base import AdapterError, Conflict, Invalid, NotFound, Unsupported
from adapters.intents import (
    CancelJob,
    CheckpointJob,
    CloseQueue,
    CreateReservation,
    DeleteReservation,
    DrainNode,
    HoldJob,
    Intent,
    ModifyJob,
    OpenQueue,
    ReissueNodeToken,
    ReleaseJob,
    RequeueJob,
    ResumeJob,
    SetNodeQuota,
    SetQueueQuota,
    SubmitJob,
    SuspendJob,
    UndrainNode,
)
from adapters.lsf.jobs import INTENT_MARK
from adapters.lsf.writer import LsfWriter
from adapters.model import Dependency, JobSpec
from adapters.plan import Command, Plan
from tests.lsf.support import ME, add, lsf, opened, ref

GIB = 1024**3


def argvs(plan: Plan) -> list[tuple[str, ...]]:
    assert all(isinstance(step.request, Command) for step in plan.steps)
    return [step.request.argv for step in plan.steps if isinstance(step.request, Command)]


async def done(writer: LsfWriter, plan: Plan) -> list[str]:
    """The results of all steps."""
    return [outcome.result for step in plan.steps for outcome in await writer.send(step)]


async def submitted(tmp_path: Path, spec: JobSpec, **options: Any) -> tuple[tuple[str, ...], bytes | None, Plan]:
    """argv (without program and description), standard input, and the plan of a submission."""
    intent = SubmitJob(cluster="lsf", spec=spec)
    plan = await opened(lsf(tmp_path), **options)[1].plan(intent)
    (step,) = plan.steps
    assert isinstance(step.request, Command)
    argv = step.request.argv
    assert argv[:3] == ("bsub", "-Jd", f"{INTENT_MARK}{intent.intent_id}")
    return argv[3:], step.request.stdin, plan


# Submissions


async def test_a_command_is_one_argument_quoted_for_a_shell(tmp_path: Path) -> None:
    argv, stdin, plan = await submitted(tmp_path, JobSpec(command=("echo", "it's; $HOME", "a b")))
    assert argv == ("echo 'it'\"'\"'s; $HOME' 'a b'",) and stdin is None
    assert any("by mail" in warning for warning in plan.warnings)


async def test_a_script_goes_to_standard_input_with_its_own_options(tmp_path: Path) -> None:
    script = "#!/bin/sh\n#BSUB -q short\necho ä\n"
    argv, stdin, plan = await submitted(tmp_path, JobSpec(script=script, output="o.%J"))
    assert argv == ("-o", "o.%J") and stdin == script.encode()
    assert any("#BSUB" in warning for warning in plan.warnings)


async def test_everything_a_submission_can_ask_for(tmp_path: Path) -> None:
    spec = JobSpec(
        command=("run",), name="n", queue="short", nodes=2, cores=8, gpus=4, memory_bytes=2 * GIB,
        walltime_seconds=5400, array="1-10%2",
        dependencies=(Dependency("5", "afterok"), Dependency("7[2]", "afterany")),
        env={"A": "1", "B": "x y"}, cwd="/scratch", output="o.%J.%I", error="e.%J", hold=True, account="proj",
        extensions={"application": "app", "requirements": "select[ssd]", "exclusive": True, "priority": 50},
    )  # fmt: skip
    argv, _, plan = await submitted(tmp_path, spec)
    assert argv == (
        "-J", "n[1-10]%2", "-q", "short", "-n", "8", "-R", "span[ptile=4]", "-M", "2GB", "-W", "1:30", "-gpu", "num=2",
        "-P", "proj", "-w", "done(5) && ended(7[2])", "-cwd", "/scratch", "-o", "o.%J.%I", "-e", "e.%J",
        "-env", "all, A=1, B=x y", "-H", "-app", "app", "-R", "select[ssd]", "-x", "-sp", "50", "run",
    )  # fmt: skip
    assert plan.warnings == () and plan.changes and plan.undo


async def test_amounts_are_rounded_up_and_the_plan_says_so(tmp_path: Path) -> None:
    argv, _, plan = await submitted(tmp_path, JobSpec(command=("x",), memory_bytes=1_000_000_001, walltime_seconds=61))
    assert argv[:4] == ("-M", "976563KB", "-W", "0:02")
    assert plan.warnings[:2] == (
        "Memory is rounded up to 1,000,000,512 bytes.",
        "The run limit is rounded up to 0:02 (whole minutes).",
    )


async def test_an_older_lsf_gets_a_number_in_the_units_of_the_site(tmp_path: Path) -> None:
    intent = SubmitJob(cluster="lsf", spec=JobSpec(command=("x",), memory_bytes=2 * GIB))
    double = lsf(tmp_path, "ibm9")  # LSF_UNIT_FOR_LIMITS=MB
    assert argvs(await opened(double)[1].plan(intent))[0][3:5] == ("-M", "2048")
    (double.folder / "lsf.conf").write_text("# nothing of units\n")
    assert argvs(await opened(double)[1].plan(intent))[0][3:5] == ("-M", str(2 * 1024**2)), "KB is LSF's default"
    (double.folder / "lsf.conf").unlink()
    with pytest.raises(Unsupported) as caught:
        await opened(double)[1].plan(intent)
    assert "LSF_UNIT_FOR_LIMITS" in caught.value.message
    assert argvs(await opened(double, unit_for_limits="GB")[1].plan(intent))[0][3:5] == ("-M", "2")


@pytest.mark.parametrize(
    "spec",
    [
        JobSpec(command=("x",), name="a[1]"),
        JobSpec(command=("x",), array="x"),
        JobSpec(command=("x",), array="1-5;rm"),
        JobSpec(command=("-x",)),
        JobSpec(command=("x",), dependencies=(Dependency("0", "afterok"),)),
        JobSpec(command=("x",), dependencies=(Dependency("5) || done(6", "afterok"),)),
        JobSpec(command=("x",), dependencies=(Dependency("5", "whenever"),)),
        JobSpec(command=("x",), cores=3, nodes=2),
        JobSpec(command=("x",), gpus=3, nodes=2, cores=2),
        JobSpec(command=("x",), env={"A": "1,B=2"}),
        JobSpec(command=("x",), env={"A B": "1"}),
        JobSpec(command=("x",), queue="-q"),
        JobSpec(command=("x",), output="--help"),
        JobSpec(command=("x",), extensions={"unheard": "of"}),
        JobSpec(command=("x",), extensions={"requirements": "-x"}),
        JobSpec(script="#BSUB -K\nx"),
        JobSpec(script="#!/bin/sh\n#BSUB -q short -Is\nx"),
        JobSpec(script="a\0b"),
    ],
)
async def test_what_lsf_cannot_be_asked_is_refused_before_anything_is_sent(tmp_path: Path, spec: JobSpec) -> None:
    double = lsf(tmp_path)
    with pytest.raises(Invalid) as caught:
        await opened(double)[1].plan(SubmitJob(cluster="lsf", spec=spec))
    assert caught.value.message and double.received() == []


async def test_a_submission_is_found_by_its_intent_in_every_dialect(tmp_path: Path) -> None:
    for dialect in ("ibm", "ibm9", "clone", "classic"):
        double = lsf(tmp_path, dialect)
        add(double, description=f"{INTENT_MARK}other")
        reader, writer = opened(double)
        for spec in (JobSpec(command=("x",)), JobSpec(command=("y",), name="arr", array="1-3")):
            intent = SubmitJob(cluster="lsf", spec=spec)
            with double.mode(garble=True):
                assert await done(writer, await writer.plan(intent)) == ["unknown"]
            (found,) = await reader.find_intent(str(intent.intent_id))
            assert found.id.isdigit() and found.kind == "job"


# Job control


@pytest.mark.parametrize(
    ("kind", "stat", "argv"),
    [
        (CancelJob, "RUN", ("bkill",)), (CancelJob, "PEND", ("bkill",)), (CancelJob, "UNKWN", ("bkill",)),
        (HoldJob, "PEND", ("bstop",)), (ReleaseJob, "PSUSP", ("bresume",)), (SuspendJob, "RUN", ("bstop",)),
        (ResumeJob, "USUSP", ("bresume",)), (ResumeJob, "SSUSP", ("bresume",)), (CheckpointJob, "RUN", ("bchkpnt",)),
        (RequeueJob, "RUN", ("brequeue",)), (RequeueJob, "DONE", ("brequeue", "-d")),
        (RequeueJob, "EXIT", ("brequeue", "-e")),
    ],
)  # fmt: skip
async def test_job_control(tmp_path: Path, kind: type[Intent], stat: str, argv: tuple[str, ...]) -> None:
    double = lsf(tmp_path)
    id = add(double, stat=stat)
    _, writer = opened(double)
    plan = await writer.plan(kind.model_validate({"cluster": "lsf", "refs": (ref(id),)}))
    assert argvs(plan) == [(*argv, id)]
    assert await done(writer, plan) == ["accepted"]
    assert [command.argv for command in double.received()] == [(*argv, id)]


@pytest.mark.parametrize(
    ("kind", "stat", "words"),
    [
        (CancelJob, "DONE", "is over (succeeded)"), (HoldJob, "RUN", "suspend it instead"),
        (HoldJob, "PSUSP", "is held already"), (ReleaseJob, "PEND", "is not held"),
        (SuspendJob, "PEND", "does not run"),
        (ResumeJob, "RUN", "is not suspended"), (ResumeJob, "PSUSP", "is not suspended"),
        (RequeueJob, "PEND", "waits already"), (CheckpointJob, "PEND", "does not run"), (HoldJob, "EXIT", "is over"),
    ],
)  # fmt: skip
async def test_a_verb_that_means_nothing_now_is_not_sent(
    tmp_path: Path, kind: type[Intent], stat: str, words: str
) -> None:
    double = lsf(tmp_path)
    id = add(double, stat=stat)
    with pytest.raises(Conflict) as caught:
        await opened(double)[1].plan(kind.model_validate({"cluster": "lsf", "refs": (ref(id),)}))
    assert words in caught.value.message and double.received() == []


async def test_one_element_of_an_array_is_ended_and_no_other(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    id = add(double, name="arr", index=1)
    for index in (2, 3):
        double.job(id=int(id), user=ME, name="arr", index=index, submit=1)
    reader, writer = opened(double)
    plan = await writer.plan(CancelJob(cluster="lsf", refs=(ref(f"{id}[3]"),)))
    assert argvs(plan) == [("bkill", f"{id}[3]")] and plan.steps[0].request.lines() == [f"bkill '{id}[3]'"]
    assert await done(writer, plan) == ["accepted"]
    states = {job.id: job.status for job in await reader.list_jobs()}
    assert states == {f"{id}[1]": "pending", f"{id}[2]": "pending", f"{id}[3]": "cancelled"}


async def test_a_whole_array_is_one_command_and_the_plan_says_so(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    id = add(double, name="arr", index=1)
    double.job(id=int(id), user=ME, name="arr", index=2, submit=1)
    reader, writer = opened(double)
    plan = await writer.plan(CancelJob(cluster="lsf", refs=(ref(id),)))
    assert argvs(plan) == [("bkill", id)] and "every element" in plan.warnings[0]
    assert plan.targets[0].state == "array"
    assert await done(writer, plan) == ["accepted"]
    assert {job.status for job in await reader.list_jobs()} == {"cancelled"}


async def test_a_verb_that_would_mean_another_for_some_elements_is_not_sent(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    id = add(double, name="arr", index=1)
    double.job(id=int(id), user=ME, name="arr", index=2, submit=1)
    _, writer = opened(double)
    assert argvs(await writer.plan(HoldJob(cluster="lsf", refs=(ref(id),)))) == [("bstop", id)]
    with double.world() as world:
        world["jobs"][0] |= {"stat": "RUN", "start": 5, "hosts": ["node01"]}
    for kind, words in ((HoldJob, "(RUN)"), (SuspendJob, "(PEND)")):
        with pytest.raises(Conflict) as caught:
            await writer.plan(kind(cluster="lsf", refs=(ref(id),)))
        assert words in caught.value.message and "name the elements" in caught.value.message
    assert argvs(await writer.plan(CancelJob(cluster="lsf", refs=(ref(id),)))) == [("bkill", id)]


@pytest.mark.parametrize("id", ["0", "0[1]", "1 0", "16[1-5]", "5;6", "5[0]"])
async def test_zero_and_what_could_hit_more_is_never_sent(tmp_path: Path, id: str) -> None:
    double = lsf(tmp_path)
    add(double)
    with pytest.raises((Invalid, NotFound)):
        await opened(double)[1].plan(CancelJob(cluster="lsf", refs=(ref(id),)))
    assert double.received() == []


async def test_a_signal(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    id = add(double, stat="RUN")
    _, writer = opened(double)
    plan = await writer.plan(CancelJob(cluster="lsf", refs=(ref(id),), signal="USR1"))
    assert argvs(plan) == [("bkill", "-s", "USR1", id)]
    assert await done(writer, plan) == ["accepted"]


async def test_several_jobs_are_several_steps_and_those_that_are_over_are_left_out(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    ids = [add(double), add(double, stat="RUN"), add(double, stat="DONE", end=5), add(double, user="ben")]
    _, writer = opened(double)
    with double.world() as world:
        world["admins"] = []
    plan = await writer.plan(CancelJob(cluster="lsf", refs=tuple(ref(id) for id in ids)))
    assert argvs(plan) == [("bkill", ids[0]), ("bkill", ids[1]), ("bkill", ids[3])]
    assert [target.owner for target in plan.targets] == [ME, ME, "ben"]
    assert plan.warnings == (f"Job {ids[2]} is over (succeeded).",)
    assert await done(writer, plan) == ["accepted", "accepted", "refused"]


async def test_an_unreachable_host_leaves_the_outcome_unknown(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    id = add(double, stat="UNKWN", unreachable=True)
    _, writer = opened(double)
    (step,) = (await writer.plan(CancelJob(cluster="lsf", refs=(ref(id),)))).steps
    (outcome,) = await writer.send(step)
    assert (outcome.result, outcome.message) == ("unknown", f"Job <{id}>: Operation is in progress")


async def test_a_command_that_is_gone_has_sent_nothing(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    id = add(double)
    _, writer = opened(double)
    (step,) = (await writer.plan(CancelJob(cluster="lsf", refs=(ref(id),)))).steps
    (double.bin / "bkill").unlink()
    (outcome,) = await writer.send(step)
    assert (outcome.result, outcome.error) == ("refused", "unreachable")


# Modifications


async def test_a_modification_is_a_switch_a_change_and_a_move(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    id = add(double)
    reader, writer = opened(double)
    intent = ModifyJob(
        cluster="lsf", refs=(ref(id),), queue="short", name="new", cores=4, memory_bytes=2 * GIB, walltime_seconds=600,
        priority=7, account="p2", extensions={"requirements": "select[ssd]", "position": "bottom"},
    )  # fmt: skip
    plan = await writer.plan(intent)
    assert argvs(plan) == [
        ("bswitch", "short", id),
        ("bmod", "-J", "new", "-n", "4", "-M", "2GB", "-W", "0:10", "-sp", "7", "-P", "p2", "-R", "select[ssd]", id),
        ("bbot", id),
    ]
    assert [step.sequel for step in plan.steps] == [False, True, True]
    changes = {change.field: (change.before, change.after) for change in plan.changes}
    assert changes["queue"] == ("normal", "short") and changes["name"] == ("sleep 60", "new")
    assert plan.undo == f"bswitch normal {id}"
    assert await done(writer, plan) == ["accepted"] * 3
    job = await reader.get_job(id)
    assert (job.queue, job.name, job.cores, job.walltime_seconds) == ("short", "new", 4, 600)
    target = (await reader.observe([ref(id)]))[ref(id)]
    assert target is not None and target.values["account"] == "p2" and target.values["memory_bytes"] == 2 * GIB


async def test_a_running_job_is_warned_of_and_lsfs_refusal_is_shown(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    id = add(double, stat="RUN")
    _, writer = opened(double)
    plan = await writer.plan(ModifyJob(cluster="lsf", refs=(ref(id),), walltime_seconds=600))
    assert "may refuse" in plan.warnings[0]
    (outcome,) = await writer.send(plan.steps[0])
    assert (outcome.result, outcome.error) == ("refused", "conflict") and "cannot be changed now" in outcome.message


@pytest.mark.parametrize(
    "change",
    [
        {"nodes": 2}, {"name": "a[1-3]"}, {"extensions": {"nonsense": 1}}, {"extensions": {"position": "middle"}},
        {"extensions": {"requirements": "-x"}},
    ],
)  # fmt: skip
async def test_what_lsf_cannot_change(tmp_path: Path, change: dict[str, Any]) -> None:
    double = lsf(tmp_path)
    id = add(double)
    with pytest.raises(Invalid):
        await opened(double)[1].plan(ModifyJob.model_validate({"cluster": "lsf", "refs": (ref(id),), **change}))


# Hosts, queues, reservations


async def test_a_host_is_closed_with_a_comment_and_opened(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    reader, writer = opened(double)
    reason = "disk; [bold]replace[/] | ticket 42"
    plan = await writer.plan(DrainNode(cluster="lsf", refs=(ref("node03", "node"),), reason=reason))
    assert argvs(plan) == [("badmin", "hclose", "-C", reason, "node03")] and plan.undo == "badmin hopen node03"
    assert await done(writer, plan) == ["accepted"]
    node = {row.name: row for row in await reader.list_nodes()}["node03"]
    assert (node.status, node.extensions["comment"]) == ("drain", reason)
    plan = await writer.plan(UndrainNode(cluster="lsf", refs=(ref("node03", "node"),)))
    assert argvs(plan) == [("badmin", "hopen", "node03")]
    add(double, stat="RUN", hosts=["node03"] * 4, slots=4)
    (outcome,) = await writer.send(plan.steps[0])
    assert outcome.result == "accepted" and "host remains closed due to job limit" in outcome.message


async def test_who_is_no_administrator_is_refused_in_lsfs_words(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    with double.world() as world:
        world["admins"] = []
    _, writer = opened(double)
    for intent in (
        DrainNode(cluster="lsf", refs=(ref("node03", "node"),), reason="x"),
        CloseQueue(cluster="lsf", refs=(ref("short", "queue"),)),
        SetNodeQuota(cluster="lsf", refs=(ref("node03", "node"),), slots=1),
    ):
        (outcome,) = await writer.send((await writer.plan(intent)).steps[0])
        assert (outcome.result, outcome.error) == ("refused", "forbidden"), outcome
        assert "User permission denied" in outcome.message


@pytest.mark.parametrize("name", ["all", "nosuch", "node01 node02", "-C", "others"])
async def test_only_single_hosts_that_exist_are_closed(tmp_path: Path, name: str) -> None:
    double = lsf(tmp_path)
    with pytest.raises((NotFound, Invalid, ValueError)):
        await opened(double)[1].plan(DrainNode(cluster="lsf", refs=(ref(name, "node"),), reason="x"))
    assert double.received() == []


async def test_the_job_slot_limit_of_a_host(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    reader, writer = opened(double)
    for slots, value in ((2, "2"), (0, "0"), (None, "-")):
        intent = SetNodeQuota(cluster="lsf", refs=(ref("node01", "node"),), slots=slots)
        plan = await writer.plan(intent)
        assert argvs(plan) == [
            ("bconf", "update", "host=node01", f"MXJ={value}", "-c", f"pilothouse:{intent.intent_id}")
        ]
        assert await done(writer, plan) == ["accepted"]
        target = (await reader.observe([ref("node01", "node")]))[ref("node01", "node")]
        assert target is not None and target.values["slots_quota"] == slots
    assert plan.changes[0].before == "0" and plan.undo == 'bconf update host=node01 "MXJ=0"'


@pytest.mark.parametrize("origin", ["chat", "mcp", "autopilot"])
async def test_the_job_slot_limit_is_for_persons_only(tmp_path: Path, origin: Any) -> None:
    double = lsf(tmp_path)
    reader, writer = opened(double)
    assert (await reader.capabilities()).persons_only == {"set_node_quota"}
    with pytest.raises(Unsupported) as caught:
        await writer.plan(SetNodeQuota(cluster="lsf", refs=(ref("node01", "node"),), slots=2, origin=origin))
    assert "only a person" in caught.value.message and double.received() == []


async def test_without_live_reconfiguration_there_is_no_node_quota_and_the_reason_is_told(tmp_path: Path) -> None:
    intent = SetNodeQuota(cluster="lsf", refs=(ref("node01", "node"),), slots=2)
    off = lsf(tmp_path / "a")
    (off.folder / "lsf.conf").write_text("LSF_UNIT_FOR_LIMITS=MB\n")
    for double, options, words in (
        (off, {}, "LSF_LIVE_CONFDIR"),
        (lsf(tmp_path / "b", without=("bconf",)), {}, "bconf"),
        (lsf(tmp_path / "c"), {"job_slot_limits": False}, "The site does not allow"),
    ):
        reader, writer = opened(double, **options)
        assert words in ((await reader.capabilities()).why_not("set_node_quota") or "")
        with pytest.raises(Unsupported) as caught:
            await writer.plan(intent)
        assert words in caught.value.message


async def test_queues_are_closed_and_opened_as_far_as_it_takes(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    reader, writer = opened(double)
    queue = (ref("short", "queue"),)
    for what, expected, status in (
        ("submissions", ["qclose"], "draining"),
        ("starts", ["qinact"], "inactive"),
        ("both", ["qclose", "qinact"], "inactive"),
    ):
        plan = await writer.plan(CloseQueue(cluster="lsf", refs=queue, what=what, reason="why"))  # type: ignore[arg-type]
        assert argvs(plan) == [("badmin", command, "-C", "why", "short") for command in expected]
        assert set(await done(writer, plan)) == {"accepted"}
        target = (await reader.observe(queue))[queue[0]]
        assert (target is not None and target.state == status) or what == "starts"
    plan = await writer.plan(OpenQueue(cluster="lsf", refs=queue))
    assert argvs(plan) == [("badmin", "qopen", "short"), ("badmin", "qact", "short")]
    assert await done(writer, plan) == ["accepted", "accepted"]
    plan = await writer.plan(OpenQueue(cluster="lsf", refs=queue))
    assert argvs(plan) == [("badmin", "qopen", "short")] and "open already" in plan.warnings[0]


async def test_reservations(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    reader, writer = opened(double, zone=UTC)
    assert await reader.list_reservations() == []
    start = datetime(2027, 1, 2, 14, 5, tzinfo=UTC)
    intent = CreateReservation(
        cluster="lsf", name="upgrade", nodes=("node01", "node02"), cores=4, users=("ana", "ben"), start_time=start,
        duration_seconds=7200,
    )  # fmt: skip
    plan = await writer.plan(intent)
    assert argvs(plan) == [
        ("brsvadd", "-N", "upgrade", "-m", "node01 node02", "-n", "4", "-u", "ana ben", "-b", "2027:1:2:14:5",
         "-e", "2027:1:2:16:5"),
    ]  # fmt: skip
    assert await done(writer, plan) == ["accepted"]
    (made,) = await reader.list_reservations()
    assert (made.name, made.cores, made.node_names) == ("upgrade", 4, ("node01", "node02"))
    assert made.users == ("ana", "ben") and made.extensions["window"] and made.start_time is None
    plan = await writer.plan(DeleteReservation(cluster="lsf", refs=(ref("upgrade", "reservation"),)))
    assert argvs(plan) == [("brsvdel", "upgrade")]
    assert await done(writer, plan) == ["accepted"]
    with pytest.raises(NotFound):
        await writer.plan(DeleteReservation(cluster="lsf", refs=(ref("upgrade", "reservation"),)))
    system = await writer.plan(intent.model_copy(update={"users": (), "cores": None}))
    assert "-s" in argvs(system)[0] and "system reservation" in system.warnings[0]


@pytest.mark.parametrize(
    "change",
    [
        {"duration_seconds": 300}, {"duration_seconds": None}, {"nodes": ()}, {"name": "9lives"}, {"cores": None},
        {"start_time": datetime(2020, 1, 1, tzinfo=UTC)}, {"extensions": {"a": 1}},
    ],
)  # fmt: skip
async def test_reservations_that_lsf_cannot_make(tmp_path: Path, change: dict[str, Any]) -> None:
    values: dict[str, Any] = {
        "cluster": "lsf", "name": "r", "nodes": ("node01",), "cores": 1, "users": ("ana",), "duration_seconds": 3600,
    }  # fmt: skip
    with pytest.raises(Invalid):
        await opened(lsf(tmp_path))[1].plan(CreateReservation(**(values | change)))


async def test_what_lsf_does_not_have_says_why(tmp_path: Path) -> None:
    double = lsf(tmp_path, without=("bchkpnt",))
    id = add(double, stat="RUN")
    reader, writer = opened(double)
    found = await reader.capabilities()
    for intent in (
        ReissueNodeToken(cluster="lsf", refs=(ref("node01", "node"),)),
        SetQueueQuota(cluster="lsf", refs=(ref("short", "queue"),), limits={"slots": 4}),
        CheckpointJob(cluster="lsf", refs=(ref(id),)),
    ):
        with pytest.raises(Unsupported) as caught:
            await writer.plan(intent)
        assert caught.value.message == found.why_not(intent.verb)


async def test_an_intent_for_another_cluster_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AdapterError):
        await opened(lsf(tmp_path))[1].plan(SubmitJob(cluster="other", spec=JobSpec(command=("x",))))
