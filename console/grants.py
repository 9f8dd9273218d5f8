"""What a person allows autopilot, as it is written on the command line or in a form; read strictly.

``verbs=submit,hold actions=10 core_hours=50 minutes=60 queues=gpu,short clusters=hpc``
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from adapters.intents import INTENTS
from adapters.text import clean
from console.gate import AgentScope, Grant

VERBS = tuple(sorted(v for v, i in INTENTS.items() if not (i.operator or i.irreversible or i.persons_only)))
"""What autopilot may ever be allowed; the gate refuses the rest whatever a grant says."""
NEEDED = ("verbs", "actions", "core_hours", "minutes")
OPTIONAL = ("queues", "clusters")
MOST_ACTIONS, MOST_CORE_HOURS, MOST_MINUTES = 1000, 1_000_000.0, 24 * 60
_WHOLE = re.compile(r"[0-9]{1,9}")
_DECIMAL = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?")
_NAME = re.compile(r"[^\s,=]{1,128}")


class WishError(ValueError):
    """A wish means nothing. `field` is the part at fault; the message is a sentence."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True)
class Wish:
    """What shall be allowed, for a time that begins when it is turned on.

    Args:
        queues, clusters: names that it is limited to; None does not limit. Other people's jobs are never covered.
    """

    verbs: frozenset[str]
    actions: int
    core_hours: float
    minutes: int
    queues: frozenset[str] | None = None
    clusters: frozenset[str] | None = None

    def grant(self, now: datetime) -> Grant:
        scope = AgentScope("mine", self.queues, self.clusters)
        return Grant(self.verbs, self.actions, self.core_hours, now + timedelta(minutes=self.minutes), scope)

    def words(self) -> list[str]:
        """What it comes to, for the person who is asked: one fact a line."""
        scope = AgentScope("mine", self.queues, self.clusters)
        return [
            f"Verbs: {', '.join(sorted(self.verbs))}",
            f"Actions: {self.actions} at most",
            f"Core-hours: {self.core_hours:g} at most",
            f"Time: {self.minutes} minutes from now",
            f"Scope: {scope.words()}",
        ]


def parse(text: str) -> Wish:
    """The wish of one line of ``name=value`` words. Raises WishError."""
    return wish(pairs(text))


def pairs(text: str) -> dict[str, str]:
    """The words ``name=value`` of a line, with names that there are. Raises WishError."""
    values: dict[str, str] = {}
    for word in text.split():
        name, sign, value = word.partition("=")
        if not sign:
            raise WishError(name, f"{clean(word, 40)!r} is no name=value.")
        if name not in (*NEEDED, *OPTIONAL):
            raise WishError(name, f"There is no {clean(name, 40)!r}; there are {', '.join((*NEEDED, *OPTIONAL))}.")
        if name in values:
            raise WishError(name, f"{name} stands there twice.")
        values[name] = value
    return values


def wish(values: Mapping[str, str]) -> Wish:
    """The wish of these fields; a field that is absent or empty was not given. Raises WishError."""
    for name in NEEDED:
        if not values.get(name, "").strip():
            raise WishError(name, f"{name} is missing; all of {', '.join(NEEDED)} are needed.")
    return Wish(
        _verbs(values["verbs"]),
        int(_number("actions", values["actions"], _WHOLE, 1, MOST_ACTIONS)),
        _number("core_hours", values["core_hours"], _DECIMAL, 0, MOST_CORE_HOURS),
        int(_number("minutes", values["minutes"], _WHOLE, 1, MOST_MINUTES)),
        names("queues", values.get("queues", "")),
        names("clusters", values.get("clusters", "")),
    )


def names(field: str, text: str) -> frozenset[str] | None:
    """Names with commas or blanks between; None where there is none, or ``any``. Raises WishError."""
    found = text.replace(",", " ").split()
    for name in found:
        if not _NAME.fullmatch(name):
            raise WishError(field, f"{clean(name, 40)!r} is no name.")
    if "any" in found and len(found) > 1:
        raise WishError(field, "`any` stands alone.")
    return None if not found or found == ["any"] else frozenset(found)


def _verbs(text: str) -> frozenset[str]:
    verbs = text.replace(",", " ").split()
    for verb in verbs:
        if verb in INTENTS and verb not in VERBS:
            raise WishError("verbs", f"Autopilot never covers {verb}.")
        if verb not in VERBS:
            raise WishError("verbs", f"There is no verb {clean(verb, 40)!r}; there are {', '.join(VERBS)}.")
    return frozenset(verbs)


def _number(field: str, text: str, form: re.Pattern[str], least: float, most: float) -> float:
    text = text.strip()
    if not form.fullmatch(text):
        kind = "a whole number" if form is _WHOLE else "a number"
        raise WishError(field, f"{field} is {kind}, not {clean(text, 40)!r}.")
    value = float(text)
    if not least <= value <= most:
        raise WishError(field, f"{field} is between {least:g} and {most:g}, not {text}.")
    return value
