"""What `doctor` shows of an LSF: version, tier of each command and why, pace, noise around the answers."""

from __future__ import annotations

from dataclasses import dataclass

from adapters.base import AdapterError, Interest
from adapters.lsf.capabilities import dialect_notes, quota_refused
from adapters.lsf.reader import LsfReader
from adapters.lsf.tables import HOSTS, JOBS, LOAD, QUEUES


@dataclass(frozen=True, slots=True)
class Report:
    """Sentences for a person, and the figures in them.

    Args:
        backend: the first line of `lsid`.
        tiers: command -> A, B or C.
        lines: everything, in order; failures are among them.
        calls_per_minute: scheduler calls that an open console makes, once started.
        failures: what did not answer, in LSF's words.
    """

    backend: str
    tiers: dict[str, str]
    lines: tuple[str, ...]
    calls_per_minute: float
    failures: tuple[str, ...] = ()


def expected_calls_a_minute(reader: LsfReader, interest: Interest | None = None) -> float:
    """Calls a minute of a console that looks at this: own jobs by their interval, all else by the other."""
    options, looked = reader.session.options, interest or Interest()
    own, other = 60 / max(options.own_interval, options.floor), 60 / max(options.interval, options.floor)
    calls = 0.0
    if "job" in looked.kinds:
        calls += own + (other if looked.owner == "all" else 0)
    calls += other if "queue" in looked.kinds else 0
    calls += 2 * other if "node" in looked.kinds else 0
    return calls if options.calls_per_minute is None else min(calls, options.calls_per_minute)


async def report(reader: LsfReader) -> Report:
    """Ask each command once, in the best form, and tell how it went. Raises nothing that LSF said."""
    session, failures = reader.session, list[str]()
    backend = "LSF"
    try:
        backend = (await reader.facts.identification()).line
    except AdapterError as error:
        failures.append(error.message)
    for table in (JOBS, QUEUES, HOSTS, LOAD):
        try:
            await session.table(table)
        except AdapterError as error:
            failures.append(f"{table.command}: {error.message}")
    calls = expected_calls_a_minute(reader)
    quota = quota_refused(session, reader.facts)
    lines = [
        backend,
        *dialect_notes(session),
        f"An open console makes about {calls:g} scheduler calls a minute.",
        f"Node quotas: {quota or 'the job slot limit (MXJ), by bconf.'}",
        *(f"Did not answer: {failure}" for failure in failures),
        *(f"Printed around the answers: {line}" for line in session.banner),
    ]
    tiers = {table.command: session.dialects[table].tier for table in (JOBS, QUEUES, HOSTS, LOAD)}
    return Report(backend, dict(tiers), tuple(lines), calls, tuple(failures))
