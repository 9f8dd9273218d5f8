"""The writing half of the contract, over every adapter that writes."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from adapters.base import AdapterError, NotFound, Unsupported
from adapters.intents import INTENTS, CancelJob, Intent, SubmitJob, TargetedIntent
from adapters.model import JobSpec, Ref
from adapters.plan import Command, HttpRequest, Request
from tests.contract.harness import Harness

TRANSPORT_HEADERS = {
    "host", "accept", "accept-encoding", "connection", "user-agent", "authorization", "content-length",
    "x-slurm-user-token", "x-slurm-user-name", "impersonate-user", "impersonate-group",
}  # fmt: skip
"""Headers that a transport adds to every request; all others must have been in the plan."""


def same_bytes(planned: Request, received: Request) -> None:
    """What arrived is what the plan showed, but for the credential and what HTTP itself needs."""
    if isinstance(planned, Command):
        assert isinstance(received, Command)
        assert received.argv[1:] == planned.argv[1:]
        assert PurePath(received.argv[0]).name == PurePath(planned.argv[0]).name
        assert (received.stdin or None) == (planned.stdin or None)
        return
    assert isinstance(received, HttpRequest)
    assert (received.method, received.path, received.body or b"") == (planned.method, planned.path, planned.body or b"")
    shown = {(name.lower(), value) for name, value in planned.headers}
    got = {(name.lower(), value) for name, value in received.headers}
    assert shown <= got
    assert {name for name, _ in got - shown} <= TRANSPORT_HEADERS


def no_credential(intent: Intent, request: Request) -> None:
    if isinstance(request, HttpRequest):
        assert "authorization" not in {name.lower() for name, _ in request.headers}, intent.verb


async def test_every_supported_intent_is_planned_sent_and_received_byte_for_byte(writing: Harness) -> None:
    await writing.populate()
    supported = (await writing.reader.capabilities()).supported
    assert supported
    for verb in sorted(supported):
        intent = await writing.intent(verb)
        assert intent.verb == verb
        before = len(writing.received())
        plan = await writing.writer.plan(intent)
        assert len(writing.received()) == before, f"planning {verb} changed something"
        assert plan.intent == intent and plan.steps
        for step in plan.steps:
            no_credential(intent, step.request)
            if verb not in writing.allowed.many_targets:
                assert len(step.targets) <= 1
            outcomes = await writing.writer.send(step)
            assert [o.result for o in outcomes] == ["accepted"] * max(1, len(step.targets)), (verb, outcomes)
        arrived = writing.received()[before:]
        assert len(arrived) == len(plan.steps), verb
        for step, got in zip(plan.steps, arrived, strict=True):
            same_bytes(step.request, got)


async def test_targets_are_frozen_with_owner_and_state(writing: Harness) -> None:
    await writing.populate()
    intent = await writing.intent("cancel")
    assert isinstance(intent, TargetedIntent)
    plan = await writing.writer.plan(intent)
    assert {target.ref.id for target in plan.targets} == {ref.id for ref in intent.refs}
    rows = {job.id: job for job in await writing.reader.list_jobs()}
    for target in plan.targets:
        row = rows[target.ref.id]
        assert (target.owner, target.ref.born) == (row.owner, row.born)
        assert target.state and plan.changes


async def test_a_plan_for_nothing_is_refused(writing: Harness) -> None:
    await writing.populate()
    ref = Ref(writing.writer.cluster, "job", "999999999")
    with pytest.raises(NotFound):
        await writing.writer.plan(CancelJob(cluster=writing.writer.cluster, refs=(ref,)))


async def test_unsupported_intents_cannot_be_planned(writing: Harness) -> None:
    await writing.populate()
    capabilities = await writing.reader.capabilities()
    node = (await writing.reader.list_nodes())[0]
    queue = (await writing.reader.list_queues())[0]
    job = (await writing.reader.list_jobs())[0]
    for verb in set(INTENTS) - capabilities.supported:
        with pytest.raises(Unsupported) as caught:
            await writing.writer.plan(sample_intent(verb, writing.writer.cluster, job.ref, queue.ref, node.ref))
        assert caught.value.message


async def test_an_answer_that_does_not_come_is_unknown_and_is_not_repeated(writing: Harness) -> None:
    await writing.populate()
    for verb in ("submit", "cancel"):
        plan = await writing.writer.plan(await writing.intent(verb))
        before = len(writing.received())
        async with writing.mute():
            outcomes = await writing.writer.send(plan.steps[0])
        assert {outcome.result for outcome in outcomes} == {"unknown"} and outcomes[0].message
        assert len(writing.received()) == before + 1


async def test_an_answer_that_says_nothing_is_unknown(writing: Harness) -> None:
    await writing.populate()
    plan = await writing.writer.plan(await writing.intent("cancel"))
    before = len(writing.received())
    async with writing.garble():
        outcomes = await writing.writer.send(plan.steps[0])
    assert {outcome.result for outcome in outcomes} == {"unknown"}
    assert len(writing.received()) == before + 1


async def test_a_refusal_is_in_the_backends_words(writing: Harness) -> None:
    await writing.populate()
    plan = await writing.writer.plan(await writing.intent("cancel"))
    async with writing.refuse() as words:
        outcomes = await writing.writer.send(plan.steps[0])
    assert {outcome.result for outcome in outcomes} == {"refused"}
    assert words in outcomes[0].message


async def test_a_submit_without_an_answer_can_be_looked_up(writing: Harness) -> None:
    await writing.populate()
    intent = await writing.intent("submit")
    plan = await writing.writer.plan(intent)
    async with writing.mute():
        await writing.writer.send(plan.steps[0])
    found = await writing.reader.find_intent(str(intent.intent_id))
    assert len(found) == 1 and found[0].kind == "job"
    assert await writing.reader.find_intent("00000000-0000-4000-8000-000000000000") == []


async def test_only_a_read_only_adapter_plans_nothing(harness: Harness, read_only: bool) -> None:
    await harness.populate()
    supported = (await harness.reader.capabilities()).supported
    assert read_only == (supported == frozenset())
    if not read_only:
        return
    with pytest.raises(Unsupported) as caught:
        await harness.writer.plan(SubmitJob(cluster=harness.writer.cluster, spec=JobSpec(command=("true",))))
    assert caught.value.message and isinstance(caught.value, AdapterError)


def sample_intent(verb: str, cluster: str, job: Ref, queue: Ref, node: Ref) -> Intent:
    """Any valid intent of this verb."""
    kind = INTENTS[verb]
    ref = {"job": job, "queue": queue, "node": node}.get(kind.kind, Ref(cluster, kind.kind, "one"))
    more: dict[str, dict[str, object]] = {
        "submit": {"spec": JobSpec(command=("true",))},
        "modify": {"name": "other"},
        "set_node_quota": {"slots": 1},
        "drain": {"reason": "test"},
        "set_queue_quota": {"limits": {"cores": 1}},
        "create_reservation": {"name": "one", "nodes": (node.id,), "duration_seconds": 3600},
        "create_key": {"user": "ann", "role": "user"},
        "revoke_key": {"key_id": "abc"},
    }
    values: dict[str, object] = {"cluster": cluster, **more.get(verb, {})}
    if issubclass(kind, TargetedIntent):
        values["refs"] = (ref,)
    return kind.model_validate(values)
