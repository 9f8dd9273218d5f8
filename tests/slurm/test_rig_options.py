"""Every option of a submission and every field of a modification, each by itself, against a real Slurm."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.intents import CancelJob, ModifyJob, SubmitJob
from adapters.model import JobSpec
from adapters.slurm.rights import PENDING_FIELDS
from adapters.slurm.submit import FLAGS, OPTIONS
from tests.rigs.slurm.rig import Rig
from tests.slurm.support import CLUSTER, carry_out, job, open_as

pytestmark = pytest.mark.rig
GPU = {"queue": "gpu", "gpus": 1}
SUBMISSIONS: dict[str, dict[str, Any]] = {
    "qos": {"qos": "long"}, "constraint": {"constraint": "skylake"}, "features": {"features": "skylake&ib"},
    "reservation": {"reservation": "options"}, "gres": {"gres": "gpu:a100:1", "queue": "gpu"},
    "licenses": {"licenses": "matlab:1"}, "nice": {"nice": 7}, "begin": {"begin": "now+5hours"},
    "deadline": {"deadline": "now+2days"}, "exclude": {"exclude": "n01"}, "nodelist": {"nodelist": "n02"},
    "ntasks": {"ntasks": 3}, "ntasks_per_node": {"ntasks_per_node": 2}, "cpus_per_task": {"cpus_per_task": 2},
    "mem_per_cpu": {"mem_per_cpu": 30}, "mem_per_gpu": {"mem_per_gpu": 30, **GPU}, "mail_type": {"mail_type": "END"},
    "mail_user": {"mail_user": "nobody@example.org"}, "signal": {"signal": "B:USR1@60"}, "wckey": {"wckey": "w"},
    "comment": {"comment": "a | b"}, "dependency": {"dependency": "singleton"},
    "gpus_per_node": {"gpus_per_node": "a100:1", "queue": "gpu"},
    "gpus_per_task": {"gpus_per_task": 1, "ntasks": 2, "queue": "gpu"}, "switches": {"switches": "1@10"},
    "exclusive": {"exclusive": True}, "requeue": {"requeue": True}, "no_requeue": {"no_requeue": True},
    "contiguous": {"contiguous": True}, "oversubscribe": {"oversubscribe": True},
}  # fmt: skip
FIELDS: dict[str, Any] = {
    "name": "other", "queue": "debug", "account": "small", "cores": 2, "nodes": 2, "memory_bytes": 50 * 2**20,
    "walltime_seconds": 600, "qos": "tiny", "nice": 50, "comment": "a | b", "dependency": "singleton",
    "features": "skylake", "gres": "gpu:1", "begin": "now+5hours", "deadline": "now+2days", "reservation": "options",
    "array_throttle": 3, "priority": 5,
}  # fmt: skip
REFUSED = {"priority": "forbidden", "deadline": "forbidden"}
"""What a user may not change, and the error."""


@pytest.fixture
def reservation(rig: Rig) -> Any:
    rig.run("root", "scontrol", "create", "reservation", "reservationname=options", "starttime=now+6hours",
            "duration=60", "nodes=n01", "users=alice", "flags=ignore_jobs,overlap")  # fmt: skip
    yield
    rig.run("root", "scancel", "--reservation=options", check=False)
    rig.run("root", "scontrol", "delete", "reservationname=options")


def spec(settings: dict[str, Any]) -> JobSpec:
    own = {"queue": None, "gpus": None}
    return JobSpec(
        command=("true",), output="/dev/null", hold=True, walltime_seconds=300, cwd="/tmp", name="option",
        extensions={key: value for key, value in settings.items() if key not in own},
        memory_bytes=None if {"mem_per_cpu", "mem_per_gpu"} & set(settings) else 20 * 2**20,
        **{key: value for key, value in settings.items() if key in own},
    )  # fmt: skip


async def test_every_option_of_a_submission_is_taken(rig: Rig, reservation: None) -> None:
    assert set(SUBMISSIONS) == {*OPTIONS, *FLAGS}
    _, writer = open_as(rig, "alice")
    made, wrong = [], {}
    for option, settings in SUBMISSIONS.items():
        _, (outcome,) = await carry_out(writer, SubmitJob(cluster=CLUSTER, spec=spec(settings)))
        if outcome.result != "accepted":
            wrong[option] = outcome.message
        if outcome.created is not None:
            made.append(outcome.created)
    await carry_out(writer, CancelJob(cluster=CLUSTER, refs=tuple(made)))
    assert not wrong


async def test_what_is_busy_now_is_taken_and_waits(rig: Rig) -> None:
    """The dry run calls licenses that are in use an error; the submission itself is accepted."""
    reader, writer = open_as(rig, "alice")
    holder = rig.submit("alice", "-L", "matlab:1")
    plan = await writer.plan(SubmitJob(cluster=CLUSTER, spec=spec({"licenses": "matlab:2"})))
    assert plan.warnings[0].startswith("Slurm cannot start this now: "), plan
    (outcome,) = await writer.send(plan.steps[0])
    assert outcome.result == "accepted" and outcome.created is not None
    assert (await reader.get_job(outcome.created.id)).status == "pending"
    rig.run("alice", "scancel", outcome.created.id, holder)


async def test_every_field_of_a_pending_job_can_be_changed(rig: Rig, reservation: None) -> None:
    assert set(FIELDS) == set(PENDING_FIELDS)
    reader, writer = open_as(rig, "alice")
    named = set(ModifyJob.model_fields)
    answers = {}
    for field, value in FIELDS.items():
        array = ("--array=0-9%2",) if field == "array_throttle" else ()
        gpu = ("-p", "gpu") if field == "gres" else ()
        id = (
            rig.submit("alice", "--hold", "-t", "5", *array, *gpu)
            if field != "priority"
            else rig.submit("alice", "--begin=now+5hours")
        )
        change = {field: value} if field in named else {"extensions": {field: value}}
        ref = (await reader.get_job(id)).ref if array else job(id)
        _, (outcome,) = await carry_out(writer, ModifyJob(cluster=CLUSTER, refs=(ref,), **change))
        answers[field] = (outcome.error, outcome.message if outcome.error else "")
        rig.run("alice", "scancel", id)
    assert {field: answer for field, answer in answers.items() if answer[0] != REFUSED.get(field)} == {}
