"""Plans for jobs that exist: one command a job, so that one that has ended drops out alone. Source: scontrol(1)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from adapters.base import Invalid
from adapters.intents import CancelJob, Change, Command, ModifyJob, Plan, Step, Target, TargetedIntent
from adapters.slurm import values
from adapters.slurm.facts import Person, Version
from adapters.slurm.ids import parse_id
from adapters.slurm.options import SlurmOptions
from adapters.slurm.rights import PENDING_FIELDS, RUNNING_FIELDS

_AFTER: Mapping[str, str] = {
    "hold": "held", "release": "released", "requeue": "pending", "suspend": "suspended", "resume": "running",
}  # fmt: skip
_UNDO: Mapping[str, str] = {"hold": "release", "suspend": "resume", "release": "hold", "resume": "suspend"}
_DEPENDENCY = re.compile(r"[A-Za-z0-9_:,?+*()]*", re.ASCII)


def simple_plan(
    intent: TargetedIntent, targets: Sequence[Target], options: SlurmOptions, version: Version, person: Person
) -> Plan:
    """Hold, release, requeue, suspend, resume: `scontrol VERB ID`."""
    steps, changes, warnings = [], [], []
    for ref, target in zip(intent.refs, targets, strict=True):
        asked = parse_id(ref.id)
        argv = options.argv("scontrol", intent.verb, asked.target)
        steps.append(Step(Command(argv), (target,), f"{intent.title} {target.label}"))
        changes.append(Change(target.ref, "state", target.state, _AFTER[intent.verb]))
        warnings += _warnings(intent.verb, target, person, version)
        if asked.widened:
            warnings.append(_widened(asked.base))
    undo = _UNDO.get(intent.verb)
    ids = " ".join(parse_id(ref.id).target for ref in intent.refs[:3])
    return Plan(
        intent, tuple(steps), tuple(changes), _unique(warnings), undo=f"scontrol {undo} {ids}" if undo else None
    )


def _unique(warnings: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(warnings))


def _widened(base: str) -> str:
    return f"Slurm shows only a part of array {base}: the whole array is meant, elements that run too."


def _warnings(verb: str, target: Target, person: Person, version: Version) -> list[str]:
    foreign = target.owner not in (None, person.name)
    found = []
    if target.finished and verb != "requeue":
        found.append(f"{target.label} has ended ({target.values.get('raw_status')}).")
    if verb == "hold" and target.state == "running":
        found.append(f"{target.label} runs and goes on: the hold counts only if it is requeued.")
    if verb == "hold" and foreign:
        found.append(f"{target.label} belongs to {target.owner}, who cannot release this hold.")
    if verb == "requeue" and target.state == "running":
        found.append(f"{target.label} runs: what it has done so far is lost unless it saves it.")
    if verb == "release" and target.values.get("reason") == "JobHeldAdmin" and not person.at_least("operator"):
        found.append(f"{target.label} was held by an administrator; Slurm lets only operators release it.")
    ours = target.values.get("account") in person.coordinates and version.coordinators_suspend
    if verb in ("suspend", "resume") and person.at_least("operator") is False and not (version.owners_suspend or ours):
        found.append(f"Slurm {version} lets only operators {verb} jobs.")
    return found


def cancel_plan(intent: CancelJob, targets: Sequence[Target], options: SlurmOptions) -> Plan:
    """`scancel -v`: with `-v` it says when there was nothing to cancel, which is no failure to it. A signal goes to the
    batch script too (`--full`), and by the job's own number: 22.05 finds no element by its index."""
    steps, changes, warnings = [], [], []
    for ref, target in zip(intent.refs, targets, strict=True):
        asked = parse_id(ref.id)
        if intent.signal is None:
            argv = options.argv("scancel", "-v", asked.target)
        else:
            number = str(target.values.get("job_id") or asked.target) if asked.index is not None else asked.target
            argv = options.argv("scancel", "-v", f"--signal={intent.signal}", "--full", number)
        what = "Cancel" if intent.signal is None else f"Send {intent.signal} to"
        steps.append(Step(Command(argv), (target,), f"{what} {target.label}"))
        if intent.signal is None:
            changes.append(Change(target.ref, "state", target.state, "cancelled"))
        if target.finished:
            warnings.append(f"{target.label} has ended ({target.values.get('raw_status')}).")
        if asked.widened or (asked.index is None and asked.range is None and "_[" in target.ref.id):
            warnings.append(_widened(asked.base))
    return Plan(intent, tuple(steps), tuple(changes), _unique(warnings))


def modify_plan(intent: ModifyJob, targets: Sequence[Target], options: SlurmOptions, person: Person) -> Plan:
    """`scontrol update jobid=ID key=value …`: Slurm applies all of them or, if one is wrong, none. The throttle of an
    array is a step of its own."""
    if "top" in intent.changes():
        return _top_plan(intent, targets, options)
    warnings: list[str] = []
    settings = {name: _setting(name, value, warnings) for name, value in intent.changes().items()}
    throttle = settings.pop("array_throttle", None)
    steps, changes = [], []
    for ref, target in zip(intent.refs, targets, strict=True):
        asked = parse_id(ref.id)
        # The throttle is the whole array's: 24.11 takes it by the array's own id alone.
        for id, some in ((asked.target, [*settings.values()]), (asked.base, [throttle] if throttle else [])):
            if some:
                argv = options.argv("scontrol", "update", f"jobid={id}", *some)
                steps.append(Step(Command(argv), (target,), f"Modify {target.label}"))
        for name, value in intent.changes().items():
            before = target.values.get(name)
            changes.append(Change(target.ref, name, "-" if before is None else str(before), str(value)))
        warnings += _modify_warnings(intent.changes(), target, person)
        if asked.widened:
            warnings.append(_widened(asked.base))
    return Plan(intent, tuple(steps), tuple(changes), _unique(warnings))


def _top_plan(intent: ModifyJob, targets: Sequence[Target], options: SlurmOptions) -> Plan:
    if set(intent.changes()) != {"top"}:
        raise Invalid("Moving a job to the top is a command of its own.", "Change the rest separately.")
    steps = tuple(
        Step(Command(options.argv("scontrol", "top", parse_id(ref.id).target)), (target,), f"Top {target.label}")
        for ref, target in zip(intent.refs, targets, strict=True)
    )
    changes = tuple(Change(target.ref, "priority", str(target.values.get("priority")), "top") for target in targets)
    return Plan(intent, steps, changes, ("Its owner's other jobs give up the priority this one gains.",))


def _setting(name: str, value: Any, warnings: list[str]) -> str:
    key = PENDING_FIELDS.get(name)
    if key is None:
        raise Invalid(f"Slurm cannot change {name} of a job.", f"It can change {', '.join(PENDING_FIELDS)}, top.")
    text = str(value)
    if name == "walltime_seconds":
        text = values.time_limit(int(value))
        if int(value) % 60:
            warnings.append("Slurm counts time limits in whole minutes: rounded up.")
    elif name == "memory_bytes":
        text = str(values.mib(int(value)))
        warnings.append(f"Slurm counts memory in MiB a node: {text} MiB on each node of the job.")
    elif name == "dependency" and not _DEPENDENCY.fullmatch(text):
        raise Invalid(f"{text!r} is no dependency of Slurm.", "Write afterok:31,afterany:32; empty removes it.")
    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in text):
        raise Invalid(f"{name} holds a control character.")
    return f"{key}={text}"


def _modify_warnings(changes: Mapping[str, Any], target: Target, person: Person) -> list[str]:
    """What Slurm will refuse, as far as it is known beforehand; it is asked all the same."""
    found = []
    operator = person.at_least("operator") is not False
    if target.finished:
        found.append(f"{target.label} has ended.")
    elif target.state != "pending":
        late = [name for name in changes if name not in RUNNING_FIELDS]
        if late:
            found.append(f"{target.label} runs: Slurm no longer changes {', '.join(late)}.")
        limit = target.values.get("walltime_seconds")
        if not operator and "walltime_seconds" in changes and limit and changes["walltime_seconds"] > limit:
            found.append(f"{target.label} runs: only an operator may raise its time limit.")
    if "deadline" in changes and not operator:
        found.append("Only an operator may set a deadline of a job that was submitted.")
    if "priority" in changes and not operator:
        found.append("Only an operator may set a priority; nice can be changed.")
    if "nice" in changes and not operator and int(changes["nice"]) < 0:
        found.append("Slurm takes a negative nice from a user as 0, without saying so.")
    return found
