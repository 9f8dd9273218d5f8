"""The head of the chat: who answers, how far agents may reach, autopilot, and what was read from outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.widgets import Static

from adapters.text import clean

MOST_SOURCES = 3


@dataclass(frozen=True, slots=True)
class ChatFacts:
    """What the head says.

    Args:
        planner: ``offline``, or the name of a model.
        scope: how far agents may reach, in words; always shown.
        autopilot: the banner of autopilot, or nothing.
        untrusted: what was read from outside since the person last spoke, oldest first.
        watches: jobs whose end is waited for.
        waiting: proposals that wait for an answer.
    """

    planner: str = ""
    scope: str = ""
    autopilot: str = ""
    untrusted: Sequence[str] = ()
    watches: int = 0
    waiting: int = 0


class ChatTitle(Static):
    """A few lines; repaints itself when they change."""

    DEFAULT_CSS = "ChatTitle { height: auto; width: 1fr; padding: 0 1; }"

    def __init__(self) -> None:
        super().__init__("", id="chat-title")
        self._facts: ChatFacts | None = None

    def show(self, facts: ChatFacts) -> None:
        if facts != self._facts:
            self._facts = facts
            self.update(title_content(facts))


def title_content(facts: ChatFacts) -> Content:
    """The head as text: one line each."""
    first = [("Chat", "bold $accent"), ("  answered by ", "$text-muted"), (clean(facts.planner, 60), "")]
    if facts.watches:
        first.append((f"  {facts.watches} watched", "$text-muted"))
    if facts.waiting:
        first.append((f"  {facts.waiting} to answer", "$warning bold"))
    lines = [
        Content.assemble(*first),
        Content.assemble(("Scope  ", "$text-muted"), clean(facts.scope, 300)),
    ]
    if facts.autopilot:
        lines.append(Content.styled(clean(facts.autopilot, 400), "$warning bold"))
    if facts.untrusted:
        shown = ", ".join(clean(source, 60) for source in facts.untrusted[-MOST_SOURCES:])
        more = len(facts.untrusted) - MOST_SOURCES
        told = f"{shown} and {more} more" if more > 0 else shown
        lines.append(Content.assemble(("Read from outside  ", "$text-muted"), (told, "$warning")))
    return Content("\n").join(lines)
