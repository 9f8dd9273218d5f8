"""Every write against a real Slurm: what it does, and how Slurm refuses it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import uuid4

import pytest

from adapters.base import Invalid, NotFound
from adapters.intents import (
    CancelJob,
    CloseQueue,
    Command,
    CreateReservation,
    DeleteReservation,
    DrainNode,
    HoldJob,
    ModifyJob,
    OpenQueue,
    ReleaseJob,
    RequeueJob,
    ResumeJob,
    Step,
    SubmitJob,
    SuspendJob,
    UndrainNode,
)
from adapters.model import Dependency, JobSpec, Ref
from tests.rigs.slurm.rig import Rig
from tests.slurm.support import CLUSTER, carry_out, job, node, open_as, until_true

pytestmark = pytest.mark.rig


def submit(**spec: object) -> SubmitJob:
    return SubmitJob(cluster=CLUSTER, spec=JobSpec(**spec))  # type: ignore[arg-type]


async def test_a_script_is_submitted_by_content_and_found_by_its_intent(rig: Rig) -> None:
    reader, writer = open_as(rig, "alice")
    script = "#!/bin/bash\n#SBATCH --mem=10\necho 'naïve $HOME'\nsleep 600\n"
    intent = submit(script=script, name="by content", queue="batch", cores=2, walltime_seconds=90, hold=True,
                    output="/dev/null", extensions={"qos": "long"})  # fmt: skip
    plan, outcomes = await carry_out(writer, intent)
    assert plan.dry_run is not None and "to start at" in plan.dry_run
    assert any("whole minutes" in warning for warning in plan.warnings)
    (outcome,) = outcomes
    assert outcome.result == "accepted" and outcome.created is not None
    made = await reader.get_job(outcome.created.id)
    assert (made.name, made.cores, made.walltime_seconds, made.status) == ("by content", 2, 120, "pending")
    assert made.extensions["qos"] == "long" and made.reason == "JobHeldUser"
    assert await reader.find_intent(str(intent.intent_id)) == [made.ref]
    assert await reader.find_intent(str(uuid4())) == []
    stored = rig.run("alice", "scontrol", "write", "batch_script", made.id, "-")
    assert stored.decode().rstrip("\0\n") == script.rstrip("\n")
    rig.run("alice", "scancel", made.id)


async def test_a_command_runs_with_its_variables_and_arguments(rig: Rig, tmp_path: Path) -> None:
    reader, writer = open_as(rig, "alice")
    out = rig.folder / "out" / "variables.out"
    intent = submit(command=("printf", "%s|%s\n", "a b;c", "$HOME"), env={"MINE": "x,y'z"}, memory_bytes=30_000_000,
                    output=str(out), cwd=str(rig.folder / "out"))  # fmt: skip
    _, (outcome,) = await carry_out(writer, intent)
    assert outcome.created is not None
    await until_true(lambda: _finished(reader, outcome.created))
    assert out.read_text() == "a b;c|$HOME\n"
    made = await reader.get_job(outcome.created.id)
    assert made.name == "printf" and made.memory_bytes == 29 * 1024**2 and made.exit_code == 0


async def _finished(reader, ref: Ref | None) -> bool:  # type: ignore[no-untyped-def]
    assert ref is not None
    return bool((await reader.get_job(ref.id)).finished)


async def test_variables_of_a_command_reach_it(rig: Rig) -> None:
    reader, writer = open_as(rig, "alice")
    out = rig.folder / "out" / "env.out"
    intent = submit(command=("sh", "-c", 'echo "$MINE/$LC_ALL/$SLURM_TIME_FORMAT"'), env={"MINE": "x,y'z"},
                    memory_bytes=20_000_000, output=str(out), cwd=str(rig.folder / "out"))  # fmt: skip
    _, (outcome,) = await carry_out(writer, intent)
    await until_true(lambda: _finished(reader, outcome.created))
    assert out.read_text() == "x,y'z//\n", "the settings of the adapter's own reads must not reach jobs"


async def test_arrays_dependencies_and_gpus(rig: Rig) -> None:
    reader, writer = open_as(rig, "alice")
    first = rig.submit("alice", "--hold")
    intent = submit(command=("true",), array="0-9%2", gpus=1, queue="gpu", memory_bytes=10**7,
                    dependencies=(Dependency(first, "afterok"),), output="/dev/null")  # fmt: skip
    _, (outcome,) = await carry_out(writer, intent)
    assert outcome.created is not None
    made = await reader.get_job(outcome.created.id)
    assert made.id == f"{outcome.created.id}_[0-9%2]" and made.array is not None and made.array.range == "0-9%2"
    assert made.gpus == 1 and made.dependencies == (Dependency(first, "afterok"),)
    _, outcomes = await carry_out(writer, CancelJob(cluster=CLUSTER, refs=(made.ref, job(first))))
    assert [each.result for each in outcomes] == ["accepted", "accepted"]


async def test_the_dry_run_says_what_slurm_would_refuse(rig: Rig) -> None:
    _, writer = open_as(rig, "alice")
    plan = await writer.plan(submit(command=("true",), queue="nowhere"))
    assert "invalid partition specified: nowhere" in plan.warnings[0]
    (outcome,) = await writer.send(plan.steps[0])
    assert (outcome.result, outcome.error) == ("refused", "invalid") and "nowhere" in outcome.message


@pytest.mark.parametrize("script", ["", "no shebang\n", "#!/bin/sh\r\ntrue\r\n"])
async def test_scripts_that_slurm_does_not_take(rig: Rig, script: str) -> None:
    _, writer = open_as(rig, "alice")
    if not script:
        with pytest.raises(ValueError, match="command or a script"):
            submit(script=script)
        return
    _, (outcome,) = await carry_out(writer, submit(script=script))
    assert (outcome.result, outcome.error) == ("refused", "invalid")


async def test_hold_release_and_their_refusals(rig: Rig) -> None:
    reader, writer = open_as(rig, "alice")
    id = rig.submit("alice", "--begin=now+5hours")
    for intent, reason in ((HoldJob, "JobHeldUser"), (ReleaseJob, "BeginTime")):
        _, (outcome,) = await carry_out(writer, intent(cluster=CLUSTER, refs=(job(id),)))
        assert outcome.result == "accepted"
        await until_true(lambda reason=reason: _has_reason(reader, id, reason))  # type: ignore[misc]
    _, other = open_as(rig, "bob")
    _, (outcome,) = await carry_out(other, HoldJob(cluster=CLUSTER, refs=(job(id),)))
    assert (outcome.result, outcome.error) == ("refused", "forbidden") and "Invalid user id" in outcome.message
    rig.run("root", "scontrol", "hold", id)
    plan, (outcome,) = await carry_out(writer, ReleaseJob(cluster=CLUSTER, refs=(job(id),)))
    assert "held by an administrator" in plan.warnings[0]
    assert (outcome.result, outcome.error) == ("refused", "forbidden")
    _, oper = open_as(rig, "oper")
    _, (outcome,) = await carry_out(oper, ReleaseJob(cluster=CLUSTER, refs=(job(id),)))
    assert outcome.result == "accepted"
    rig.run("alice", "scancel", id)


async def _has_reason(reader, id: str, reason: str) -> bool:  # type: ignore[no-untyped-def]
    found = (await reader.get_job(id)).reason
    return bool(found == reason) or (reason == "BeginTime" and found is None)


async def test_cancel_and_what_has_gone(rig: Rig) -> None:
    reader, writer = open_as(rig, "alice")
    id = rig.submit("alice", "--begin=now+5hours")
    seen = (await reader.get_job(id)).ref
    intent = CancelJob(cluster=CLUSTER, refs=(seen,))
    plan, (outcome,) = await carry_out(writer, intent)
    assert plan.steps[0].request == Command(("scancel", "-v", id)) and outcome.result == "accepted"
    assert (await reader.observe([seen]))[seen].state == "cancelled"  # type: ignore[union-attr]
    (again,) = await writer.send(plan.steps[0])
    assert (again.result, again.error) == ("refused", "conflict") and "already complet" in again.message
    with pytest.raises(NotFound, match="no job 999999"):
        await writer.plan(CancelJob(cluster=CLUSTER, refs=(job("999999"),)))
    (missing,) = await writer.send(Step(Command(("scancel", "-v", "999999"))))
    assert (missing.result, missing.error) == ("refused", "not_found")


async def test_cancel_of_somebody_elses_job(rig: Rig) -> None:
    id = rig.submit("alice", "--begin=now+5hours")
    _, bob = open_as(rig, "bob")
    _, (outcome,) = await carry_out(bob, CancelJob(cluster=CLUSTER, refs=(job(id),)))
    assert (outcome.result, outcome.error) == ("refused", "forbidden")
    _, oper = open_as(rig, "oper")
    _, (outcome,) = await carry_out(oper, CancelJob(cluster=CLUSTER, refs=(job(id),)))
    assert outcome.result == "accepted"


async def test_cancel_takes_the_elements_that_were_meant(rig: Rig) -> None:
    reader, writer = open_as(rig, "alice")
    id = rig.submit("alice", "--begin=now+5hours", "--array=0-9")
    await carry_out(writer, CancelJob(cluster=CLUSTER, refs=(job(f"{id}_3"), job(f"{id}_[5-6]"))))
    left = {row.id for row in await reader.list_jobs() if row.array and row.array.id == id and not row.finished}
    assert left == {f"{id}_[0-2,4,7-9]"}
    plan = await writer.plan(CancelJob(cluster=CLUSTER, refs=(job(f"{id}_[0-2,4,7-9]"),)))
    assert plan.steps[0].request == Command(("scancel", "-v", f"{id}_[0-2,4,7-9]"))
    plan, _ = await carry_out(writer, CancelJob(cluster=CLUSTER, refs=(job(id),)))
    assert plan.steps[0].request == Command(("scancel", "-v", id)), "a bare id is the whole array"
    assert not [row for row in await reader.list_jobs() if row.array and row.array.id == id and not row.finished]


async def test_a_signal_reaches_the_batch_script_of_an_element(rig: Rig) -> None:
    reader, writer = open_as(rig, "alice")
    out = rig.folder / "out" / "signal.out"
    wrap = "trap 'echo got it' USR1; echo ready; while :; do sleep 0.2; done"
    id = rig.run("alice", "sbatch", "--parsable", "--array=0", "--mem=20", "-o", str(out), "--wrap", wrap)
    array = id.decode().strip()
    await until_true(lambda: _holds(out, "ready"))
    _, (outcome,) = await carry_out(writer, CancelJob(cluster=CLUSTER, refs=(job(f"{array}_0"),), signal="USR1"))
    assert outcome.result == "accepted", outcome
    await until_true(lambda: _holds(out, "got it"))
    assert (await reader.get_job(f"{array}_0")).status == "running"
    rig.run("alice", "scancel", array)


async def _holds(path: Path, text: str) -> bool:
    return await asyncio.to_thread(_in_file, path, text)


def _in_file(path: Path, text: str) -> bool:
    return path.exists() and text in path.read_text()


async def test_requeue_gives_the_job_a_new_birth(rig: Rig) -> None:
    reader, writer = open_as(rig, "alice")
    id = rig.submit("alice", "--requeue", "-w", "n03")
    rig.until_state(id, "RUNNING")
    before = (await reader.get_job(id)).ref
    plan, (outcome,) = await carry_out(writer, RequeueJob(cluster=CLUSTER, refs=(before,)))
    assert outcome.result == "accepted" and "lost" in plan.warnings[0]
    await until_true(lambda: _is(reader, before, "pending"))
    rig.run("alice", "scancel", id)
    pending = rig.submit("alice", "--hold")
    _, (outcome,) = await carry_out(writer, RequeueJob(cluster=CLUSTER, refs=(job(pending),)))
    assert (outcome.result, outcome.error) == ("refused", "conflict")
    rig.run("alice", "scancel", pending)


async def _is(reader, ref: Ref, state: str) -> bool:  # type: ignore[no-untyped-def]
    target = (await reader.observe([ref]))[ref]
    return target is not None and target.state == state


async def test_suspend_and_resume(rig: Rig) -> None:
    reader, alice = open_as(rig, "alice")
    _, oper = open_as(rig, "oper")
    id = rig.submit("alice", "-w", "n04")
    rig.until_state(id, "RUNNING")
    for intent, state in ((SuspendJob, "suspended"), (ResumeJob, "running")):
        _, (outcome,) = await carry_out(oper, intent(cluster=CLUSTER, refs=(job(id),)))
        assert outcome.result == "accepted"
        await until_true(lambda state=state: _is(reader, job(id), state))  # type: ignore[misc]
    offered = await reader.capabilities()
    _, (outcome,) = await carry_out(alice, SuspendJob(cluster=CLUSTER, refs=(job(id),)))
    assert (outcome.result == "accepted") == ("suspend" in offered.supported), outcome
    rig.run("alice", "scancel", id)


async def test_modify_a_pending_job(rig: Rig) -> None:
    reader, writer = open_as(rig, "alice")
    id = rig.submit("alice", "--hold")
    intent = ModifyJob(cluster=CLUSTER, refs=(job(id),), name="new name", queue="debug", walltime_seconds=600, cores=2,
                       extensions={"qos": "long", "nice": 50, "comment": "a | b", "features": "skylake"})  # fmt: skip
    plan, (outcome,) = await carry_out(writer, intent)
    assert outcome.result == "accepted", outcome
    made = await reader.get_job(id)
    assert (made.name, made.queue, made.walltime_seconds, made.cores) == ("new name", "debug", 600, 2)
    assert {key: made.extensions[key] for key in ("qos", "comment", "features", "nice")} == {
        "qos": "long", "comment": "a | b", "features": "skylake", "nice": 50,
    }  # fmt: skip
    assert {change.field for change in plan.changes} >= {"name", "queue", "qos"}
    rig.run("alice", "scancel", id)


async def test_modify_is_refused_as_slurm_refuses(rig: Rig) -> None:
    _, writer = open_as(rig, "alice")
    running = rig.submit("alice", "-t", "60", "-w", "n03")
    rig.until_state(running, "RUNNING")
    plan, (outcome,) = await carry_out(writer, ModifyJob(cluster=CLUSTER, refs=(job(running),), walltime_seconds=7200))
    assert "only an operator may raise" in plan.warnings[0] and outcome.error == "forbidden"
    _, (outcome,) = await carry_out(writer, ModifyJob(cluster=CLUSTER, refs=(job(running),), walltime_seconds=1800))
    assert outcome.result == "accepted"
    _, (outcome,) = await carry_out(writer, ModifyJob(cluster=CLUSTER, refs=(job(running),), queue="debug"))
    assert outcome.error in ("conflict", "forbidden") and outcome.result == "refused"
    _, (outcome,) = await carry_out(writer, ModifyJob(cluster=CLUSTER, refs=(job(running),), priority=5))
    assert (outcome.result, outcome.error) == ("refused", "forbidden")
    with pytest.raises(Invalid, match="cannot change colour"):
        await writer.plan(ModifyJob(cluster=CLUSTER, refs=(job(running),), extensions={"colour": "red"}))
    rig.run("alice", "scancel", running)


async def test_top(rig: Rig) -> None:
    _, writer = open_as(rig, "alice")
    first, second = rig.submit("alice", "-N", "4", "--exclusive"), rig.submit("alice", "-N", "4", "--exclusive")
    _, (outcome,) = await carry_out(writer, ModifyJob(cluster=CLUSTER, refs=(job(second),), extensions={"top": True}))
    assert outcome.result == "accepted", outcome
    rig.run("alice", "scancel", first, second)


async def test_drain_and_undrain(rig: Rig) -> None:
    reader, root = open_as(rig, "root")
    reason = '[b]disk[/b] | "quoted" 日本'
    plan, (outcome,) = await carry_out(root, DrainNode(cluster=CLUSTER, refs=(node("n06"),), reason=reason))
    assert outcome.result == "accepted" and plan.steps[0].request == Command(
        ("scontrol", "update", "nodename=n06", "state=drain", f"reason={reason}")
    )
    row = next(each for each in await reader.list_nodes() if each.name == "n06")
    assert (row.status, row.reason, row.extensions["reason_by"]) == ("drain", reason, "root")
    for _ in range(2):
        _, (outcome,) = await carry_out(root, UndrainNode(cluster=CLUSTER, refs=(node("n06"),)))
        assert outcome.result == "accepted"
    assert next(each for each in await reader.list_nodes() if each.name == "n06").status != "drain"
    for user in ("alice", "oper"):
        _, writer = open_as(rig, user)
        _, (outcome,) = await carry_out(writer, DrainNode(cluster=CLUSTER, refs=(node("n06"),), reason="no"))
        assert (outcome.result, outcome.error) == ("refused", "forbidden")


async def test_partitions_open_and_close(rig: Rig) -> None:
    reader, root = open_as(rig, "root")
    ref = Ref(CLUSTER, "queue", "debug")
    for what, status in (("submissions", "draining"), ("starts", "inactive"), ("both", "inactive")):
        _, (outcome,) = await carry_out(root, CloseQueue(cluster=CLUSTER, refs=(ref,), what=what))  # type: ignore[arg-type]
        assert outcome.result == "accepted"
        assert next(q for q in await reader.list_queues() if q.name == "debug").status == status
    _, (outcome,) = await carry_out(root, OpenQueue(cluster=CLUSTER, refs=(ref,)))
    assert next(q for q in await reader.list_queues() if q.name == "debug").status == "active"
    _, writer = open_as(rig, "oper")
    _, (outcome,) = await carry_out(writer, CloseQueue(cluster=CLUSTER, refs=(ref,)))
    assert (outcome.result, outcome.error) == ("refused", "forbidden")


async def test_reservations(rig: Rig) -> None:
    reader, oper = open_as(rig, "oper")
    intent = CreateReservation(cluster=CLUSTER, name="course", nodes=("n03",), cores=2, users=("alice", "bob"),
                               duration_seconds=3600)  # fmt: skip
    _, (outcome,) = await carry_out(oper, intent)
    assert outcome.result == "accepted", outcome
    row = next(each for each in await reader.list_reservations() if each.name == "course")
    assert (row.node_names, row.cores, row.users, row.status) == (("n03",), 2, ("alice", "bob"), "active")
    _, (outcome,) = await carry_out(oper, DeleteReservation(cluster=CLUSTER, refs=(row.ref,)))
    assert outcome.result == "accepted"
    _, alice = open_as(rig, "alice")
    _, (outcome,) = await carry_out(alice, intent)
    assert (outcome.result, outcome.error) == ("refused", "forbidden")
