"""Policy and question: which rule refuses, in which order, and how much of an answer a plan needs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from adapters.base import Capabilities, Identity, Unsupported
from adapters.intents import (
    CancelJob,
    CreateKey,
    CreateReservation,
    DrainNode,
    Intent,
    ReissueNodeToken,
    RevokeKey,
    SetNodeQuota,
    SubmitJob,
)
from adapters.model import Job, JobSpec, Ref
from console.audit import AuditLog
from console.engine import Engine
from console.gate import Approval, Confirm, Refused, ruled_out
from tests.console.conftest import config
from tests.doubles.memory_backend import MemoryBackend


def cancel(*ids: str, **more: Any) -> CancelJob:
    return CancelJob(cluster="demo", refs=tuple(Ref("demo", "job", id) for id in ids), **more)


def quota(**more: Any) -> SetNodeQuota:
    return SetNodeQuota(cluster="demo", refs=(Ref("demo", "node", "n1"),), slots=2, **more)


def submit(queue: str | None = None) -> SubmitJob:
    return SubmitJob(cluster="demo", spec=JobSpec(command=("true",), queue=queue))


async def refusal(
    backend: MemoryBackend, audit: AuditLog, intent: Intent, settings: dict[str, Any] | None = None
) -> Refused:
    """The refusal; also that it is on record and that nothing was sent."""
    async with Engine(config(**(settings or {})), feeds=False, audit=audit, open_with=backend.open) as engine:
        with pytest.raises(Refused) as refused:
            await engine.gate.prepare(intent)
    (line,) = audit.records()
    assert line["kind"] == "refused" and line["rule"] == refused.value.rule
    assert line["decision"] == f"refused: {refused.value.rule}" and line["message"] == str(refused.value)
    assert backend.sent == []
    return refused.value


async def test_agents_may_not_do_what_is_for_persons(backend: MemoryBackend, audit: AuditLog) -> None:
    intent = CreateKey(cluster="demo", user="eve", role="cluster_admin", origin="mcp")
    assert (await refusal(backend, audit, intent)).rule == "hard_refusal"


async def test_agents_may_not_edit_live_configuration(backend: MemoryBackend, audit: AuditLog) -> None:
    """LSF's quota is one: `bconf` changes the configuration of the running scheduler."""
    backend.capabilities = replace(backend.capabilities, persons_only=frozenset({"set_node_quota"}))
    assert (await refusal(backend, audit, quota(origin="chat"))).rule == "hard_refusal"


async def test_too_many_targets(backend: MemoryBackend, audit: AuditLog) -> None:
    found = await refusal(backend, audit, cancel("1", "2", "3"), {"max_targets": 2})
    assert found.rule == "hard_refusal" and "3 targets at once are more than the 2" in found.message


async def test_what_the_backend_cannot_do(backend: MemoryBackend, audit: AuditLog) -> None:
    backend.capabilities = Capabilities("old 1", frozenset({"submit"}), {"cancel": "It never ends a job."})
    found = await refusal(backend, audit, cancel("1"))
    assert (found.rule, found.message) == ("capability", "It never ends a job.")


async def test_a_role_that_may_only_read(backend: MemoryBackend, audit: AuditLog) -> None:
    backend.identity = Identity("reader", "mcp_readonly", None)
    assert (await refusal(backend, audit, submit())).rule == "role"


async def test_an_operators_action_by_a_user(backend: MemoryBackend, audit: AuditLog) -> None:
    backend.identity = Identity("alice", "user", False)
    found = await refusal(backend, audit, quota())
    assert found.rule == "role" and "needs an operator's rights" in found.message


async def test_another_persons_job_by_a_user(backend: MemoryBackend, audit: AuditLog) -> None:
    backend.identity = Identity("alice", "user", False)
    found = await refusal(backend, audit, cancel("3"))
    assert found.rule == "role" and "job 3 belongs to bob" in found.message


async def test_another_persons_job_by_the_coordinator_of_its_account(backend: MemoryBackend, audit: AuditLog) -> None:
    """Slurm lets coordinators act on the jobs of their accounts' members; of no other account."""
    backend.identity = Identity("alice", "user", False, accounts=frozenset({"bio"}))
    backend.put(backend.job("3")._replace(extensions={"account": "bio"}))
    async with Engine(config(), feeds=False, audit=audit, open_with=backend.open) as engine:
        prepared = await engine.gate.prepare(cancel("3"))
        assert "belongs to bob" in prepared.confirm.why
        backend.put(backend.job("3")._replace(extensions={"account": "physics"}))
        with pytest.raises(Refused) as refused:
            await engine.gate.prepare(cancel("3"))
        assert refused.value.rule == "role"


@pytest.mark.parametrize(
    ("scope", "intent"),
    [
        ({"actions": ["hold"]}, cancel("1")),
        ({"owners": "mine"}, cancel("1", "3")),
        ({"queues": ["gpu"]}, submit("long")),
        ({"queues": ["gpu"]}, submit()),
    ],
)
async def test_what_is_out_of_scope(backend: MemoryBackend, audit: AuditLog, scope: Any, intent: Intent) -> None:
    assert (await refusal(backend, audit, intent, {"cluster": {"scope": scope}})).rule == "scope"


@pytest.mark.parametrize("settings", [{"read_only": True}, {"cluster": {"read_only": True}}])
async def test_read_only(backend: MemoryBackend, audit: AuditLog, settings: dict[str, Any]) -> None:
    found = await refusal(backend, audit, cancel("1"), settings)
    assert found.rule == "read_only" and "demo is read-only here" in found.message


async def test_the_rules_have_an_order(backend: MemoryBackend, audit: AuditLog) -> None:
    """Each intent breaks a rule and all that come after it."""
    strict = {"read_only": True, "max_targets": 1, "cluster": {"scope": {"actions": []}}}
    backend.identity = Identity("alice", "user", False)
    rules = []
    async with Engine(config(**strict), feeds=False, audit=audit, open_with=backend.open) as engine:
        for verbs, intent in (
            ((), cancel("1", "2")),
            ((), quota()),
            (("set_node_quota",), quota()),
            (("cancel",), cancel("1")),
        ):
            backend.capabilities = Capabilities("memory", frozenset(verbs))
            engine.cluster("demo").capabilities = None
            with pytest.raises(Refused) as refused:
                await engine.gate.prepare(intent)
            rules.append(refused.value.rule)
    assert rules == ["hard_refusal", "capability", "role", "scope"]


async def test_policy_runs_once_more_before_sending(engine: Engine, backend: MemoryBackend) -> None:
    prepared = await engine.gate.prepare(quota())
    engine.cluster("demo").identity = Identity("alice", "user", False)
    with pytest.raises(Refused) as refused:
        await engine.gate.execute(prepared, Approval("dialog"))
    assert refused.value.rule == "role" and backend.sent == []


async def test_what_planning_meets_is_on_record(backend: MemoryBackend, audit: AuditLog) -> None:
    async with Engine(config(), feeds=False, audit=audit, open_with=backend.open) as engine:
        backend.error = Unsupported("too old")
        engine.cluster("demo").capabilities = backend.capabilities
        engine.cluster("demo").identity = backend.identity
        with pytest.raises(Unsupported):
            await engine.gate.prepare(cancel("1"))
    assert [record["rule"] for record in audit.records()] == ["plan: unsupported"]


async def test_mine_is_the_person_the_profile_names(backend: MemoryBackend, audit: AuditLog) -> None:
    """A service account acts for somebody: that person's jobs are the own ones."""
    backend.identity = Identity("svc-console", "mcp_operator", None)
    settings = config(cluster={"owner": "alice", "scope": {"owners": "mine"}})
    async with Engine(settings, feeds=False, audit=audit, open_with=backend.open) as engine:
        assert (await engine.gate.prepare(cancel("1"))).confirm.how == "key"
        with pytest.raises(Refused):
            await engine.gate.prepare(cancel("3"))


@pytest.mark.parametrize(
    ("intent", "expected"),
    [
        (cancel("1"), Confirm("key")),
        (cancel("1", "2"), Confirm("type", "2", "2 targets", "the number of targets")),
        (cancel("3"), Confirm("type", "3", "this job belongs to bob", "the id")),
        (quota(), Confirm("key")),
        (quota(origin="chat"), Confirm("type", "n1", "an agent proposed it", "the name")),
        (submit(), Confirm("key")),
        (
            ReissueNodeToken(cluster="demo", refs=(Ref("demo", "node", "n1"),)),
            Confirm("type", "n1", "this cannot be undone", "the name"),
        ),
        (DrainNode(cluster="demo", refs=(Ref("demo", "node", "n1"),), reason="x"), Confirm("key")),
        (RevokeKey(cluster="demo", key_id="k7"), Confirm("type", "k7", "this cannot be undone", "the id")),
        (CreateReservation(cluster="demo", name="maint"), Confirm("key")),
        (
            CreateReservation(cluster="demo", name="maint", origin="mcp"),
            Confirm("type", "maint", "an agent proposed it", "the name"),
        ),
    ],
)
async def test_how_much_of_an_answer(engine: Engine, intent: Intent, expected: Confirm) -> None:
    assert (await engine.gate.prepare(intent)).confirm == expected


async def test_a_backend_without_owners_has_no_other_people(engine: Engine, backend: MemoryBackend) -> None:
    backend.put(Job("9", status="running"))
    assert (await engine.gate.prepare(cancel("9"))).confirm.why == "this job may be another person's"
    backend.capabilities = Capabilities("k", backend.capabilities.supported, absent={"job": frozenset({"owner"})})
    engine.cluster("demo").capabilities = None
    assert (await engine.gate.prepare(cancel("9"))).confirm == Confirm("key")


async def test_a_hostile_id_is_typed_as_it_is_shown(engine: Engine, backend: MemoryBackend) -> None:
    backend.put(Job("7\u202e8", status="running", owner="bob"))
    prepared = await engine.gate.prepare(cancel("7\u202e8"))
    assert prepared.confirm.expected == "7<U+202E>8"
    assert prepared.confirm.accepts(" 7<U+202E>8 ") and not prepared.confirm.accepts("78")


@pytest.mark.parametrize("typed", [None, "", "y", "3", "22"])
async def test_a_wrong_answer_sends_nothing(engine: Engine, backend: MemoryBackend, typed: str | None) -> None:
    prepared = await engine.gate.prepare(cancel("1", "2"))
    with pytest.raises(Refused) as refused:
        await engine.gate.execute(prepared, Approval("dialog", typed))
    assert refused.value.rule == "confirm" and backend.sent == []


async def test_unattended_is_recorded_as_such(engine: Engine, audit: AuditLog) -> None:
    prepared = await engine.gate.prepare(cancel("1", "2", origin="command_line"))
    operation = await engine.gate.execute(prepared, Approval("unattended"))
    await operation.wait()
    assert {record["decision"] for record in audit.records() if record["kind"] == "intent"} == {"unattended"}


async def test_a_site_may_forbid_unattended(backend: MemoryBackend, audit: AuditLog) -> None:
    async with Engine(config(forbid_unattended=True), feeds=False, audit=audit, open_with=backend.open) as engine:
        prepared = await engine.gate.prepare(cancel("1"))
        with pytest.raises(Refused) as refused:
            await engine.gate.execute(prepared, Approval("unattended"))
    assert refused.value.rule == "unattended" and backend.sent == []


@pytest.mark.parametrize("how", ["unattended", "autopilot"])
async def test_an_agent_needs_a_person(engine: Engine, backend: MemoryBackend, how: Any) -> None:
    prepared = await engine.gate.prepare(cancel("1", origin="mcp"))
    with pytest.raises(Refused) as refused:
        await engine.gate.execute(prepared, Approval(how))
    assert refused.value.rule == how and backend.sent == []


async def test_what_is_switched_off(backend: MemoryBackend, audit: AuditLog) -> None:
    """By the site, say: neither a person nor an agent gets it through."""
    for intent in (cancel("1"), cancel("1", origin="chat")):
        found = await refusal(
            backend, AuditLog(audit.paths.folder / intent.origin), intent, {"hidden_actions": ["cancel"]}
        )
        assert (found.rule, found.hint) == ("scope", "hidden_actions of the configuration names it.")


@pytest.mark.parametrize(
    ("settings", "identity", "why"),
    [
        ({}, Identity("alice", "user", False), "It needs an operator's rights."),
        ({}, Identity("alice", "mcp_readonly", None), "This key may only read."),
        ({"hidden_actions": ["drain"]}, Identity("alice", "admin", True), "It is switched off here."),
        ({"read_only": True}, Identity("alice", "admin", True), "Read-only: nothing is changed."),
        ({}, Identity("alice", "admin", True), None),
        ({}, None, None),
    ],
)
def test_what_settings_and_role_rule_out(settings: dict[str, Any], identity: Identity | None, why: str | None) -> None:
    made = config(**settings)
    assert ruled_out(made, made.clusters["demo"], identity, "drain") == why
