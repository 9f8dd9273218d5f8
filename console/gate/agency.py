"""What agents may do in this process, and what they have proposed: scope, autopilot, text from outside, inbox.

`narrow` may be called for anybody's sentence. `widen` and `engage` are for a person's own key or option: no tool, no
protocol and no sentence leads there, and every change is a line of the audit log before it takes effect.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime

from adapters.intents import Plan
from adapters.text import clean
from console.gate.autopilot import Autopilot, Cost, Grant
from console.gate.inbox import Inbox
from console.gate.prepared import Refused
from console.gate.scope import AgentScope, Reach

Append = Callable[..., Awaitable[None]]
MOST_SOURCES = 50


class Agency:
    """The state of what agents may do. One a gate; nothing of it survives the process.

    Attributes:
        scope: enforced by the gate for every intent of an agent.
        autopilot: what may be answered without the person, or None.
        untrusted: what was read from outside since the person last spoke (``log of job 12``), oldest first.
        inbox: what waits for the person.
    """

    def __init__(self, scope: AgentScope, append: Append, clock: Callable[[], datetime]) -> None:
        self.scope = scope
        self.autopilot: Autopilot | None = None
        self.untrusted: list[str] = []
        self._reads = 0
        self._read_at: dict[str, int] = {}  # the number of the last read of each source
        self.inbox = Inbox()
        self._append = append
        self._clock = clock

    async def narrow(self, scope: AgentScope) -> AgentScope:
        """Leave out whatever `scope` leaves out, at once; returns what is left. Raises AuditError (it is narrowed)."""
        before, self.scope = self.scope, self.scope.narrowed(scope)
        if self.scope != before:
            await self._append("scope", decision="narrowed", origin="chat", parameters=self.scope.record())
        return self.scope

    async def widen(self, scope: AgentScope) -> None:
        """Set the scope: for a key of the person alone. Raises AuditError; then nothing is widened."""
        await self._append("scope", decision="set by key", origin="key", parameters=scope.record())
        self.scope = scope

    async def engage(self, grant: Grant, origin: str = "key") -> None:
        """Turn autopilot on: for a key or option of the person alone. Raises AuditError; then it stays off."""
        await self._append("autopilot", decision="on", origin=origin, parameters=grant.record())
        self.autopilot = Autopilot(grant)

    async def disengage(self, reason: str = "by key") -> None:
        """Turn autopilot off, at once. Raises AuditError (it is off)."""
        pilot, self.autopilot = self.autopilot, None
        if pilot is not None:
            used = {"actions": pilot.actions, "core_hours": round(pilot.core_hours, 3)}
            await self._append("autopilot", decision="off", origin="key", message=clean(reason, 200), parameters=used)

    def read_untrusted(self, source: str) -> None:
        """Text from outside entered an agent's context; autopilot is suspended until the person speaks."""
        source = clean(source, 120)
        self._reads += 1
        self._read_at[source] = self._reads
        if source not in self.untrusted:
            self.untrusted.append(source)
            for old in self.untrusted[:-MOST_SOURCES]:
                self._read_at.pop(old, None)
            del self.untrusted[:-MOST_SOURCES]

    def person_speaks(self) -> int:
        """How much has been read by now, for `person_spoke` when what is being said is heard."""
        return self._reads

    def person_spoke(self, before: int | None = None) -> None:
        """What the person said begins to be answered: they knew what was read before they spoke, and no more.

        A turn that still goes on while they speak stays suspended, and so does what it reads after that.
        """
        before = self._reads if before is None else before
        self.untrusted[:] = [source for source in self.untrusted if self._read_at.get(source, 0) > before]

    def cost(self, plan: Plan, reach: Reach) -> Cost:
        """What autopilot would be charged for the plan. Raises Refused where it does not cover it."""
        if self.autopilot is None:
            raise Refused("autopilot", "No autopilot is on.", "A person confirms.")
        return self.autopilot.cost(plan, reach, self._clock(), self.untrusted)

    def spend(self, plan: Plan, reach: Reach) -> None:
        """Check and take in one go, so that two plans never share what is left. Raises Refused."""
        cost = self.cost(plan, reach)
        assert self.autopilot is not None
        self.autopilot.spend(cost)

    def banner(self) -> str:
        """One line on autopilot, or nothing."""
        return self.autopilot.words(self._clock(), self.untrusted) if self.autopilot is not None else ""
