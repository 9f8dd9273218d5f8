"""The conversation behind the panel: what the person says goes to the chat, what the chat tells goes to the panel."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence, Sized
from typing import Protocol

from adapters.text import clean
from console.chat.events import (
    Answered,
    Called,
    Ended,
    Event,
    Failure,
    Notice,
    Piece,
    Reply,
    Retrying,
    Waiting,
    Wants,
)
from console.gate import Agency, Proposal
from widgets.chat import ChatPanel
from widgets.chat_title import ChatFacts

_log = logging.getLogger(__name__)
MOST_NAMED = 5  # proposals that are named when they begin to wait


class Named(Protocol):
    """What answers."""

    @property
    def name(self) -> str: ...


class Conversation(Protocol):
    """The part of `console.chat.session.Chat` that a panel needs."""

    @property
    def planner(self) -> Named: ...
    @property
    def busy(self) -> bool: ...
    @property
    def waiting(self) -> Sequence[Proposal]: ...
    @property
    def watches(self) -> Sized: ...

    def say(self, text: str) -> AsyncIterator[Event]: ...
    def listen(self, listener: Callable[[Event], None]) -> Callable[[], None]: ...
    async def stop(self) -> None: ...
    async def close(self) -> None: ...


class Talk:
    """One conversation in one panel.

    Args:
        wants: called with a wish for a dialog; shows it.
        inbox_key: the key that opens the inbox, as people write it.
        changed: called after each event, for what stands elsewhere on screen.
    """

    def __init__(
        self, chat: Conversation, panel: ChatPanel, wants: Callable[[Wants], None], inbox_key: str,
        changed: Callable[[], None],
    ) -> None:  # fmt: skip
        self.chat = chat
        self.panel = panel
        self._wants = wants
        self._inbox_key = inbox_key
        self._changed = changed
        self.end_listening = chat.listen(self.show)

    @property
    def busy(self) -> bool:
        return self.chat.busy

    async def say(self, text: str) -> None:
        """Carry one sentence through; returns when its turn has ended. Cancelling this stops the turn."""
        self.panel.said(text)
        asyncio.get_running_loop().call_soon(self._changed)  # it is at work before it has anything to tell
        try:
            async for event in self.chat.say(text):
                self.show(event)
        except Exception as error:
            _log.exception("the chat failed")
            self.show(Failure("The chat failed", clean(f"{type(error).__name__}: {error}", 300), "See the log."))
            self.show(Ended("failed"))

    def facts(self, agents: Agency) -> ChatFacts:
        """What stands at the head of the panel."""
        return ChatFacts(
            planner=self.chat.planner.name, scope=agents.scope.words(), autopilot=agents.banner(),
            untrusted=tuple(agents.untrusted), watches=len(self.chat.watches), waiting=len(self.chat.waiting),
        )  # fmt: skip

    def show(self, event: Event) -> None:
        """Hand one event to the panel."""
        panel = self.panel
        match event:
            case Piece(text):
                panel.piece(text)
            case Reply(text):
                panel.reply(text)
            case Called(call):
                panel.called(call.id, call.tool, call.arguments)
            case Answered():
                panel.answered(event.call.id, event.ok, event.summary, event.detail)
            case Waiting(proposals):
                self._now_waiting(proposals)
            case Retrying(why, seconds, attempt):
                panel.count_down(why, seconds, attempt)
            case Notice(text, kind):
                panel.note(text, "warn" if kind == "warning" else "info")
            case Failure(title, message, hint):
                panel.note(" ".join(part for part in (f"{title}:", message, hint) if part), "bad")
            case Wants():
                self._wants(event)
            case Ended(how):
                panel.ended(how)
                if self.busy:
                    panel.state("working …", "info")
        if not isinstance(event, Piece):
            self._changed()

    def _now_waiting(self, proposals: Sequence[Proposal]) -> None:
        """Say what waits, and which key opens the inbox. It does not open by itself."""
        named = [clean(p.prepared.intent.describe(), 100) for p in proposals[:MOST_NAMED]]
        more = [f"and {len(proposals) - MOST_NAMED} more"] if len(proposals) > MOST_NAMED else []
        count = "1 proposal waits" if len(proposals) == 1 else f"{len(proposals)} proposals wait"
        told = f"{count} for your answer: {self._inbox_key} opens the inbox."
        self.panel.note("\n".join([told, *named, *more]), "warn")
        self.panel.state(f"{len(proposals)} to answer: {self._inbox_key}; Esc takes it back", "warn")
