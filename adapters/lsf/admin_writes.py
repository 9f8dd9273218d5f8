"""Writes on hosts, queues and reservations -> plans: badmin, bconf, brsvadd, brsvdel."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Final

from adapters.base import Conflict, Invalid, Unsupported
from adapters.intents import (
    CloseQueue,
    CreateReservation,
    DeleteReservation,
    DrainNode,
    Intent,
    OpenQueue,
    SetNodeQuota,
    UndrainNode,
)
from adapters.plan import Change, Command, Plan, Step, Target
from adapters.text import clean

_NAME: Final = re.compile(r"^[A-Za-z0-9_][\w.#@:-]*$", re.ASCII)
SHORTEST_RESERVATION: Final = 600


def checked_name(target: Target) -> str:
    """A host, queue or reservation as an argument. Raises Invalid for what LSF could read as something else."""
    if not _NAME.match(target.ref.id) or target.ref.id in ("all", "others", "none"):
        raise Invalid(f"{clean(target.ref.id, 80)!r} is not the name of one {target.ref.kind}.")
    return target.ref.id


def _comment(text: str) -> str:
    """LSF keeps comments of up to 512 characters."""
    return text[:512]


def plan_drain(intent: DrainNode, targets: Sequence[Target]) -> Plan:
    """`badmin hclose`: nothing new starts on the host; what runs goes on."""
    steps, changes, notes = [], [], []
    for target in targets:
        name = checked_name(target)
        argv = ("badmin", "hclose", "-C", _comment(intent.reason), name)
        steps.append(Step(Command(argv), (target,), f"Close {name}"))
        changes.append(Change(target.ref, "status", target.state, "drain"))
        if target.state in ("drain", "down"):
            notes.append(f"{name} is {target.state} already; the comment is set anew.")
    undo = f"badmin hopen {' '.join(target.ref.id for target in targets)}"
    return Plan(intent, tuple(steps), tuple(changes), (*notes, "Jobs that run on a closed host go on."), undo=undo)


def plan_undrain(intent: UndrainNode, targets: Sequence[Target]) -> Plan:
    """`badmin hopen`; a host that is closed for another reason (full, locked, its window) stays so."""
    steps, changes, notes = [], [], []
    for target in targets:
        name = checked_name(target)
        steps.append(Step(Command(("badmin", "hopen", name)), (target,), f"Open {name}"))
        changes.append(Change(target.ref, "status", target.state, "open"))
        if target.state not in ("drain", "down"):
            notes.append(f"{name} is {target.state}: it is not closed by an administrator.")
    undo = f"badmin hclose {' '.join(target.ref.id for target in targets)}"
    return Plan(intent, tuple(steps), tuple(changes), tuple(notes), undo=undo)


def plan_quota(intent: SetNodeQuota, targets: Sequence[Target], refused: str | None) -> Plan:
    """`bconf update host=… "MXJ=…"`: live configuration, for persons only. Raises Unsupported otherwise."""
    if refused is not None:
        raise Unsupported(refused, "Ask the site's LSF administrator.")
    if intent.by_agent:
        raise Unsupported(
            "A host's job slot limit is live configuration of LSF (bconf): only a person may ask for that.",
            "Set it from the node's dialog or the command line.",
        )
    value = "-" if intent.slots is None else str(intent.slots)
    steps, changes, undo = [], [], []
    for target in targets:
        name, before = checked_name(target), target.values.get("slots_quota")
        argv = ("bconf", "update", f"host={name}", f"MXJ={value}", "-c", f"pilothouse:{intent.intent_id}")
        steps.append(Step(Command(argv), (target,), f"Set the job slot limit of {name}"))
        shown = "no limit" if before is None else str(before)
        changes.append(Change(target.ref, "slots_quota", shown, "no limit" if intent.slots is None else value))
        undo.append(f'bconf update host={name} "MXJ={"-" if before is None else before}"')
    notes = (
        "This edits LSF's live configuration; bconf keeps it over restarts, in LSF_LIVE_CONFDIR.",
        "Jobs that run are not ended, also where more run than the new limit allows.",
    )
    return Plan(intent, tuple(steps), tuple(changes), notes, undo="; ".join(undo))


def _queue_commands(intent: Intent, raw: str) -> list[tuple[str, str, str]]:
    """(subcommand, state before, state after) for what has to change."""
    taking, _, starting = raw.partition(":")
    if isinstance(intent, OpenQueue):
        wanted = [("qopen", taking, "Open")] if taking == "Closed" else []
        wanted += [("qact", starting, "Active")] if starting.startswith("Inact") else []
        return wanted or [("qopen", taking, "Open")]
    assert isinstance(intent, CloseQueue)
    wanted = [("qclose", taking, "Closed")] if intent.what in ("submissions", "both") else []
    return wanted + ([("qinact", starting, "Inact")] if intent.what in ("starts", "both") else [])


def plan_queue(intent: OpenQueue | CloseQueue, targets: Sequence[Target]) -> Plan:
    """`badmin qopen`, `qact`, `qclose`, `qinact`: whether a queue takes jobs, and whether it starts any."""
    steps: list[Step] = []
    changes: list[Change] = []
    notes: list[str] = []
    for target in targets:
        name, raw = checked_name(target), str(target.values.get("raw_status") or "")
        comment = ("-C", _comment(intent.reason)) if isinstance(intent, CloseQueue) and intent.reason else ()
        for place, (command, before, after) in enumerate(_queue_commands(intent, raw)):
            argv = ("badmin", command, *comment, name)
            steps.append(Step(Command(argv), (target,), f"{command} {name}", sequel=place > 0))
            changes.append(Change(target.ref, "status", clean(before, 32) or "unknown", after))
        if isinstance(intent, OpenQueue) and "Inact_Win" in raw:
            notes.append(f"{name} is outside its run window: it starts jobs only when that opens.")
        elif isinstance(intent, OpenQueue) and raw == "Open:Active":
            notes.append(f"{name} is open already.")
    if isinstance(intent, CloseQueue):
        notes.append("Jobs that run go on.")
    names = " ".join(target.ref.id for target in targets)
    back = f"badmin qopen {names}" if isinstance(intent, CloseQueue) else f"badmin qclose {names}"
    return Plan(intent, tuple(steps), tuple(changes), tuple(notes), undo=back)


def _reservation_time(moment: datetime, zone: tzinfo | None) -> str:
    """``year:month:day:hour:minute`` in local time."""
    local = moment.astimezone(zone)
    return f"{local.year}:{local.month}:{local.day}:{local.hour}:{local.minute}"


def plan_reservation(intent: CreateReservation, now: datetime, zone: tzinfo | None) -> Plan:
    """`brsvadd`: for users, or for the system (nobody) where none is named. Raises Invalid."""
    if not re.match(r"^[A-Za-z][\w-]{0,38}$", intent.name, re.ASCII):
        raise Invalid(
            f"{clean(intent.name, 60)!r} cannot name a reservation of LSF.",
            "A letter, then letters, digits, dashes or underscores; at most 39.",
        )
    if intent.extensions:
        raise Invalid(f"LSF has no {clean(next(iter(intent.extensions)), 60)!r} for a reservation.")
    if intent.duration_seconds is None or intent.duration_seconds < SHORTEST_RESERVATION:
        raise Invalid("A reservation of LSF needs a duration of at least 10 minutes.")
    if not intent.nodes:
        raise Invalid("A reservation of LSF needs the names of its hosts.")
    begin = intent.start_time or now + timedelta(seconds=60 + (60 - now.second) % 60)
    if begin < now:
        raise Invalid("The reservation would begin in the past.")
    end = begin + timedelta(seconds=intent.duration_seconds)
    argv = ["brsvadd", "-N", intent.name, "-m", " ".join(intent.nodes)]
    if intent.users:
        if intent.cores is None:
            raise Invalid("A reservation for users needs the number of job slots (cores).")
        argv += ["-n", str(intent.cores), "-u", " ".join(intent.users)]
    else:
        argv += ["-s"]
    argv += ["-b", _reservation_time(begin, zone), "-e", _reservation_time(end, zone)]
    hosts = clean(", ".join(intent.nodes), 200)
    change = Change(None, "reservation", "-", f"{intent.name} on {hosts}")
    notes = () if intent.users else ("No users are named: a system reservation, under which no job starts.",)
    step = Step(Command(tuple(argv)), (), f"Create reservation {intent.name}")
    return Plan(intent, (step,), (change,), notes, undo=f"brsvdel {intent.name}")


def plan_delete_reservation(intent: DeleteReservation, targets: Sequence[Target]) -> Plan:
    """`brsvdel`, one step a reservation."""
    if not targets:
        raise Conflict("There is no reservation to delete.")
    steps = tuple(
        Step(Command(("brsvdel", checked_name(target))), (target,), f"Delete reservation {target.ref.id}")
        for target in targets
    )
    changes = tuple(Change(target.ref, "reservation", target.state, "deleted") for target in targets)
    return Plan(intent, steps, changes, ("Jobs that wait for it will not start in it.",))
