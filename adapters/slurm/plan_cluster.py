"""Plans for nodes, partitions and reservations. Source: scontrol(1)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from adapters.base import Invalid
from adapters.intents import (
    Change,
    CloseQueue,
    Command,
    CreateReservation,
    DeleteReservation,
    DrainNode,
    OpenQueue,
    Plan,
    Step,
    Target,
    UndrainNode,
)
from adapters.slurm.options import SlurmOptions

_CLOSED = {"submissions": "drain", "starts": "down", "both": "inactive"}
_MEANING = {
    "drain": "takes no new jobs; those it has may start",
    "down": "takes jobs but starts none",
    "inactive": "neither takes nor starts jobs",
    "up": "takes and starts jobs",
}
RESERVATION_KEYS = frozenset({"flags", "accounts", "partitionname", "features", "licenses", "groups", "nodecnt"})


def drain_plan(intent: DrainNode, targets: Sequence[Target], options: SlurmOptions) -> Plan:
    steps, changes, warnings = [], [], []
    for target in targets:
        command = Command(
            options.argv("scontrol", "update", f"nodename={target.ref.id}", "state=drain", f"reason={intent.reason}")
        )
        steps.append(Step(command, (target,), f"Drain {target.ref.id}"))
        changes.append(Change(target.ref, "state", str(target.values.get("state")), "drain"))
        if target.values.get("slots_used"):
            warnings.append(
                f"{target.ref.id} runs jobs on {target.values['slots_used']} cores: they go on to their end."
            )
        if target.state == "drain" and target.values.get("reason"):
            warnings.append(f"{target.ref.id} drains already ({target.values['reason']}): the reason is replaced.")
    return Plan(intent, tuple(steps), tuple(changes), tuple(warnings), undo="undrain")


def undrain_plan(intent: UndrainNode, targets: Sequence[Target], options: SlurmOptions) -> Plan:
    """`state=undrain` only takes the drain away; a node that is down needs `state=resume`, which Slurm refuses for one
    that is neither."""
    steps, changes = [], []
    for target in targets:
        words = [word.rstrip("*") for word in str(target.values.get("state")).split("+")]
        state = "resume" if "down" in words else "undrain"
        command = Command(options.argv("scontrol", "update", f"nodename={target.ref.id}", f"state={state}"))
        steps.append(Step(command, (target,), f"Undrain {target.ref.id}"))
        changes.append(Change(target.ref, "state", str(target.values.get("state")), state))
    return Plan(intent, tuple(steps), tuple(changes), undo="drain")


def queue_plan(intent: OpenQueue | CloseQueue, targets: Sequence[Target], options: SlurmOptions) -> Plan:
    state = "up" if isinstance(intent, OpenQueue) else _CLOSED[intent.what]
    steps, changes = [], []
    for target in targets:
        command = Command(options.argv("scontrol", "update", f"partitionname={target.ref.id}", f"state={state}"))
        steps.append(Step(command, (target,), f"Partition {target.ref.id} {_MEANING[state]}"))
        changes.append(Change(target.ref, "state", str(target.values.get("state")), state))
    warnings = ["It holds until slurmctld reads its configuration again."]
    if isinstance(intent, CloseQueue) and intent.reason:
        warnings.append("Slurm keeps no reason for a partition: it stands in the audit log alone.")
    return Plan(
        intent,
        tuple(steps),
        tuple(changes),
        tuple(warnings),
        undo="open the partition" if state != "up" else "close the partition",
    )


def create_reservation_plan(intent: CreateReservation, options: SlurmOptions) -> Plan:
    """Raises Invalid where nothing says what is reserved or for whom."""
    if not intent.nodes and intent.cores is None and "nodecnt" not in intent.extensions:
        raise Invalid("A reservation needs nodes or cores.", "Name nodes, or ask for a number of cores.")
    if not intent.users and not {"accounts", "groups"} & set(intent.extensions):
        raise Invalid("A reservation needs users or accounts that may use it.")
    settings = [f"reservationname={intent.name}", f"starttime={_time(intent.start_time)}"]
    settings.append(f"duration={_duration(intent.duration_seconds)}")
    for key, names in (("nodes", intent.nodes), ("users", intent.users)):
        if any("," in name for name in names):
            raise Invalid(f"A name in {key} holds a comma.")
        if names:
            settings.append(f"{key}={','.join(names)}")
    if intent.cores is not None:
        settings.append(f"corecnt={intent.cores}")
    for key, value in intent.extensions.items():
        if key not in RESERVATION_KEYS:
            raise Invalid(f"A reservation has no {key!r}.", f"There are {', '.join(sorted(RESERVATION_KEYS))}.")
        settings.append(f"{key}={value}")
    command = Command(options.argv("scontrol", "create", "reservation", *settings))
    warnings = () if intent.duration_seconds else ("Slurm ends a reservation without a duration after 365 days.",)
    step = Step(command, (), f"Create reservation {intent.name}")
    return Plan(intent, (step,), (), warnings, undo=f"scontrol delete reservationname={intent.name}")


def _time(start: datetime | None) -> str:
    """A start in UTC seconds: `uts` is read the same whatever the zone of this host or the controller is."""
    return "now" if start is None else f"uts{int(start.astimezone(UTC).timestamp())}"


def _duration(seconds: int | None) -> str:
    """Minutes, rounded up."""
    return "infinite" if seconds is None else str(-(-seconds // 60))


def delete_reservation_plan(intent: DeleteReservation, targets: Sequence[Target], options: SlurmOptions) -> Plan:
    steps = tuple(delete_step(target, options) for target in targets)
    changes = tuple(Change(target.ref, "state", target.state, "deleted") for target in targets)
    return Plan(intent, steps, changes, ("Jobs that wait for it are held (RESV_DEL_HOLD) or fail to start.",))


def delete_step(target: Target, options: SlurmOptions) -> Step:
    command = Command(options.argv("scontrol", "delete", f"reservationname={target.ref.id}"))
    return Step(command, (target,), f"Delete reservation {target.ref.id}")
