"""The hands of an agent: the one way from a tool call to a read or to the gate, for the chat and for MCP alike.

A call is checked strictly, scanned for secrets and put on record; a read is carried out, a write becomes a plan that
waits for a person (or that autopilot answers). Nothing here confirms, widens a scope or turns autopilot on.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal, TypeAlias

from adapters.base import AdapterError
from adapters.text import clean
from console.agent_answers import Proposed, plan_answer, sent_answer
from console.audit import AuditError
from console.audit.redact import holds_secret, redact
from console.engine import Engine
from console.gate import Approval, Full, Operation, PlanChanged, PlanFiles, Prepared, Proposal, Refused, WaitingPlan
from console.tools import Tool, ToolError, tool
from console.tools.tool import Params, Result
from console.tools.toolbox import Toolbox

Origin: TypeAlias = Literal["chat", "mcp"]
MOST_WAITING = 50  # plans in files
_MOST_RECORDED = 4096  # characters of a bad call's arguments


class Agent:
    """One agent of an engine: the chat's planner, or an MCP client.

    Args:
        origin: what its intents and lines of the record say they come from.
    """

    def __init__(self, engine: Engine, origin: Origin) -> None:
        self.engine = engine
        self.origin = origin
        self.box = Toolbox(engine)

    async def read(self, name: str, arguments: object) -> Result:
        """Carry out a read and put it on record. Raises ToolError, Refused, AuditError, ConfigError, or what the
        reader raises; a failure is never an empty answer."""
        chosen, params, cluster = await self._called(name, arguments, "read")
        assert chosen.read is not None
        if chosen.foreign:
            self.engine.gate.agents.read_untrusted(_source(chosen, params))
        try:
            result = await chosen.read(self.box, params)
        except AdapterError as error:
            self._heard(chosen.name, error)
            await self._record("read", chosen.name, params, cluster, outcome=error.code, message=error.message)
            raise
        await self._record("read", chosen.name, params, cluster, outcome="ok")
        return _without_secrets(result) if chosen.foreign else result

    async def prepare(self, name: str, arguments: object) -> tuple[Prepared, bool]:
        """The plan of a write, and whether only that was asked for (`dry_run`). Nothing waits anywhere yet: whoever
        asked executes, declines or files it. Raises ToolError, Refused, AuditError, or what planning meets."""
        chosen, params, cluster = await self._called(name, arguments, "write")
        assert chosen.write is not None
        try:
            wanted = await chosen.write(self.box, params)
        except ToolError as error:
            await self._record("refused", chosen.name, params, cluster, rule="call", message=error.message)
            raise
        intent = wanted.intent.model_copy(update={"origin": self.origin})
        try:
            return await self.engine.gate.prepare(intent), wanted.dry_run
        except AdapterError as error:
            self._heard(chosen.name, error)
            raise

    async def propose(
        self, name: str, arguments: object, turn: str, said: str = ""
    ) -> tuple[Proposed, Proposal | None]:
        """A write: shown (dry run), sent (autopilot), or put into the inbox, where it waits for a person.

        `said` are the agent's own words; `turn` groups what is to be looked at together. Raises as `prepare` does.
        """
        prepared, dry_run = await self.prepare(name, arguments)
        gate = self.engine.gate
        if dry_run:
            await gate.decline(prepared, "dry run")
            return plan_answer(prepared, "shown"), None
        if await gate.autopilot_covers(prepared):
            try:
                operation = await gate.execute(prepared, Approval("autopilot", digest=prepared.digest))
            except PlanChanged as changed:
                prepared = changed.prepared
            else:
                await self.sent(operation)
                return sent_answer(prepared, operation), None
        try:
            proposal = gate.agents.inbox.add(prepared, turn, said, ", ".join(gate.agents.untrusted[-3:]))
        except Full as full:
            await gate.decline(prepared, str(full))
            raise ToolError(str(full), "Wait until the person has answered.") from None
        await self._proposed(prepared)
        return plan_answer(prepared, "waiting"), proposal

    async def sent(self, operation: Operation) -> None:
        """Wait until it has ended. What the scheduler says to what it did not take is text from outside."""
        await operation.wait()
        if any(outcome.result != "accepted" and outcome.message for outcome in operation.outcomes):
            self.engine.gate.agents.read_untrusted(f"error of {operation.plan.intent.verb.replace('_', ' ')}")

    def _heard(self, name: str, error: AdapterError) -> None:
        """What a backend words is text from outside, whatever was asked; what Pilothouse refuses is its own."""
        if not isinstance(error, ToolError | Refused | AuditError):
            self.engine.gate.agents.read_untrusted(f"error of {name.removeprefix('scheduler_').replace('_', ' ')}")

    async def file(self, prepared: Prepared, plans: PlanFiles, said: str = "") -> WaitingPlan:
        """Leave a plan in a file, for a person on a terminal or in an open console. Raises AuditError, or
        ToolError where too many wait already."""
        if len(await asyncio.to_thread(plans.waiting)) >= MOST_WAITING:
            told = f"{MOST_WAITING} plans wait for an answer already."
            await self.engine.gate.decline(prepared, told)
            raise ToolError(told, "Wait until the person has answered.")
        filed = await asyncio.to_thread(plans.put, prepared, said)
        self.engine.gate.forget(prepared)
        await self._proposed(prepared)
        return filed

    async def _proposed(self, prepared: Prepared) -> None:
        intent = prepared.intent
        await self._append(
            "proposed", action=intent.verb, cluster=intent.cluster, decision="waits for a person",
            parameters=intent.parameters(), plan_id=prepared.plan.plan_id, intent_id=str(intent.intent_id),
            targets=[str(ref) for ref in intent.targets_named],
        )  # fmt: skip

    async def _called(self, name: str, arguments: object, kind: str) -> tuple[Tool, Params, str]:
        """The tool, its checked arguments and the cluster meant. A bad call is on record before it is refused."""
        try:
            chosen = tool(name)
            params = chosen.parse(arguments)
            if chosen.kind != kind:
                raise ToolError(f"{chosen.name} is a {chosen.kind}.")
            if holds_secret(params.model_dump(mode="json")):
                raise Refused("hard_refusal", "The arguments hold what looks like a secret.", "Leave it out.")
            cluster = self.box.name(params.cluster)
            scope = self.engine.gate.agents.scope
            if scope.clusters is not None and cluster not in scope.clusters:
                raise Refused("scope", f"{cluster} is outside the agents' scope ({scope.words()}).")
        except AdapterError as error:
            rule = error.rule if isinstance(error, Refused) else "call"
            await self._append(
                "refused", action=clean(name, 80), parameters=_bounded(arguments), cluster=None, rule=rule,
                decision=f"refused: {rule}", message=clean(error.message, 400),
            )  # fmt: skip
            raise
        return chosen, params, cluster

    async def _record(self, kind: str, name: str, params: Params, cluster: str, **fields: Any) -> None:
        known = self.engine.clusters[cluster].identity
        decision = f"refused: {fields['rule']}" if kind == "refused" else "allowed"
        await self._append(
            kind, action=name, cluster=cluster, decision=decision,
            parameters=params.model_dump(mode="json", exclude_defaults=True),
            identity={"name": known.name, "role": known.role} if known else None,
            **{key: clean(str(value), 400) for key, value in fields.items()},
        )  # fmt: skip

    async def _append(self, kind: str, **fields: Any) -> None:
        await asyncio.to_thread(self.engine.audit.append, kind, origin=self.origin, **fields)


def _without_secrets(result: Result) -> Result:
    """What was read, with everything replaced that looks like a secret: it leaves this machine with the next turn."""
    return type(result).model_validate(redact(result.model_dump()))


def _source(chosen: Tool, params: Params) -> str:
    """What was read, for the person: ``job logs 12``."""
    words = chosen.name.removeprefix("scheduler_").replace("_", " ")
    return f"{words} {getattr(params, 'id', None) or ''}".strip()


def _bounded(arguments: object) -> Any:
    text = json.dumps(arguments, default=str, ensure_ascii=True)
    return arguments if len(text) <= _MOST_RECORDED else {"characters": len(text)}
