"""What Slurm can do, for this person: capabilities, and what may be changed on a job. Sources: scontrol(1), the
recorded refusals of three versions; the controller always has the last word."""

from __future__ import annotations

from collections.abc import Mapping

from adapters.base import Capabilities
from adapters.intents import INTENTS
from adapters.model import Job
from adapters.slurm.facts import Person, Version
from adapters.slurm.jobs import EXTENSIONS
from adapters.slurm.nodes import NODE_EXTENSIONS, QUEUE_EXTENSIONS

ALWAYS = frozenset({"submit", "cancel", "hold", "release", "requeue", "modify", "suspend", "resume"})
ADMINISTRATORS = frozenset({"drain", "undrain", "open_queue", "close_queue"})
OPERATORS = frozenset({"set_node_quota", "create_reservation", "delete_reservation"})
NEVER: Mapping[str, str] = {
    "checkpoint": "Slurm has no checkpoint command any more (removed in 20.02).",
    "reissue_token": "Slurm's nodes have no tokens.",
    "set_queue_quota": "Limits of partitions and QOS are Slurm's configuration, which the console does not change.",
    "create_key": "Slurm knows people by their accounts and has no API keys.",
    "revoke_key": "Slurm knows people by their accounts and has no API keys.",
}
ABSENT: Mapping[str, frozenset[str]] = {
    "job": frozenset({"logs_url"}),
    "node": frozenset({"heartbeat_time"}),
}
PARTS = frozenset({"modify", "quota", "history", "follow", "logs", "dry_run", "arrays", "dependencies", "reservations"})

PENDING_FIELDS: Mapping[str, str] = {
    "name": "jobname", "queue": "partition", "account": "account", "cores": "numcpus", "nodes": "numnodes",
    "memory_bytes": "minmemorynode", "walltime_seconds": "timelimit", "priority": "priority", "qos": "qos",
    "nice": "nice", "comment": "comment", "dependency": "dependency", "features": "features", "gres": "gres",
    "begin": "starttime", "deadline": "deadline", "reservation": "reservationname",
    "array_throttle": "arraytaskthrottle",
}  # fmt: skip
"""What `scontrol update` can change on a pending job: our word -> Slurm's."""
RUNNING_FIELDS = frozenset({"walltime_seconds", "name", "comment", "array_throttle"})
"""Of these, what it still changes while the job runs."""


def capabilities(version: Version, person: Person, settings: Mapping[str, str]) -> Capabilities:
    """What this release does for this person. A level that nobody knows hides nothing: Slurm will say."""
    unsupported = dict(NEVER)
    supported = set(ALWAYS)
    if not person.may_suspend(version):
        supported -= {"suspend", "resume"}
        for verb in ("suspend", "resume"):
            unsupported[verb] = f"Slurm {version} lets only operators suspend and resume jobs."
    _offer(supported, unsupported, ADMINISTRATORS, person, "administrator")
    _offer(supported, unsupported, OPERATORS, person, "operator")
    if person.at_least("operator") and not person.at_least("administrator"):
        unsupported["drain"] += " As an operator you may set the node's quota to 0 instead."
    assert supported | set(unsupported) == set(INTENTS), "every intent is either supported or has its reason"
    return Capabilities(
        backend=f"slurm {version}",
        supported=frozenset(supported),
        unsupported=unsupported,
        absent=ABSENT,
        parts=PARTS | ({"job_state_tick"} if version.has_job_state_only else frozenset()),
        push=False,
        extensions={**EXTENSIONS, **NODE_EXTENSIONS, **QUEUE_EXTENSIONS},
        notes=_notes(version, person, settings),
    )


def _offer(supported: set[str], unsupported: dict[str, str], verbs: frozenset[str], person: Person, level: str) -> None:
    may = person.at_least("administrator" if level == "administrator" else "operator")
    if may is not False:
        supported |= verbs
        return
    what = {"drain": "drain nodes", "undrain": "undrain nodes", "open_queue": "open partitions",
            "close_queue": "close partitions", "set_node_quota": "limit nodes (by reservations)",
            "create_reservation": "create reservations", "delete_reservation": "delete reservations"}  # fmt: skip
    for verb in verbs:
        unsupported[verb] = f"Slurm lets only {level}s {what[verb]}; {person.name} is {_article(person.level)}."


def _article(level: str | None) -> str:
    return {"operator": "an operator", "administrator": "an administrator"}.get(level or "", "an ordinary user")


def _notes(version: Version, person: Person, settings: Mapping[str, str]) -> tuple[str, ...]:
    notes = []
    if person.level is None:
        notes.append("slurmdbd does not answer: it is not known whether you are an operator.")
    if person.coordinates:
        notes.append(
            f"You coordinate {', '.join(person.coordinates)}: you may change and end the jobs of these accounts."
        )
    private = settings.get("PrivateData", "none")
    if private not in ("none", "(null)", ""):
        notes.append(f"PrivateData is {private}: Slurm does not show everybody's {private.replace(',', ', ')}.")
    if settings.get("AccountingStorageType", "").endswith("/none"):
        notes.append("This cluster keeps no accounting: finished jobs are known only for MinJobAge.")
    if age := settings.get("MinJobAge"):
        notes.append(f"The controller forgets a finished job after {age}; then the history has it.")
    return tuple(notes)


def modify_offers(job: Job, person: Person) -> Mapping[str, str | None]:
    """Field -> None where it can be offered for this job, else the reason why not, in a sentence."""
    operator = person.at_least("operator") is not False
    offers: dict[str, str | None] = dict.fromkeys(PENDING_FIELDS)
    if job.finished:
        return dict.fromkeys(offers, "The job has ended.")
    if job.status != "pending":
        for name in offers:
            if name not in RUNNING_FIELDS:
                offers[name] = "Only a pending job can still be changed in this."
    if not operator and offers["priority"] is None:
        offers["priority"] = "Slurm lets only operators set a priority; change nice instead."
    if not operator and offers["deadline"] is None:
        offers["deadline"] = "Slurm lets only operators set a deadline of a job that was submitted."
    if job.array is None:
        offers["array_throttle"] = "The job is no array."
    ours = job.owner in (None, person.name) or job.extensions.get("account") in person.coordinates
    if not operator and not ours:
        return dict.fromkeys(offers, f"The job belongs to {job.owner}.")
    return offers
