"""What may be proposed after a failure: the same submission with more of what ran out, or as it was where the fault was
not its own. Nothing else is guessed at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adapters.units import exact_duration, show_size
from console.chat.saying import Language, say
from console.chat.words import WORDS
from console.tools.advanced import Diagnosis
from console.tools.tool import Result

_MORE = {"out_of_memory": "memory_bytes", "walltime": "walltime_seconds"}  # cause -> what ran out
_AS_IT_WAS = frozenset({"node_failure", "preempted"})
_TIMES = 2


@dataclass(frozen=True, slots=True)
class Fix:
    """A submission to be proposed. `field` is what differs, from `before` to `after`; empty where nothing does."""

    arguments: dict[str, Any]
    field: str = ""
    before: int = 0
    after: int = 0

    def words(self, lang: Language) -> str:
        if not self.field:
            return say("fix_again", lang)
        show = show_size if self.field == "memory_bytes" else exact_duration
        name = WORDS["field_memory" if self.field == "memory_bytes" else "field_walltime"][lang]
        return say("fix", lang, field=name, before=show(self.before), after=show(self.after))


def fix(found: Result | None, arguments: Mapping[str, Any] | None) -> Fix | None:
    """The fix for a failure, where what was submitted is known and the cause is sure enough."""
    if arguments is None or not isinstance(found, Diagnosis) or found.confidence == "unknown":
        return None
    if found.cause in _AS_IT_WAS:
        return Fix(dict(arguments))
    field = _MORE.get(found.cause)
    before = arguments.get(field) if field is not None else None
    if field is None or not isinstance(before, int) or isinstance(before, bool):
        return None
    return Fix({**arguments, field: before * _TIMES}, field, before, before * _TIMES)
