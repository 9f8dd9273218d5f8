"""The table of writes: what can be said, and what cannot."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from adapters.intents import (
    INTENTS,
    CancelJob,
    DrainNode,
    Intent,
    ModifyJob,
    RevokeKey,
    SetNodeQuota,
    SubmitJob,
    TargetedIntent,
)
from adapters.model import JobSpec, Ref

JOB = Ref("demo", "job", "17", "2026-05-01T12:00:00+00:00")
NODE = Ref("demo", "node", "node-1")


def test_every_write_is_described_once() -> None:
    for verb, intent in INTENTS.items():
        assert intent.verb == verb
        assert intent.__doc__, verb
        assert intent.title, verb


def test_no_intent_reaches_the_schedulers_configuration() -> None:
    said = " ".join(INTENTS).lower()
    assert not any(word in said for word in ("config", "reconfigure", "account", "role", "shutdown"))


def test_operator_intents_are_the_ones_on_nodes_queues_reservations_and_keys() -> None:
    operator = {verb for verb, intent in INTENTS.items() if intent.operator}
    assert operator == {
        "set_node_quota", "drain", "undrain", "reissue_token", "open_queue", "close_queue", "set_queue_quota",
        "create_reservation", "delete_reservation", "create_key", "revoke_key",
    }  # fmt: skip


@pytest.mark.parametrize("slots", [-1, 1.5, "2x", 10**9, True])
def test_a_quota_is_a_whole_number_or_none(slots: object) -> None:
    with pytest.raises(ValidationError):
        SetNodeQuota(cluster="demo", refs=(NODE,), slots=slots)  # type: ignore[arg-type]


def test_a_quota_left_out_is_not_a_quota_lifted() -> None:
    with pytest.raises(ValidationError, match="slots"):
        SetNodeQuota(cluster="demo", refs=(NODE,))  # type: ignore[call-arg]
    assert SetNodeQuota(cluster="demo", refs=(NODE,), slots=None).parameters()["slots"] is None


@pytest.mark.parametrize("id", ["", "-u", "--help", "1\n2", "a\x00"])
def test_an_id_that_could_be_an_option_or_hold_a_control_character_is_refused(id: str) -> None:
    with pytest.raises(ValidationError):
        CancelJob(cluster="demo", refs=(Ref("demo", "job", id),))


def test_targets_are_of_one_cluster_and_of_the_right_kind() -> None:
    with pytest.raises(ValidationError, match="not a job of cluster other"):
        CancelJob(cluster="other", refs=(JOB,))
    with pytest.raises(ValidationError, match="not a job"):
        CancelJob(cluster="demo", refs=(NODE,))
    with pytest.raises(ValidationError, match="twice"):
        CancelJob(cluster="demo", refs=(JOB, JOB))
    with pytest.raises(ValidationError):
        CancelJob(cluster="demo", refs=())


def test_a_drain_needs_a_reason_on_one_line() -> None:
    with pytest.raises(ValidationError):
        DrainNode(cluster="demo", refs=(NODE,), reason="")
    with pytest.raises(ValidationError):
        DrainNode(cluster="demo", refs=(NODE,), reason="a\x1b[2J")


@pytest.mark.parametrize(
    "spec",
    [
        JobSpec(),
        JobSpec(command=("a",), script="#!/bin/sh"),
        JobSpec(command=("a",), cores=0),
        JobSpec(command=("a",), walltime_seconds=-1),
        JobSpec(command=("a",), name="two\nlines"),
        JobSpec(command=("a\0b",)),
    ],
)
def test_a_submission_that_makes_no_sense_is_refused(spec: JobSpec) -> None:
    with pytest.raises(ValidationError):
        SubmitJob(cluster="demo", spec=spec)


def test_modify_changes_only_what_is_set() -> None:
    intent = ModifyJob(cluster="demo", refs=(JOB,), cores=4, extensions={"qos": "high"})
    assert intent.changes() == {"cores": 4, "qos": "high"}
    with pytest.raises(ValidationError, match="nothing to change"):
        ModifyJob(cluster="demo", refs=(JOB,))


def test_intents_survive_json() -> None:
    intent = SubmitJob(cluster="demo", spec=JobSpec(command=("sleep", "1"), env={"A": "b"}), origin="mcp")
    again = SubmitJob.model_validate_json(intent.model_dump_json())
    assert again == intent
    assert again.by_agent


def test_two_intents_never_share_an_id_and_are_frozen() -> None:
    first, second = (CancelJob(cluster="demo", refs=(JOB,)) for _ in range(2))
    assert first.intent_id != second.intent_id
    assert first.parameters() == second.parameters()
    with pytest.raises(ValidationError):
        first.signal = "KILL"


def test_unknown_arguments_are_refused_not_dropped() -> None:
    with pytest.raises(ValidationError):
        CancelJob.model_validate({"cluster": "demo", "refs": [JOB], "force": True})


def test_a_key_id_cannot_smuggle_a_path() -> None:
    with pytest.raises(ValidationError):
        RevokeKey(cluster="demo", key_id="../nodes/1")


def test_what_targets_nothing_says_so() -> None:
    assert SubmitJob(cluster="demo", spec=JobSpec(command=("a",))).targets_named == ()
    assert issubclass(CancelJob, TargetedIntent)
    assert issubclass(CancelJob, Intent)
