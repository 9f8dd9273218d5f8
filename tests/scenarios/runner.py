"""Runs a scenario: sentences and the turns of a scripted model on one side, a person's answers on the other.

The record of a run holds the chain of tool calls with what each gave, the person's answers, the requests that left and
the lines of the audit log; ids, times and digests are named, so that two runs can be compared byte for byte.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from adapters import outgoing
from adapters.base import AdapterError
from adapters.intents import INTENTS, Intent
from adapters.model import Ref
from console.agent import Agent
from console.agent_answers import Proposed, sent_answer
from console.audit.log import person
from console.chat.grammar import understand
from console.chat.said import Ask, NotUnderstood, Said
from console.engine import Engine
from console.gate import AgentScope, Approval, Grant, PlanChanged, Proposal, Refused
from console.tools import TOOLS
from console.tools.tool import Result

_NAMES = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uuid>"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "<digest>"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "<id>"),
    (re.compile(r"/nodes/\d+/"), "/nodes/<number>/"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)?"), "<time>"),
)
ME = person()  # on the embedded cluster; on the recorded one the person is alice
_AS_SAID = frozenset({"command", "array", "run_limit", "lines", "resources"})  # figures in them are no ids of jobs
DEADLINE = 40.0


class Run:
    """One run of one scenario on an engine. `ids` are those of jobs that it made, in order: ``$1``, ``$2`` …"""

    def __init__(self, engine: Engine, language: str) -> None:
        self.engine = engine
        self.agent = Agent(engine, "chat")
        self.language = language
        self.ids: list[str] = []
        self.events: list[dict[str, Any]] = []
        self.requests: list[Any] = []
        self.waiting: list[Proposal] = []
        self.turn = 0

    async def run(self, scenario: Mapping[str, Any]) -> str:
        """The record, as YAML."""
        before = [record["seq"] for record in self.engine.audit.records()]
        end = outgoing.observe(lambda cluster, request: self.requests.append({cluster: request.record()}))
        try:
            for step in scenario["steps"]:
                ((what, given),) = step.items()
                self.turn += 1
                await getattr(self, f"do_{what}")(given)
        finally:
            end()
        lines = [_line(record) for record in self.engine.audit.records() if record["seq"] not in before]
        record = {"events": self.events, "requests": [_request(one) for one in self.requests], "audit": lines}
        return yaml.safe_dump(self._named(record), sort_keys=False, allow_unicode=True, width=150)

    # -- the steps

    async def do_say(self, sentences: Mapping[str, str]) -> None:
        """The person says something; without a model the grammar makes a call of it."""
        self.engine.gate.agents.person_spoke()
        meant = understand(self._filled(sentences[self.language]))
        if isinstance(meant, Ask):
            self.events.append({"asks": meant.question})
        elif isinstance(meant, NotUnderstood):
            self.events.append({"not_understood": True})
        else:
            await self._call(meant)

    async def do_call(self, given: Mapping[str, Any]) -> None:
        """The model calls a tool."""
        await self._call(Said(given["tool"], self._filled(given.get("args", {}))))

    async def do_approve(self, typed: str) -> None:
        """The person answers the oldest proposal; `y` is the key."""
        proposal = self.waiting[0]
        answer = Approval("dialog", None if typed == "y" else self._filled(typed))
        try:
            operation = await self.engine.gate.approve(proposal, answer)
        except PlanChanged as changed:
            self.events.append({"shown again": list(changed.prepared.notes)})
            return
        except Refused as refusal:
            self.events.append({"refused": refusal.rule, "message": refusal.message})
            return
        self.waiting.pop(0)
        await operation.wait()
        sent = sent_answer(proposal.prepared, operation)
        self.ids += sent.created
        self.events.append({"approved": sent.action, "result": sent.result, "created": sent.created})

    async def do_deny(self, reason: str) -> None:
        proposal = self.waiting.pop(0)
        await self.engine.gate.deny(proposal, reason)
        self.events.append({"denied": proposal.prepared.intent.verb})

    async def do_narrow(self, scope: Mapping[str, Any]) -> None:
        self.events.append({"scope": (await self.engine.gate.agents.narrow(_scope(scope))).words()})

    async def do_autopilot(self, given: Mapping[str, Any]) -> None:
        now = self.engine.store.now()
        grant = Grant(frozenset(given["verbs"]), given["actions"], given["core_hours"], now.replace(year=now.year + 1))
        await self.engine.gate.agents.engage(grant)

    async def do_person(self, given: Mapping[str, Any]) -> None:
        """The person does something with a key of their own."""
        intent: type[Intent] = INTENTS[given["verb"]]
        ref = Ref(given["cluster"], intent.kind, self._filled(given["id"]))
        prepared = await self.engine.gate.prepare(intent(cluster=given["cluster"], refs=(ref,), origin="key"))
        operation = await self.engine.gate.execute(prepared, Approval("dialog"))
        await operation.wait()
        self.events.append({"person": given["verb"], "result": operation.result})

    async def do_until(self, given: Mapping[str, Any]) -> None:
        """Something happens on the cluster by itself: no tool is called for it."""
        end = time.monotonic() + DEADLINE
        reader = self.engine.reader(given.get("cluster"))
        while (job := await reader.get_job(self._filled(given["id"]))).status != given["status"]:
            assert time.monotonic() < end, f"job {job.id} is {job.status}: {job.reason}"
            await asyncio.sleep(0.1)
        self.events.append({"event": f"job {job.id} {job.status}"})

    # -- helpers

    async def _call(self, call: Said) -> None:
        told: dict[str, Any] = {"call": call.tool, "args": dict(call.args)}
        self.events.append(told)
        kind = TOOLS[call.tool].kind if call.tool in TOOLS else "write"
        try:
            if kind == "read":
                told["got"] = _brief(await self.agent.read(call.tool, dict(call.args)))
                return
            answer, proposal = await self.agent.propose(call.tool, dict(call.args), f"t{self.turn}")
        except AdapterError as error:
            told["error"] = error.rule if isinstance(error, Refused) else error.code
            told["message"] = error.message
            return
        told["got"] = _brief(answer)
        self.ids += answer.created
        if proposal is not None:
            self.waiting.append(proposal)

    def _filled(self, value: Any) -> Any:
        """``$1`` is the first job that was made."""
        if isinstance(value, str):
            return re.sub(r"\$(\d)", lambda found: self.ids[int(found[1]) - 1], value)
        if isinstance(value, Mapping):
            return {name: self._filled(part) for name, part in value.items()}
        return [self._filled(part) for part in value] if isinstance(value, list) else value

    def _named(self, value: Any) -> Any:
        if isinstance(value, str):
            for pattern, name in _NAMES:
                value = pattern.sub(name, value)
            for number, id in enumerate(self.ids, 1):
                value = re.sub(rf"(?<![\w.%:-]){re.escape(id)}(?![\w.-])", f"${number}", value)
            return value
        if isinstance(value, Mapping):
            return {name: part if name in _AS_SAID else self._named(part) for name, part in value.items()}
        return [self._named(part) for part in value] if isinstance(value, list | tuple) else value


def _scope(given: Mapping[str, Any]) -> AgentScope:
    queues, clusters = given.get("queues"), given.get("clusters")
    return AgentScope(
        given.get("owners", "all"), frozenset(queues) if queues else None, frozenset(clusters) if clusters else None
    )


_KEPT = {
    "JobList": ("total", "by_status", "source"),
    "Diagnosis": ("cause", "confidence"),
    "Waited": ("status", "reached", "exit_code"),
    "Log": ("lines",),
    "QueueList": ("total",),
    "NodeList": ("total",),
    "Suggested": ("resources",),
    "Estimated": ("basis",),
    "Proposed": ("state", "action", "summary", "target_count", "confirmation", "result", "created", "note"),
}


def _brief(result: Result) -> dict[str, Any]:
    """What of an answer a scenario is about."""
    name = type(result).__name__
    whole = result.model_dump(mode="json")
    if name == "JobAnswer":
        return {key: whole["job"][key] for key in ("name", "status", "owner", "reason")}
    found = {key: whole[key] for key in _KEPT.get(name, ()) if whole[key] not in (None, [], "")}
    if isinstance(result, Proposed) and result.targets:
        found["targets"] = [
            f"job {target.id} {target.status} of {'<me>' if target.owner == ME else target.owner}"
            if target.kind == "job"
            else f"{target.kind} {target.id}"
            for target in result.targets
        ]
    return found


def _request(one: Mapping[str, Any]) -> dict[str, Any]:
    """A request without what stands beside its point: a body is read where it is JSON."""
    ((cluster, record),) = one.items()
    if "argv" in record:
        return {
            "cluster": cluster,
            "argv": [Path(record["argv"][0]).name, *record["argv"][1:]],
            "stdin": record["stdin"],
        }
    body = record["body"]
    return {
        "cluster": cluster,
        "request": f"{record['method']} {record['path']}",
        "body": json.loads(body) if body else None,
    }


def _line(record: Mapping[str, Any]) -> str:
    told = [record.get(name) for name in ("kind", "origin", "cluster", "action", "decision", "outcome")]
    return " | ".join(str(part) for part in told if part)
