"""Just before sending: are the targets still what the person saw?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from adapters.base import Reader
from adapters.intents import Plan, Target
from adapters.model import Ref
from adapters.text import clean
from console.gate.expect import changed_fields

# States that differ only in how busy an object is are one class: a node that took a job is still the same node.
_CLASS = {"idle": "up", "busy": "up"}


@dataclass(frozen=True, slots=True)
class Recheck:
    """`gone` have finished or vanished and drop out; `changed` says of each other difference what it is."""

    gone: frozenset[Ref]
    notes: tuple[str, ...]
    changed: tuple[str, ...]


async def recheck(reader: Reader, plan: Plan) -> Recheck:
    """Read the plan's targets again and compare owner, born, state class and the values about to change.

    Raises what reading raises.
    """
    if not plan.targets:
        return Recheck(frozenset(), (), ())
    return compare(plan, await reader.observe([target.ref for target in plan.targets]))


def compare(plan: Plan, now: Mapping[Ref, Target | None]) -> Recheck:
    """What became of each target. `now` holds them as they were just read; None, or absent, is gone."""
    together = {target.ref for step in plan.steps if len(step.targets) > 1 for target in step.targets}
    fields = changed_fields(plan.intent)
    gone: list[Target] = []
    changed: list[str] = []
    for was in plan.targets:
        found = now.get(was.ref)
        if found is not None and _another(was, found) and was.ref in together:
            # Its request stays for the others' sake and would hit the new one.
            changed.append(f"{clean(f'{was.ref.kind} {was.ref.id}', 80)} is another one by now.")
        elif found is None or _another(was, found) or (found.finished and not was.finished):
            gone.append(was)
        elif told := _difference(was, found, fields):
            changed.append(told)
    return Recheck(frozenset(target.ref for target in gone), _told(gone, now), tuple(changed))


def _another(was: Target, found: Target) -> bool:
    """The id was given to something else: what the person saw is over."""
    return None not in (was.ref.born, found.ref.born) and was.ref.born != found.ref.born


def _difference(was: Target, found: Target, fields: frozenset[str]) -> str:
    name = clean(f"{was.ref.kind} {was.ref.id}", 80)
    if was.owner != found.owner:
        return f"{name} now belongs to {clean(found.owner or 'nobody', 64)}."
    if _CLASS.get(was.state, was.state) != _CLASS.get(found.state, found.state):
        return f"{name} was {clean(was.state, 32)} and is {clean(found.state, 32)} now."
    for field, value in was.values.items():
        if field in fields and field in found.values and found.values[field] != value:
            told = (
                f"{name}: {clean(field, 32).replace('_', ' ')} was {_shown(value)} and is {_shown(found.values[field])}"
            )
            return f"{told} now."
    return ""


def _shown(value: object) -> str:
    return "not set" if value is None else clean(str(value), 64)


def _told(gone: list[Target], now: Mapping[Ref, Target | None]) -> tuple[str, ...]:
    """One sentence for what drops out; the first few are named."""
    if not gone:
        return ()
    names = ", ".join(clean(target.ref.id, 40) for target in gone[:5])
    more = f" and {len(gone) - 5} more" if len(gone) > 5 else ""
    over = [target for target in gone if (found := now.get(target.ref)) is not None and found.finished]
    what = "finished" if len(over) == len(gone) else "finished or gone" if over else "gone"
    kind = gone[0].ref.kind if len(gone) == 1 else f"{len(gone)} {gone[0].ref.kind}s"
    verb = "is" if len(gone) == 1 else "are"
    return (f"{kind} {names}{more} {verb} {what} by now and left out.",)
