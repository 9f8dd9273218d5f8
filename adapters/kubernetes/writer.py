"""All writes of one Kubernetes cluster: plans with exact requests, tried by the server without effect first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from adapters.base import AdapterError, Unsupported
from adapters.intents import HttpRequest, Intent, Outcome, Plan, Step
from adapters.kubernetes.capabilities import NEVER, NO_STOPPABLE_QUEUE
from adapters.kubernetes.drafts import Desk, Draft
from adapters.kubernetes.errors import BudgetBlocked
from adapters.kubernetes.manifest import Defaults
from adapters.kubernetes.reader import KubernetesReader
from adapters.kubernetes.sending import Patience, Sender
from adapters.kubernetes.write_jobs import plan_cancel, plan_hold, plan_modify, plan_release, plan_submit
from adapters.kubernetes.write_nodes import plan_drain, plan_set_node_quota, plan_undrain
from adapters.kubernetes.write_queues import plan_close_queue, plan_open_queue, plan_set_queue_quota

Planner = Callable[[Desk, Intent], Awaitable[Draft]]
PLANNERS: Mapping[str, Planner] = {
    "submit": plan_submit,
    "cancel": plan_cancel,
    "hold": plan_hold,
    "suspend": plan_hold,
    "release": plan_release,
    "resume": plan_release,
    "modify": plan_modify,
    "drain": plan_drain,
    "undrain": plan_undrain,
    "set_node_quota": plan_set_node_quota,
    "open_queue": plan_open_queue,
    "close_queue": plan_close_queue,
    "set_queue_quota": plan_set_queue_quota,
}
MOST_DRY_RUNS = 20
"""Steps that are tried beforehand; of a plan with more, the first so many."""


class KubernetesWriter:
    """Plans and sends. Only the gate holds one."""

    def __init__(
        self,
        reader: KubernetesReader,
        defaults: Defaults,
        *,
        propagation: str = "Background",
        evict: bool = True,
        patience: Patience | None = None,
    ) -> None:
        self.cluster = reader.cluster
        self._reader = reader
        self._defaults = defaults
        self._propagation = propagation
        self._evict = evict
        self._sender = Sender(reader.cluster, reader.api, patience or Patience())

    async def plan(self, intent: Intent) -> Plan:
        """Freeze the targets, build the requests, and have the server try them without effect.

        Raises Unsupported, Invalid, NotFound, Conflict, Forbidden, or what a read raises. What the server would refuse
        for every target is raised in its own words, so that nobody is asked about it.
        """
        planner = PLANNERS.get(intent.verb)
        if planner is None:
            raise Unsupported(NEVER.get(intent.verb, f"Kubernetes has no {intent.verb}."), "It is not offered here.")
        offer = await self._reader.offer()
        if intent.verb in ("open_queue", "close_queue") and "clusterqueues" not in offer.kinds:
            raise Unsupported(NO_STOPPABLE_QUEUE, "Set the quota of a namespace instead.")
        draft = await planner(await self._desk(), intent)
        steps = tuple(one for one in draft.steps)
        dry_run = await self._try(steps, draft)
        return Plan(
            intent,
            steps,
            changes=tuple(draft.changes),
            warnings=tuple(dict.fromkeys(draft.warnings)),
            undo=draft.undo,
            dry_run=dry_run,
        )

    async def _desk(self) -> Desk:
        reader = self._reader
        try:
            me: str | None = await reader.me()
        except AdapterError:
            me = None
        return Desk(
            reader.cluster,
            reader.api,
            reader.access,
            reader.details,
            await reader.offer(),
            self._defaults,
            me,
            self._propagation,
            self._evict,
        )

    async def _try(self, steps: tuple[Step, ...], draft: Draft) -> str:
        """Try the first steps side by side; says in a sentence what came of it. Raises what all of them met."""
        tried = [one for one in steps if isinstance(one.request, HttpRequest)][:MOST_DRY_RUNS]
        requests = [one.request for one in tried if isinstance(one.request, HttpRequest)]
        answers = await asyncio.gather(*(self._sender.dry_run(request) for request in requests))
        refused = [error for error, _ in answers if error is not None]
        if refused and len(refused) == len(answers) and refused[0].code not in ("unavailable", "unreachable"):
            raise refused[0]
        for one, (error, warnings) in zip(tried, answers, strict=True):
            draft.warnings += [f"The server warns: {warning}" for warning in warnings]
            if isinstance(error, BudgetBlocked):
                draft.warnings.append(f"{one.summary}: waits for its disruption budget. {error.message}")
            elif error is not None:
                draft.warnings.append(f"{one.summary}: the server would refuse it now. {error.message}")
        accepted = len(answers) - len(refused)
        more = f" of the first {len(answers)}" if len(answers) < len(steps) else ""
        return f"The server accepted {accepted}{more} of {len(steps)} requests in a dry run."

    async def send(self, step: Step) -> tuple[Outcome, ...]:
        return (await self._sender.send(step),)

    async def close(self) -> None:
        await self._reader.close()
