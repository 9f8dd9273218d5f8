"""What this LSF can do for this person: from the commands that are there, the version, and lsf.conf."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from adapters.base import Capabilities
from adapters.lsf import details, jobs, nodes, queues
from adapters.lsf.facts import Facts
from adapters.lsf.probe import calls_a_minute
from adapters.lsf.session import Session
from adapters.lsf.tables import HOSTS, JOBS, LOAD, QUEUES

_PROGRAMS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "submit": ("bsub",),
        "cancel": ("bkill",),
        "hold": ("bstop",),
        "release": ("bresume",),
        "suspend": ("bstop",),
        "resume": ("bresume",),
        "requeue": ("brequeue",),
        "modify": ("bmod", "bswitch"),
        "checkpoint": ("bchkpnt",),
        "drain": ("badmin",),
        "undrain": ("badmin",),
        "open_queue": ("badmin",),
        "close_queue": ("badmin",),
        "create_reservation": ("brsvadd",),
        "delete_reservation": ("brsvdel", "brsvs"),
    }
)
_NEVER: Final[Mapping[str, str]] = MappingProxyType(
    {
        "reissue_token": "LSF's hosts have no tokens.",
        "set_queue_quota": "LSF keeps the limits of a queue in lsb.queues; configuration is not changed here.",
        "create_key": "LSF has no API keys; it knows people by their Unix account.",
        "revoke_key": "LSF has no API keys; it knows people by their Unix account.",
    }
)

_ABSENT_NODE: Final = frozenset({"cores_used", "heartbeat_time"})
_ABSENT_QUEUE: Final = frozenset({"node_count"})
_FIELDS: Final[Mapping[str, str]] = MappingProxyType(
    {"gpu_num": "gpus", "memlimit": "memory_bytes", "runtimelimit": "walltime_seconds", "dependency": "dependencies"}
)


def quota_refused(session: Session, facts: Facts) -> str | None:
    """Why the job slot limit of a host cannot be changed here; None where it can."""
    if session.options.job_slot_limits is False:
        return "The site does not allow changing the job slot limit of a host (MXJ) from here."
    if not session.has("bconf"):
        return "Changing the job slot limit of a host (MXJ) needs the command bconf, which this LSF does not have."
    conf = facts.conf
    if session.options.job_slot_limits is None and conf is not None and not conf.get("LSF_LIVE_CONFDIR"):
        return "Changing the job slot limit of a host needs live reconfiguration (LSF_LIVE_CONFDIR), which is off here."
    return None


def refused(session: Session, facts: Facts, verb: str) -> str | None:
    """Why this verb cannot be done here; None where it can."""
    if verb in _NEVER:
        return _NEVER[verb]
    if verb == "set_node_quota":
        return quota_refused(session, facts)
    missing = [program for program in _PROGRAMS[verb] if not session.has(program)]
    if missing:
        return f"The command {missing[0]} is not on the PATH: this LSF does not have it, or its profile is not loaded."
    return None


def _absent(session: Session) -> dict[str, frozenset[str]]:
    job, node = set[str](), set(_ABSENT_NODE)
    dialect = session.dialects[JOBS]
    asked = set(dialect.columns()) if dialect.tier == "B" else set(dialect.fields)
    if dialect.settled and dialect.tier == "C":
        asked = set()
        job |= {"exit_code"}
    job |= {field for name, field in _FIELDS.items() if name not in asked and name != "dependency"}
    hosts = session.dialects[HOSTS]
    if hosts.settled and (hosts.tier == "C" or "ngpus" not in hosts.fields):
        node |= {"gpu_count", "gpus_used"}
    return {"job": frozenset(job), "node": frozenset(node), "queue": _ABSENT_QUEUE}


def dialect_notes(session: Session) -> list[str]:
    """A sentence a command: in which tier it is asked, and why not in a better one."""
    meaning = {"A": "-o with -json", "B": "-o with a delimiter", "C": "legacy table"}
    notes = []
    for table in (JOBS, QUEUES, HOSTS, LOAD):
        dialect = session.dialects[table]
        text = f"{table.command}: tier {dialect.tier} ({meaning[dialect.tier]})"
        if not dialect.settled:
            text += ", nothing shown yet that would prove it"
        elif dialect.why:
            text += f", because: {dialect.why}"
        else:
            text += ", because it knows this best form"
        if dialect.dropped:
            text += f"; without {', '.join(sorted(set(dialect.dropped)))}, which it does not know"
        notes.append(text)
    return notes


async def capabilities(session: Session, facts: Facts) -> Capabilities:
    """Ask `lsid` once and look at what has been learnt since. Raises what `lsid` stands for."""
    found = await facts.identification()
    verbs = {verb: refused(session, facts, verb) for verb in (*_PROGRAMS, *_NEVER, "set_node_quota")}
    supported = frozenset(verb for verb, reason in verbs.items() if reason is None)
    parts = {"follow", "detail"}
    parts |= {"modify"} & supported
    parts |= {"quota"} if "set_node_quota" in supported else set()
    parts |= {"history"} if session.has("bacct") or session.has("bhist") else set()
    parts |= {"checkpoint"} & supported
    version = ".".join(str(part) for part in found.version)
    return Capabilities(
        backend=f"{found.product} {version}".strip() or "LSF",
        supported=supported,
        unsupported={verb: reason for verb, reason in verbs.items() if reason is not None},
        absent=_absent(session),
        parts=frozenset(parts),
        push=False,
        extensions={**jobs.EXTENSIONS, **details.EXTENSIONS, **nodes.EXTENSIONS, **queues.EXTENSIONS},
        persons_only=frozenset({"set_node_quota"}) & supported,
        notes=(
            found.line,
            *dialect_notes(session),
            f"An open console makes about {calls_a_minute(session.options):g} scheduler calls a minute.",
            "Counts of queues and hosts are job slots, as LSF counts them.",
            "A limit's unit follows LSF_UNIT_FOR_LIMITS where LSF gives none; such numbers are left out.",
            *(f"Printed around the answers: {line}" for line in dict.fromkeys(session.banner)),
        ),
    )
