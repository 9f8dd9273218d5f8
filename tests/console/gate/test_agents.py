"""What the gate holds agents to: scope, secrets, autopilot, the inbox."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from adapters.intents import CancelJob, HoldJob, Intent, SetNodeQuota, SubmitJob
from adapters.model import Job, JobSpec, Ref
from console.audit import AuditError, AuditLog
from console.engine import Engine
from console.gate import AgentScope, Approval, Grant, PlanChanged, Refused
from tests.console.conftest import config
from tests.doubles.memory_backend import MemoryBackend

FAR = datetime(2100, 1, 1, tzinfo=UTC)
SUBMIT = JobSpec(command=("true",), queue="gpu", cores=2, walltime_seconds=3600)


def hold(*ids: str, **more: Any) -> HoldJob:
    return HoldJob(cluster="demo", refs=tuple(Ref("demo", "job", i) for i in ids), **{"origin": "chat", **more})


def cancel(id: str, **more: Any) -> CancelJob:
    return CancelJob(cluster="demo", refs=(Ref("demo", "job", id),), **{"origin": "chat", **more})


def submit(spec: JobSpec = SUBMIT, **more: Any) -> SubmitJob:
    return SubmitJob(cluster="demo", spec=spec, **{"origin": "chat", **more})


def quota(**more: Any) -> SetNodeQuota:
    return SetNodeQuota(cluster="demo", refs=(Ref("demo", "node", "n1"),), slots=2, **{"origin": "chat", **more})


def grant(*verbs: str, actions: int = 10, core_hours: float = 100, expires: datetime = FAR, **more: Any) -> Grant:
    return Grant(frozenset(verbs), actions, core_hours, expires, **more)


async def refused(engine: Engine, intent: Intent) -> Refused:
    with pytest.raises(Refused) as refusal:
        await engine.gate.prepare(intent)
    return refusal.value


async def by_autopilot(engine: Engine, intent: Intent) -> str:
    """`sent`, or the reason why a person must answer."""
    prepared = await engine.gate.prepare(intent)
    covered = await engine.gate.autopilot_covers(prepared)
    try:
        operation = await engine.gate.execute(prepared, Approval("autopilot"))
    except Refused as refusal:
        assert refusal.rule == "autopilot"
        assert not covered
        return refusal.message
    assert covered
    await operation.wait()
    return "sent"


# -- scope


async def test_agents_begin_with_the_persons_own_jobs(engine: Engine) -> None:
    assert engine.gate.agents.scope.words() == "only my jobs, any queue, any cluster"
    found = await refused(engine, cancel("3"))
    assert found.rule == "scope" and "job 3 belongs to bob" in found.message
    assert "key" in found.hint
    assert (await engine.gate.prepare(cancel("3", origin="key"))).confirm.how == "type"


async def test_a_person_sets_the_first_scope_in_the_configuration(backend: MemoryBackend, audit: AuditLog) -> None:
    settings = config(agents={"owners": "all", "queues": ["short"]})
    async with Engine(settings, feeds=False, audit=audit, open_with=backend.open) as engine:
        assert engine.gate.agents.scope == AgentScope("all", frozenset({"short"}))


async def test_a_job_without_a_known_owner_is_not_mine(engine: Engine, backend: MemoryBackend) -> None:
    backend.put(Job("9", "x", "pending", owner=None))
    assert "no owner that is known" in (await refused(engine, cancel("9"))).message


@pytest.mark.parametrize(
    ("scope", "intent", "within"),
    [
        (AgentScope(queues=frozenset({"gpu"})), submit(), True),
        (AgentScope(queues=frozenset({"short"})), submit(), False),
        (AgentScope(queues=frozenset({"short"})), submit(JobSpec(command=("true",))), False),
        (AgentScope(queues=frozenset({"gpu"})), cancel("1"), True),
        (AgentScope(queues=frozenset({"short"})), cancel("1"), False),
        (AgentScope(queues=frozenset({"gpu"})), quota(), False),
        (AgentScope(clusters=frozenset({"other"})), submit(), False),
        (AgentScope(clusters=frozenset({"demo"})), submit(), True),
        (AgentScope(queues=frozenset()), cancel("1"), False),
    ],
)
async def test_the_scope_is_enforced_by_the_gate(
    engine: Engine, scope: AgentScope, intent: Intent, within: bool
) -> None:
    await engine.gate.agents.narrow(scope)
    if within:
        assert await engine.gate.prepare(intent)
    else:
        assert (await refused(engine, intent)).rule == "scope"


async def test_a_sentence_narrows_and_never_widens(engine: Engine, audit: AuditLog) -> None:
    agents = engine.gate.agents
    await agents.narrow(AgentScope("all", frozenset({"gpu", "short"})))
    assert agents.scope == AgentScope("mine", frozenset({"gpu", "short"}))
    await agents.narrow(AgentScope("all", frozenset({"short", "long"})))
    assert agents.scope.queues == frozenset({"short"})
    await agents.widen(AgentScope("all"))
    assert agents.scope == AgentScope("all")
    decisions = [(line["kind"], line["decision"], line["origin"]) for line in audit.records()]
    assert decisions == [("scope", "narrowed", "chat")] * 2 + [("scope", "set by key", "key")]


async def test_a_scope_that_cannot_be_put_on_record_is_not_widened(
    engine: Engine, audit: AuditLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise AuditError("disk full")

    monkeypatch.setattr(audit, "append", full)
    with pytest.raises(AuditError):
        await engine.gate.agents.widen(AgentScope("all"))
    assert engine.gate.agents.scope.owners == "mine"
    with pytest.raises(AuditError):
        await engine.gate.agents.engage(grant("submit"))
    assert engine.gate.agents.autopilot is None


async def test_what_was_proposed_is_judged_by_the_scope_of_the_answer(engine: Engine, backend: MemoryBackend) -> None:
    prepared = await engine.gate.prepare(cancel("1"))
    await engine.gate.agents.narrow(AgentScope(queues=frozenset({"short"})))
    with pytest.raises(Refused) as refusal:
        await engine.gate.execute(prepared, Approval("dialog"))
    assert refusal.value.rule == "scope"
    assert backend.sent == []


# -- secrets


@pytest.mark.parametrize(
    "spec",
    [
        JobSpec(command=("curl", "-H", "Authorization: Bearer abcdef123456")),
        JobSpec(command=("upload", "--password", "hunter2")),
        JobSpec(script="#!/bin/sh\nexport AWS_SECRET_ACCESS_KEY=abcd1234efgh5678\n"),
        JobSpec(command=("git", "clone", "https://me:hunter2@example.org/x.git")),
        JobSpec(command=("x",), name="ghp_0123456789abcdefghij0123"),
    ],
)
async def test_an_agent_cannot_send_a_secret_away(engine: Engine, spec: JobSpec) -> None:
    assert (await refused(engine, submit(spec))).rule == "hard_refusal"
    assert await engine.gate.prepare(submit(spec, origin="key"))


async def test_a_refused_secret_is_not_in_the_record(engine: Engine, audit: AuditLog) -> None:
    await refused(engine, submit(JobSpec(command=("x", "--password", "hunter2"))))
    assert "hunter2" not in audit.paths.log.read_text()


# -- autopilot


async def test_without_autopilot_a_person_answers(engine: Engine, backend: MemoryBackend) -> None:
    assert await by_autopilot(engine, submit()) == "No autopilot is on."
    assert backend.sent == []


async def test_autopilot_answers_within_its_grant_and_is_on_record(
    engine: Engine, backend: MemoryBackend, audit: AuditLog
) -> None:
    await engine.gate.agents.engage(grant("submit"))
    assert await by_autopilot(engine, submit()) == "sent"
    lines = list(audit.records())
    assert [line["kind"] for line in lines] == ["autopilot", "intent", "result"]
    assert lines[0]["parameters"]["verbs"] == ["submit"] and lines[1]["decision"] == "autopilot"
    pilot = engine.gate.agents.autopilot
    assert pilot is not None and (pilot.actions, pilot.core_hours) == (1, 2.0)
    assert "9 actions, 98.0 core-hours" in engine.gate.agents.banner()


@pytest.mark.parametrize(
    ("given", "intent", "why"),
    [
        (grant("hold"), submit(), "does not cover submit"),
        (grant("submit", expires=datetime(2000, 1, 1, tzinfo=UTC)), submit(), "expired"),
        (grant("submit", core_hours=1.9), submit(), "core-hours"),
        (grant("submit", actions=0), submit(), "actions"),
        (grant("submit"), submit(JobSpec(command=("x",), cores=1)), "no bound"),
        (grant("submit"), submit(JobSpec(script="#!/bin/sh\n")), "no bound"),
        (
            grant("submit", actions=50),
            submit(JobSpec(command=("x",), cores=1, walltime_seconds=60, array="0-99")),
            "actions",
        ),
        (
            grant("submit", actions=1000, core_hours=10),
            submit(JobSpec(command=("x",), cores=1, walltime_seconds=3600, array="1-11")),
            "core-hours",
        ),
        (grant("submit"), submit(origin="mcp"), "chat alone"),
        (grant("set_node_quota"), quota(), "operator"),
        (grant("cancel"), cancel("1"), "what has started"),
        (grant("submit", scope=AgentScope(queues=frozenset({"short"}))), submit(), "scope"),
    ],
)
async def test_what_autopilot_does_not_cover(
    engine: Engine, backend: MemoryBackend, given: Grant, intent: Intent, why: str
) -> None:
    await engine.gate.agents.engage(given)
    assert why in await by_autopilot(engine, intent)
    assert backend.sent == []


async def test_autopilot_never_covers_other_peoples_jobs(engine: Engine, backend: MemoryBackend) -> None:
    backend.put(backend.job("3")._replace(status="pending"))
    await engine.gate.agents.widen(AgentScope("all"))
    await engine.gate.agents.engage(grant("hold", "cancel", scope=AgentScope("all")))
    assert "other people's" in await by_autopilot(engine, hold("3"))
    assert await by_autopilot(engine, hold("2")) == "sent"
    assert await by_autopilot(engine, cancel("2")) == "sent"


async def test_what_is_left_shrinks_to_nothing(engine: Engine, backend: MemoryBackend) -> None:
    await engine.gate.agents.engage(grant("submit", actions=2))
    assert [await by_autopilot(engine, submit()) for _ in range(2)] == ["sent", "sent"]
    assert "beyond the 2" in await by_autopilot(engine, submit())
    assert len(backend.sent) == 2


async def test_text_from_outside_suspends_it_until_the_person_speaks(engine: Engine, backend: MemoryBackend) -> None:
    agents = engine.gate.agents
    await agents.engage(grant("submit"))
    agents.read_untrusted("log of job 12")
    assert "log of job 12 was read" in await by_autopilot(engine, submit())
    assert "suspended" in agents.banner()
    agents.person_spoke()
    assert await by_autopilot(engine, submit()) == "sent"
    await agents.disengage()
    assert agents.banner() == ""
    assert await by_autopilot(engine, submit()) == "No autopilot is on."


async def test_a_new_process_has_no_autopilot(engine: Engine, backend: MemoryBackend, audit: AuditLog) -> None:
    await engine.gate.agents.engage(grant("submit"))
    async with Engine(config(), feeds=False, audit=audit, open_with=backend.open) as again:
        assert again.gate.agents.autopilot is None


async def test_a_cost_needs_the_jobs_own_figures(engine: Engine, backend: MemoryBackend) -> None:
    await engine.gate.agents.engage(grant("release"))
    release = hold("2").model_copy()
    from adapters.intents import ReleaseJob

    intent = ReleaseJob(cluster="demo", refs=release.refs, origin="chat")
    assert "no bound" in await by_autopilot(engine, intent)
    backend.put(backend.job("2")._replace(cores=4, walltime_seconds=900))
    assert await by_autopilot(engine, intent.model_copy()) == "sent"
    pilot = engine.gate.agents.autopilot
    assert pilot is not None and pilot.core_hours == 1.0


# -- the client's answer


@pytest.mark.parametrize("trusted", [False, True])
async def test_a_clients_answer_counts_only_where_the_profile_says_so(
    backend: MemoryBackend, audit: AuditLog, trusted: bool
) -> None:
    settings = config(cluster={"trust_elicitation": trusted})
    async with Engine(settings, feeds=False, audit=audit, open_with=backend.open) as engine:
        prepared = await engine.gate.prepare(hold("2", origin="mcp"))
        if trusted:
            operation = await engine.gate.execute(prepared, Approval("elicitation"))
            await operation.wait()
        else:
            with pytest.raises(Refused) as refusal:
                await engine.gate.execute(prepared, Approval("elicitation"))
            assert refusal.value.rule == "elicitation"
    decisions = [line["decision"] for line in audit.records() if "decision" in line]
    assert decisions[0] == ("confirmed by elicitation" if trusted else "refused: elicitation")
    assert len(backend.sent) == trusted


# -- the inbox


async def test_each_write_of_a_turn_is_answered_by_itself(
    engine: Engine, backend: MemoryBackend, audit: AuditLog
) -> None:
    gate = engine.gate
    first = gate.agents.inbox.add(await gate.prepare(hold("2")), "turn")
    second = gate.agents.inbox.add(await gate.prepare(cancel("1")), "turn")
    gate.agents.inbox.add(await gate.prepare(submit()), "another")
    assert [len(turn) for turn in gate.agents.inbox.turns()] == [2, 1]
    operation = await gate.approve(first, Approval("dialog"))
    await operation.wait()
    await gate.deny(second, "not that one")
    await gate.withdraw("another")
    assert (first.answer, second.answer, second.note) == ("approved", "declined", "not that one")
    assert len(gate.agents.inbox) == 0
    assert len(backend.sent) == 1
    declined = [line["message"] for line in audit.records() if line["kind"] == "declined"]
    assert declined == ["not that one", "withdrawn"]


async def test_a_changed_plan_stays_in_the_inbox_to_be_seen_again(engine: Engine, backend: MemoryBackend) -> None:
    gate = engine.gate
    proposal = gate.agents.inbox.add(await gate.prepare(cancel("2")), "turn")
    backend.put(backend.job("2")._replace(status="running"))
    with pytest.raises(PlanChanged):
        await gate.approve(proposal, Approval("dialog"))
    assert proposal.answer is None and proposal.prepared.notes == ("job 2 was pending and is running now.",)
    operation = await gate.approve(proposal, Approval("dialog"))
    await operation.wait()
    assert backend.job("2").status == "cancelled"


async def test_a_wrong_answer_leaves_the_proposal_to_be_answered_again(engine: Engine, backend: MemoryBackend) -> None:
    gate = engine.gate
    proposal = gate.agents.inbox.add(await gate.prepare(quota()), "turn")
    for wrong in (None, "y", "n2"):
        with pytest.raises(Refused) as refusal:
            await gate.approve(proposal, Approval("dialog", wrong))
        assert refusal.value.rule == "confirm" and proposal.answer is None
    assert backend.sent == []
    operation = await gate.approve(proposal, Approval("dialog", "n1"))
    await operation.wait()
    assert len(backend.sent) == 1 and proposal.answer == "approved"


async def test_a_proposal_outside_the_scope_by_now_leaves_the_inbox(engine: Engine, backend: MemoryBackend) -> None:
    gate = engine.gate
    proposal = gate.agents.inbox.add(await gate.prepare(submit()), "turn")
    await gate.agents.narrow(AgentScope(queues=frozenset({"short"})))
    with pytest.raises(Refused):
        await gate.approve(proposal, Approval("dialog"))
    assert proposal.answer == "refused" and "outside" in proposal.note
    assert len(gate.agents.inbox) == 0


async def test_expiry_follows_the_engines_clock(backend: MemoryBackend, audit: AuditLog) -> None:
    now = datetime(2026, 5, 1, tzinfo=UTC)
    clock: Callable[[], datetime] = lambda: now  # noqa: E731
    async with Engine(config(), feeds=False, audit=audit, open_with=backend.open, clock=lambda: clock()) as engine:
        await engine.gate.agents.engage(grant("submit", expires=now + timedelta(minutes=5)))
        assert await by_autopilot(engine, submit()) == "sent"
        now += timedelta(minutes=5)
        assert "expired" in await by_autopilot(engine, submit())
