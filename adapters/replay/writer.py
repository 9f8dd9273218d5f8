"""Refuses every write: a recording cannot be changed."""

from __future__ import annotations

from adapters.base import Unsupported
from adapters.intents import Intent, Outcome, Plan, Step
from adapters.model import Ref
from adapters.replay.reader import NO_WRITES


class ReplayWriter:
    """Implements `adapters.base.Writer` by refusing."""

    def __init__(self, cluster: str) -> None:
        self.cluster = cluster

    async def plan(self, intent: Intent) -> Plan:
        raise Unsupported(NO_WRITES)

    async def send(self, step: Step) -> tuple[Outcome, ...]:
        refs: tuple[Ref | None, ...] = tuple(target.ref for target in step.targets) or (None,)
        return tuple(Outcome("refused", ref, NO_WRITES, Unsupported.code) for ref in refs)

    async def close(self) -> None:
        """Nothing is open."""
