"""What a sentence on the scope does: it narrows at once; where more is meant, the person's own form is asked for."""

from __future__ import annotations

from collections.abc import Callable

from console.audit import AuditError
from console.chat.events import Event, Failure, Notice, Wants
from console.chat.narrowing import ScopeSaid
from console.chat.saying import Language
from console.chat.telling import scope_words
from console.chat.words import SCOPE
from console.engine import Engine


async def narrow(engine: Engine, said: ScopeSaid, lang: Language, tell: Callable[[Event], None]) -> str:
    """Narrow the scope as far as was said; ask for a key where more is meant. Returns what was told."""
    agents = engine.gate.agents

    def told(key: str, warning: bool, names: str = "") -> str:
        text = SCOPE[key][lang].format(scope=scope_words(agents.scope, lang), names=names)
        tell(Notice(text, "warning" if warning else "info"))
        return text

    if said.scope is None:
        text = told("by_key", True)
        tell(Wants("scope"))
        return text
    unknown = sorted((said.scope.clusters or frozenset()) - engine.clusters.keys())
    if unknown:
        return told("no_cluster", True, ", ".join(unknown))
    try:
        await agents.narrow(said.scope)
    except AuditError as error:  # it is narrowed all the same
        tell(Failure(error.title, error.message, error.hint))
    nothing = agents.scope.queues == frozenset() or agents.scope.clusters == frozenset()
    text = told("now", nothing)
    if nothing:
        tell(Wants("scope"))
    return text
