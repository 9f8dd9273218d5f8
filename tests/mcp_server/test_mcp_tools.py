"""The MCP server in the same process: what it offers, what it answers, and that a write never sends itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adapters.base import Identity, Unavailable
from adapters.model import Job, Node
from console.audit import AuditLog
from console.engine import Engine
from console.gate import Approval, PlanFiles
from console.mcp_server.server import build
from console.tools import TOOLS
from tests.doubles.memory_backend import MemoryBackend
from tests.mcp_server.clients import ERAS, Person, client, told


def writes(audit: AuditLog) -> list[dict[str, Any]]:
    return [line for line in audit.records() if line["kind"] in ("intent", "result")]


@pytest.mark.parametrize("era", ERAS)
async def test_every_tool_with_its_schema_and_annotations(engine: Engine, plans: PlanFiles, era: str) -> None:
    async with client(build(engine, plans), era) as session:
        listed = {tool.name: tool for tool in (await session.list_tools()).tools}
    assert set(listed) == set(TOOLS)
    for name, tool in listed.items():
        ours = TOOLS[name]
        assert tool.input_schema == ours.schema()
        assert tool.output_schema and tool.title == ours.title
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is (ours.kind == "read")
        if ours.kind == "write":
            assert tool.annotations.destructive_hint is ours.destructive
    assert listed["scheduler_submit"].annotations.destructive_hint is False  # type: ignore[union-attr]
    assert listed["scheduler_cancel"].annotations.destructive_hint is True  # type: ignore[union-attr]
    assert listed["scheduler_submit"].annotations.idempotent_hint is False  # type: ignore[union-attr]


@pytest.mark.parametrize("era", ERAS)
async def test_a_read_gives_structured_output_and_is_on_record(
    engine: Engine, plans: PlanFiles, audit: AuditLog, era: str
) -> None:
    async with client(build(engine, plans), era) as session:
        result = await session.call_tool("scheduler_list_jobs", {"filter": {"statuses": ["running"]}})
    assert not result.is_error and result.structured_content is not None
    assert result.structured_content["total"] == 2
    assert [job["id"] for job in result.structured_content["jobs"]] == ["1", "3"]
    (line,) = audit.records()
    assert (line["kind"], line["origin"], line["action"]) == ("read", "mcp", "scheduler_list_jobs")


@pytest.mark.parametrize("era", ERAS)
async def test_a_failure_is_never_an_empty_answer(
    engine: Engine, plans: PlanFiles, backend: MemoryBackend, era: str
) -> None:
    async with client(build(engine, plans), era) as session:
        backend.error = Unavailable("slurmctld does not answer", "Ask an administrator.")
        result = await session.call_tool("scheduler_list_jobs", {})
    assert result.is_error and "slurmctld does not answer" in told(result)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("person", [None, Person()])
async def test_an_untrusted_client_leaves_a_plan_for_a_person(
    engine: Engine, plans: PlanFiles, backend: MemoryBackend, audit: AuditLog, era: str, person: Person | None
) -> None:
    async with client(build(engine, plans), era, person) as session:
        result = await session.call_tool("scheduler_cancel", {"ids": ["1"]})
    assert not result.is_error and result.structured_content is not None
    assert result.structured_content["state"] == "waiting"
    (waiting,) = plans.waiting()
    assert waiting.plan_id == result.structured_content["plan_id"]
    assert f"pilothouse approve {waiting.plan_id[:8]}" in result.structured_content["note"]
    assert person is None or person.seen == []
    assert backend.sent == [] and writes(audit) == []
    assert [line["kind"] for line in audit.records()] == ["proposed"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_trusted_client_that_cannot_ask_leaves_a_plan(
    trusting: Engine, plans: PlanFiles, backend: MemoryBackend, era: str
) -> None:
    async with client(build(trusting, plans), era) as session:
        result = await session.call_tool("scheduler_cancel", {"ids": ["1"]})
    assert result.structured_content is not None and result.structured_content["state"] == "waiting"
    assert len(plans.waiting()) == 1 and backend.sent == []


@pytest.mark.parametrize("era", ERAS)
async def test_a_trusted_answer_sends_what_was_shown_once(
    trusting: Engine, plans: PlanFiles, backend: MemoryBackend, audit: AuditLog, era: str
) -> None:
    person = Person()
    async with client(build(trusting, plans), era, person) as session:
        result = await session.call_tool("scheduler_cancel", {"ids": ["1"]})
    assert result.structured_content is not None
    assert (result.structured_content["state"], result.structured_content["result"]) == ("sent", "accepted")
    assert len(person.seen) == 1
    assert "POST /memory/cancel" in person.seen[0] and "running, of alice" in person.seen[0]
    assert "good for one answer" in person.seen[0]
    assert len(backend.sent) == 1
    assert {line["decision"] for line in writes(audit) if line["kind"] == "intent"} == {"confirmed by elicitation"}
    assert plans.waiting() == []


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("person", [Person("decline"), Person("cancel"), Person(approve=False)])
async def test_a_no_is_a_no_and_on_record(
    trusting: Engine, plans: PlanFiles, backend: MemoryBackend, audit: AuditLog, era: str, person: Person
) -> None:
    async with client(build(trusting, plans), era, person) as session:
        result = await session.call_tool("scheduler_cancel", {"ids": ["1"]})
    assert result.structured_content is not None and result.structured_content["state"] == "declined"
    assert backend.sent == []
    assert [line["kind"] for line in audit.records()] == ["declined"]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("typed", "sent"), [("", 0), ("1", 0), ("2", 2)])
async def test_several_targets_need_their_number_typed(
    trusting: Engine, plans: PlanFiles, backend: MemoryBackend, era: str, typed: str, sent: int
) -> None:
    person = Person(approve=True, typed=typed)
    async with client(build(trusting, plans), era, person) as session:
        result = await session.call_tool("scheduler_cancel", {"ids": ["1", "2"]})
    assert "type the number of targets" in person.seen[0]
    assert result.is_error is (sent == 0)
    assert len(backend.sent) == sent


@pytest.mark.parametrize("era", ERAS)
async def test_an_operators_action_of_an_agent_needs_the_name_typed(
    trusting: Engine, plans: PlanFiles, backend: MemoryBackend, era: str
) -> None:
    async with client(build(trusting, plans), era, Person()) as session:
        result = await session.call_tool("scheduler_set_node_quota", {"node": "n1", "slots": 2})
        assert result.is_error and backend.sent == []
    async with client(build(trusting, plans), era, Person(approve=True, typed="n1")) as session:
        result = await session.call_tool("scheduler_set_node_quota", {"node": "n1", "slots": 2})
    assert not result.is_error and backend.node("n1").slots_quota == 2


async def test_a_state_that_changed_between_question_and_answer_is_asked_again(
    trusting: Engine, plans: PlanFiles, backend: MemoryBackend
) -> None:
    person = Person()
    person.before = lambda: backend.put(backend.job("2")._replace(status="running"))
    async with client(build(trusting, plans), "2026-07-28", person) as session:
        result = await session.call_tool("scheduler_cancel", {"ids": ["2"]})
    assert ["pending, of alice" in text for text in person.seen] == [True, False]
    assert "running, of alice" in person.seen[1]
    assert not result.is_error and len(backend.sent) == 1


async def test_a_state_that_changed_within_one_call_sends_nothing(
    trusting: Engine, plans: PlanFiles, backend: MemoryBackend
) -> None:
    person = Person()
    person.before = lambda: backend.put(backend.job("2")._replace(status="running"))
    async with client(build(trusting, plans), "legacy", person) as session:
        result = await session.call_tool("scheduler_cancel", {"ids": ["2"]})
    assert result.is_error and "was pending and is running now" in told(result)
    assert backend.sent == []


async def test_a_dry_run_asks_nobody(trusting: Engine, plans: PlanFiles, backend: MemoryBackend) -> None:
    person = Person()
    async with client(build(trusting, plans), "auto", person) as session:
        result = await session.call_tool("scheduler_submit", {"command": ["true"], "dry_run": True})
    assert result.structured_content is not None and result.structured_content["state"] == "shown"
    assert person.seen == [] and backend.sent == [] and plans.waiting() == []


async def test_what_was_filed_is_approved_by_a_person_elsewhere(
    engine: Engine, plans: PlanFiles, backend: MemoryBackend
) -> None:
    async with client(build(engine, plans)) as session:
        await session.call_tool("scheduler_hold", {"ids": ["2"]})
    (waiting,) = plans.waiting()
    prepared = await engine.gate.prepare(waiting.intent)
    assert prepared.digest == waiting.digest
    plans.take(waiting.plan_id)
    operation = await engine.gate.execute(prepared, Approval("prompt"))
    await operation.wait()
    assert len(backend.sent) == 1


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("scheduler_list_jobs", {"filter": {"usr": "bob"}}),
        ("scheduler_list_jobs", {"limit": 100000}),
        ("scheduler_cancel", {}),
        ("scheduler_cancel", {"ids": "1"}),
        ("scheduler_set_node_quota", {"node": "n1"}),
        ("scheduler_cancel", {"ids": ["1"], "answer": {"approve": True}}),
        ("scheduler_cancel", {"ids": ["1"], "ctx": 1}),
    ],
)
async def test_unknown_or_bad_arguments_are_refused(
    trusting: Engine, plans: PlanFiles, backend: MemoryBackend, name: str, arguments: dict[str, Any]
) -> None:
    person = Person()
    async with client(build(trusting, plans), "auto", person) as session:
        result = await session.call_tool(name, arguments)
    assert result.is_error and "bad arguments" in told(result)
    assert backend.sent == [] and person.seen == []


@pytest.mark.parametrize("era", ERAS)
async def test_a_read_only_role_cannot_write_by_any_name(
    trusting: Engine, plans: PlanFiles, backend: MemoryBackend, audit: AuditLog, era: str
) -> None:
    backend.identity = Identity("svc", "mcp_readonly", None)
    person = Person()
    async with client(build(trusting, plans), era, person) as session:
        result = await session.call_tool("scheduler_cancel", {"ids": ["1"]})
    assert result.is_error and "mcp_readonly" in told(result)
    assert person.seen == [] and plans.waiting() == [] and backend.sent == []
    assert [line["rule"] for line in audit.records()] == ["role"]


@pytest.mark.parametrize("era", ERAS)
async def test_resources(engine: Engine, plans: PlanFiles, backend: MemoryBackend, era: str) -> None:
    backend.put(Job("team/train-1", "k8s", "pending", owner="alice"), *(Node(f"x{n:03}", "idle") for n in range(250)))
    async with client(build(engine, plans), era) as session:
        templates = {t.uri_template for t in (await session.list_resource_templates()).resource_templates}
        assert "pilothouse://{cluster}/job/{id}" in templates and len(templates) == 4

        async def text(uri: str) -> str:
            return (await session.read_resource(uri)).contents[0].text  # type: ignore[union-attr]

        assert json.loads(await text("pilothouse://demo/job/1"))["job"]["name"] == "train"
        assert json.loads(await text("pilothouse://demo/job/team%2Ftrain-1"))["job"]["name"] == "k8s"
        assert await text("pilothouse://demo/job/1/log/stdout") == "line 1\nline 2"
        assert json.loads(await text("pilothouse://demo/queue/gpu"))["name"] == "gpu"
        assert json.loads(await text("pilothouse://demo/node/x249"))["status"] == "idle"
        assert "only my jobs" in await text("pilothouse://clusters")
        for missing in ("job/77", "queue/none", "node/none"):
            with pytest.raises(Exception, match="no "):
                await text(f"pilothouse://demo/{missing}")


async def test_prompts(engine: Engine, plans: PlanFiles) -> None:
    async with client(build(engine, plans)) as session:
        names = {prompt.name for prompt in (await session.list_prompts()).prompts}
        assert {"why_is_it_waiting", "why_did_it_fail", "submit_and_watch", "drain_a_node"} <= names
        found = await session.get_prompt("why_did_it_fail", {"id": "12"})
    assert "scheduler_analyze_failure" in found.messages[0].content.text  # type: ignore[union-attr]


def test_every_tool_that_a_prompt_names_is_there() -> None:
    import re
    from pathlib import Path

    from console.mcp_server import prompts

    named = set(re.findall(r"scheduler_\w+", Path(prompts.__file__).read_text()))
    assert named and named <= set(TOOLS)
