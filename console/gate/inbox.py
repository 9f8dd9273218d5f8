"""What agents propose and a person has not answered yet. A proposal never opens a dialog: a key opens the inbox.

Each write of a turn is an entry of its own, so that one can be denied and another approved.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from adapters.text import clean
from console.gate.operation import Operation
from console.gate.prepared import Prepared

Answer: TypeAlias = Literal["approved", "declined", "withdrawn", "refused"]
MOST = 50  # waiting entries; an agent that proposes more is told to wait


@dataclass(slots=True)
class Proposal:
    """One plan that waits for a person.

    Args:
        turn: proposals of one turn belong together and are shown together.
        said: the agent's own words, cleaned; shown apart from the plan and labelled.
        note: why it was declined or refused, in a sentence.
        source: what untrusted text was read before it was proposed (``log of job 12``), or nothing.
    """

    prepared: Prepared
    turn: str
    said: str = ""
    source: str = ""
    answer: Answer | None = None
    operation: Operation | None = None
    note: str = ""
    _answered: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self) -> Answer:
        """Wait for the person; cancelling the wait leaves the proposal where it is."""
        await self._answered.wait()
        assert self.answer is not None
        return self.answer

    def close(self, answer: Answer, operation: Operation | None = None, note: str = "") -> None:
        self.answer, self.operation, self.note = answer, operation, note
        self._answered.set()


class Full(Exception):
    """Too many proposals wait already."""


class Inbox:
    """The proposals that wait, oldest first. `changed` is called whenever there are more or fewer."""

    def __init__(self) -> None:
        self.waiting: list[Proposal] = []
        self.watchers: list[Callable[[], None]] = []

    def __len__(self) -> int:
        return len(self.waiting)

    def add(self, prepared: Prepared, turn: str, said: str = "", source: str = "") -> Proposal:
        """Raises Full."""
        if len(self.waiting) >= MOST:
            raise Full(f"{MOST} proposals wait for an answer already.")
        proposal = Proposal(prepared, turn, clean(said, 2000), clean(source, 200))
        self.waiting.append(proposal)
        self._tell()
        return proposal

    def turns(self) -> list[list[Proposal]]:
        """What waits, the writes of one turn together: one plan to look at, each of its parts to be answered."""
        groups: dict[str, list[Proposal]] = {}
        for proposal in self.waiting:
            groups.setdefault(proposal.turn, []).append(proposal)
        return list(groups.values())

    def replace(self, proposal: Proposal, prepared: Prepared) -> None:
        """The plan was made anew because its targets changed: the same proposal, to be looked at again."""
        proposal.prepared = prepared
        self._tell()

    def close(self, proposal: Proposal, answer: Answer, operation: Operation | None = None, note: str = "") -> None:
        if proposal in self.waiting:
            self.waiting.remove(proposal)
            proposal.close(answer, operation, note)
            self._tell()

    def withdraw(self, turn: str) -> list[Proposal]:
        """Take back what a turn proposed and nobody has answered: the turn was stopped."""
        gone = [proposal for proposal in self.waiting if proposal.turn == turn]
        for proposal in gone:
            self.close(proposal, "withdrawn")
        return gone

    def _tell(self) -> None:
        for watcher in tuple(self.watchers):
            watcher()
