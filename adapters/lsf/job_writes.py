"""Writes on existing jobs -> plans: bkill, bstop, bresume, brequeue, bchkpnt, bmod, bswitch, btop, bbot."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from adapters.base import Conflict, Invalid
from adapters.intents import CancelJob, Intent, ModifyJob, TargetedIntent
from adapters.lsf.facts import Facts
from adapters.lsf.jobs import split_id
from adapters.lsf.observe import ARRAY
from adapters.lsf.states import HELD
from adapters.lsf.submit import EXTENSION_OPTIONS, memory_option, time_option
from adapters.plan import Change, Command, Plan, Step, Target
from adapters.text import clean

_VERBS: Final[dict[str, tuple[str, str]]] = {
    "hold": ("bstop", "held"),
    "release": ("bresume", "pending"),
    "suspend": ("bstop", "suspended"),
    "resume": ("bresume", "running"),
    "checkpoint": ("bchkpnt", "checkpointed"),
}
_UNDO: Final = {"hold": "bresume", "release": "bstop", "suspend": "bresume", "resume": "bstop"}


def raw_of(target: Target) -> str:
    return str(target.values.get("raw_status") or "")


def pointless(verb: str, target: Target) -> str | None:
    """Why a verb has nothing to do on a job in this state; None where it has. One `bstop` holds what waits and
    suspends what runs, so what was not meant must not be sent."""
    raw, state = raw_of(target), target.state
    if target.finished and verb != "requeue":
        return f"is over ({state})"
    if state == ARRAY:
        return _mixed(verb, target)
    if verb in ("cancel", "requeue", "modify"):
        return "waits already" if verb == "requeue" and state == "pending" else None
    if verb == "hold" and (raw == HELD or state != "pending"):
        return "is held already" if raw == HELD else f"does not wait any more ({state}); suspend it instead"
    if verb == "release" and raw != HELD:
        return f"is not held ({state})"
    if verb in ("suspend", "checkpoint") and state != "running":
        return f"does not run ({state})"
    if verb == "resume" and state != "suspended":
        return f"is not suspended ({state})"
    return None


_WHOLE: Final = {
    "hold": {"PEND"},
    "suspend": {"RUN"},
    "checkpoint": {"RUN"},
    "release": {"PSUSP", "PEND", "RUN"},  # bresume leaves what waits or runs as it is
    "resume": {"USUSP", "SSUSP", "PEND", "RUN"},
}
"""States that the elements of an array may be in, for a command on the array to mean the verb for each of them."""


def _mixed(verb: str, target: Target) -> str | None:
    """Why a verb on a whole array would do something else to some of its elements; None where it would not."""
    states = {str(state) for state in target.values.get("states", ())}
    others = sorted(states - _WHOLE.get(verb, states))
    if not others:
        return None
    return f"is an array with elements in other states ({clean(', '.join(others), 80)}); name the elements"


def checked_id(target: Target) -> str:
    """The id as an argument. Raises Invalid for what is none, above all for 0, which means all of my jobs."""
    if split_id(target.ref.id) is None:
        raise Invalid(f"{clean(target.ref.id, 60)!r} is not the id of an LSF job.")
    return target.ref.id


def plan_jobs(intent: TargetedIntent, targets: Sequence[Target], facts: Facts) -> Plan:
    """One step a job, in the order of the targets; those on which the verb is pointless are left out and named.

    Raises Conflict where nothing is left, Invalid for what LSF cannot be asked.
    """
    steps: list[Step] = []
    changes: list[Change] = []
    notes: list[str] = []
    undo: list[str] = []
    for target in targets:
        id = checked_id(target)
        why = pointless(intent.verb, target)
        if why is not None:
            notes.append(f"Job {id} {why}.")
            continue
        if target.state == ARRAY:
            notes.append(f"{id} is an array: this acts on every element of it that is not over.")
        made = _BUILDERS.get(intent.verb, _control)(intent, target, facts)
        steps += made.steps
        changes += made.changes
        notes += [note for note in made.warnings if note not in notes]
        undo += [made.undo] if made.undo else []
    if not steps:
        raise Conflict(notes[0], "Look at the job again.")
    return Plan(intent, tuple(steps), tuple(changes), tuple(notes), undo="; ".join(undo[:5]) or None)


def _one(intent: Intent, target: Target, argv: Sequence[str], after: str, undo: str | None = None) -> Plan:
    """A plan of one step that changes the job's state."""
    before = "held" if raw_of(target) == HELD else target.state
    step = Step(Command(tuple(argv)), (target,), f"{intent.title} {target.ref.id}")
    return Plan(intent, (step,), (Change(target.ref, "status", before, after),), undo=undo)


def _control(intent: Intent, target: Target, facts: Facts) -> Plan:
    program, after = _VERBS[intent.verb]
    back = _UNDO.get(intent.verb)
    return _one(intent, target, (program, target.ref.id), after, f"{back} {target.ref.id}" if back else None)


def _cancel(intent: Intent, target: Target, facts: Facts) -> Plan:
    assert isinstance(intent, CancelJob)
    if intent.signal is not None:
        argv: tuple[str, ...] = ("bkill", "-s", intent.signal, target.ref.id)
        return _one(intent, target, argv, f"sent {intent.signal}")
    return _one(intent, target, ("bkill", target.ref.id), "cancelled")


def _requeue(intent: Intent, target: Target, facts: Facts) -> Plan:
    """A job that is over is requeued by its kind of end."""
    option = {"DONE": ["-d"], "EXIT": ["-e"]}.get(raw_of(target), [])
    return _one(intent, target, ("brequeue", *option, target.ref.id), "pending")


_POSITIONS: Final = {"top": "btop", "bottom": "bbot"}


def _modify(intent: Intent, target: Target, facts: Facts) -> Plan:
    """bswitch for the queue, bmod for what a job asks for, btop or bbot for its place; later steps need the earlier."""
    assert isinstance(intent, ModifyJob)
    id, notes = target.ref.id, list[str]()
    requests: list[tuple[tuple[str, ...], str]] = []
    changes: list[Change] = []

    def changed(field: str, value: Any) -> None:
        before = target.values.get(field)
        changes.append(Change(target.ref, field, "-" if before is None else clean(str(before), 200), str(value)))

    if intent.queue is not None:
        requests.append((("bswitch", intent.queue, id), f"Move job {id} to {clean(intent.queue, 80)}"))
        changed("queue", clean(intent.queue, 200))
    options = _mod_options(intent, facts, notes, changed)
    if options:
        requests.append((("bmod", *options, id), f"Modify job {id}"))
    if (position := intent.extensions.get("position")) is not None:
        program = _POSITIONS.get(str(position))
        if program is None:
            raise Invalid(f"{clean(str(position), 40)!r} is not a place in the queue.", "There are: top, bottom.")
        requests.append(((program, id), f"Move job {id} to the {position}"))
        changed("position", position)
    if options and target.state == "running":
        notes.append(f"Job {id} runs: LSF may refuse to change it, or only accept some of it.")
    steps = tuple(
        Step(Command(argv), (target,), summary, sequel=place > 0) for place, (argv, summary) in enumerate(requests)
    )
    return Plan(intent, steps, tuple(changes), tuple(notes), undo=_back(intent, target))


def _mod_options(intent: ModifyJob, facts: Facts, notes: list[str], changed: Callable[[str, Any], None]) -> list[str]:
    """The options of bmod. Raises Invalid for what LSF cannot change."""
    if intent.nodes is not None:
        raise Invalid(
            "LSF has no number of hosts to change.", "Change the resource requirement (requirements) instead."
        )
    if intent.name is not None and re.search(r"[\[\]]", intent.name):
        raise Invalid(f"The name {clean(intent.name, 80)!r} holds a bracket, which LSF reads as an array.")
    argv: list[str] = []
    memory = walltime = None
    if intent.memory_bytes is not None:
        memory, note = memory_option(facts, intent.memory_bytes)
        notes += [note] if note else []
    if intent.walltime_seconds is not None:
        walltime, note = time_option(intent.walltime_seconds)
        notes += [note] if note else []
    for field, option, value in (
        ("name", "-J", intent.name),
        ("cores", "-n", intent.cores),
        ("memory_bytes", "-M", memory),
        ("walltime_seconds", "-W", walltime),
        ("priority", "-sp", intent.priority),
        ("account", "-P", intent.account),
    ):
        if value is not None:
            argv += [option, str(value)]
            changed(field, clean(str(value), 200))
    for name, value in intent.extensions.items():
        if name == "position":
            continue
        if name not in EXTENSION_OPTIONS or str(value).startswith("-") or not str(value).isprintable():
            known = ", ".join(sorted([*EXTENSION_OPTIONS, "position"]))
            raise Invalid(f"LSF cannot change {clean(name, 60)!r} of a job to that.", f"There are: {known}.")
        argv += [EXTENSION_OPTIONS[name], str(value)]
        changed(name, clean(str(value), 200))
    return argv


def _back(intent: ModifyJob, target: Target) -> str | None:
    """How to take it back, as far as the values before are known."""
    if intent.queue is not None and target.values.get("queue"):
        return f"bswitch {clean(str(target.values['queue']), 80)} {target.ref.id}"
    return None


_BUILDERS: Final[dict[str, Callable[[Intent, Target, Facts], Plan]]] = {
    "cancel": _cancel,
    "requeue": _requeue,
    "modify": _modify,
}
