"""How a write is put to the person behind an MCP client, and what becomes of the answer.

The question is a resolver's `Elicit`, which both protocol eras serve: the handshake era asks within the call, the newer
one ends the call with the question and is called again with the answer. The SDK accepts an answer only for the very
text that was asked, so the text holds the plan's one-time id: an answer that was used, or a plan that changed, leads to
a new question. A client that cannot ask, or is not trusted to (`trust_elicitation`), leaves a plan file for a person.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Elicit
from pydantic import BaseModel, Field

from console.agent import Agent
from console.agent_answers import Proposed, plan_answer, sent_answer
from console.cli.ask import plan_lines
from console.gate import Approval, PlanChanged, PlanFiles, Prepared
from console.tools import ToolError

MOST_WAITING = 100


class Answer(BaseModel):
    """The person's answer to a plan."""

    approve: bool = Field(description="Send exactly what is shown above.")
    typed: str = Field("", max_length=256, description="Where the plan says that something must be typed: that.")


@dataclass(frozen=True, slots=True)
class Settled:
    """Nothing is asked of the client: a dry run, or a plan for a person elsewhere."""

    prepared: Prepared
    dry_run: bool


class Asking:
    """The plans that one server has put to its clients and that have no answer yet."""

    def __init__(self, agent: Agent, plans: PlanFiles) -> None:
        self.agent = agent
        self.plans = plans
        self._asked: OrderedDict[str, Prepared] = OrderedDict()

    async def question(
        self, name: str, arguments: Mapping[str, Any], ctx: Context[Any, Any]
    ) -> Elicit[Answer] | Settled:
        """The plan as it is now, to be asked or settled otherwise. Raises what preparing it raises."""
        key = _key(name, arguments)
        again = ctx.request_state is not None
        prepared = await self._still(key) if again else None
        if prepared is None:
            self._forget(key)
            prepared, dry_run = await self.agent.prepare(name, arguments)
            if dry_run or not self._may_ask(prepared, ctx):
                return Settled(prepared, dry_run)
            self._keep(key, prepared)
        return Elicit(question_text(prepared), Answer)

    async def answered(self, name: str, arguments: Mapping[str, Any], answer: ElicitationResult[Any]) -> Proposed:
        """Carry out what the answer says. Raises what sending raises."""
        gate = self.agent.engine.gate
        given = answer.data if isinstance(answer, AcceptedElicitation) else None
        if isinstance(given, Settled):
            return await self._settle(given)
        prepared = self._asked.pop(_key(name, arguments), None)
        if prepared is None:
            raise ToolError("This answer was used already, or the plan is gone; nothing was sent.", "Call it again.")
        if not (isinstance(given, Answer) and given.approve):
            await gate.decline(prepared, f"by the MCP client: {answer.action}")
            return plan_answer(prepared, "declined")
        approval = Approval("elicitation", given.typed or None, prepared.digest)
        try:
            operation = await gate.execute(prepared, approval)
        except PlanChanged as changed:
            gate.forget(changed.prepared)
            raise
        await operation.wait()
        return sent_answer(prepared, operation)

    async def _settle(self, settled: Settled) -> Proposed:
        if settled.dry_run:
            await self.agent.engine.gate.decline(settled.prepared, "dry run")
            return plan_answer(settled.prepared, "shown")
        filed = await self.agent.file(settled.prepared, self.plans)
        told = f"A person must approve it on a terminal: pilothouse approve {filed.plan_id[:8]}"
        return plan_answer(settled.prepared, "waiting", told)

    def _may_ask(self, prepared: Prepared, ctx: Context[Any, Any]) -> bool:
        profile = self.agent.engine.clusters[prepared.intent.cluster].profile
        capabilities = ctx.client_capabilities
        asked = capabilities.elicitation if capabilities is not None else None
        return profile.trust_elicitation and asked is not None and (asked.form is not None or asked.url is None)

    async def _still(self, key: str) -> Prepared | None:
        """The plan that was asked about, if it would still be the same; None where it must be asked anew."""
        prepared = self._asked.get(key)
        if prepared is None:
            return None
        gate = self.agent.engine.gate
        now = await gate.prepare(prepared.intent)
        gate.forget(now)
        return prepared if (now.digest, now.plan.targets) == (prepared.digest, prepared.plan.targets) else None

    def _keep(self, key: str, prepared: Prepared) -> None:
        self._asked[key] = prepared
        while len(self._asked) > MOST_WAITING:
            self._forget(next(iter(self._asked)))

    def _forget(self, key: str) -> None:
        if (old := self._asked.pop(key, None)) is not None:
            self.agent.engine.gate.forget(old)


def question_text(prepared: Prepared) -> str:
    """Everything that is to be agreed to, from live state, and the one-time id that ties the answer to it."""
    confirm = prepared.confirm
    lines = [*plan_lines(prepared.plan, prepared.notes)]
    if confirm.how == "type":
        lines.append(f"{confirm.why}: type {confirm.asks or 'the answer'} to go on.")
    return "\n".join([*lines, f"plan {prepared.plan.plan_id}, good for one answer"])


def _key(name: str, arguments: Mapping[str, Any]) -> str:
    return f"{name} {json.dumps(arguments, sort_keys=True, default=str)}"
