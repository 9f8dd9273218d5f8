"""Asking each list once, for `doctor`: which form of it this LSF knows, and what an open console will cost."""

from __future__ import annotations

from adapters.base import AdapterError, Interest
from adapters.lsf.options import Options
from adapters.lsf.session import Session
from adapters.lsf.tables import HOSTS, JOBS, LOAD, QUEUES


def calls_a_minute(options: Options, interest: Interest | None = None) -> float:
    """Scheduler calls a minute of a console that looks at this, once it has started: own jobs by their own interval,
    all else by the other."""
    looked = interest or Interest()
    own, other = 60 / max(options.own_interval, options.floor), 60 / max(options.interval, options.floor)
    calls = 0.0
    if "job" in looked.kinds:
        calls += own + (other if looked.owner == "all" else 0)
    calls += other if "queue" in looked.kinds else 0
    calls += 2 * other if "node" in looked.kinds else 0  # bhosts and lsload
    return calls if options.calls_per_minute is None else min(calls, options.calls_per_minute)


async def probe(session: Session) -> tuple[str, ...]:
    """Ask for jobs, queues, hosts and load once, in the best form; returns what did not answer, in LSF's words."""
    failures = []
    for table in (JOBS, QUEUES, HOSTS, LOAD):
        try:
            await session.table(table)
        except AdapterError as error:
            failures.append(error.message)
    return tuple(failures)
