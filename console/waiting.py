"""What waits for the person's answer: the proposals of this process, and the plans that others left in files."""

from __future__ import annotations

import asyncio

from adapters.text import clean
from console.audit import AuditError, AuditLog
from console.gate import Inbox, PlanFiles, WaitingPlan

LOOK = 3.0  # seconds between two looks at the folder of plans


class Waiting:
    """Counts both kinds. The folder is read aside, so that a slow home folder keeps nobody waiting.

    Attributes:
        filed: the plans in files, as of the last look, oldest first.
    """

    def __init__(self, inbox: Inbox, files: PlanFiles, audit: AuditLog) -> None:
        self.inbox = inbox
        self.files = files
        self.filed: tuple[WaitingPlan, ...] = ()
        self._audit = audit

    def __len__(self) -> int:
        return len(self.inbox) + len(self.filed)

    async def look(self) -> None:
        """Read the folder again. A folder that cannot be read holds nothing for us."""
        try:
            self.filed = tuple(await asyncio.to_thread(self.files.waiting))
        except (AuditError, OSError):
            self.filed = ()

    async def take(self, plan: WaitingPlan) -> None:
        """Use a plan up, once, whoever asks first. Raises Refused or AuditError."""
        await asyncio.to_thread(self.files.take, plan.plan_id)
        self.filed = tuple(other for other in self.filed if other.plan_id != plan.plan_id)

    async def deny(self, plan: WaitingPlan, reason: str = "") -> None:
        """A person's no to a plan in a file, on record. Raises Refused or AuditError."""
        await self.take(plan)
        await asyncio.to_thread(record_denial, self._audit, plan, reason)


def record_denial(audit: AuditLog, plan: WaitingPlan, reason: str) -> None:
    """Put on record that a person refused a plan. Raises AuditError."""
    intent = plan.intent
    audit.append(
        "declined", decision="declined", message=clean(reason, 400), cluster=intent.cluster, origin=intent.origin,
        action=intent.verb, parameters=intent.parameters(), intent_id=str(intent.intent_id), plan_id=plan.plan_id,
        targets=[str(ref) for ref in intent.targets_named],
    )  # fmt: skip
