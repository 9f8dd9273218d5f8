"""Jobs that are over, from LSF's accounting and event files: `bacct -l` and `bhist -l`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, tzinfo

from adapters.base import AdapterError, HistoryFilter, NotFound, Unreachable, Unsupported
from adapters.lsf.decode import text_of
from adapters.lsf.details import from_archive
from adapters.lsf.failures import read_failed, says_nothing_found
from adapters.lsf.longform import read_details
from adapters.lsf.session import Session
from adapters.lsf.times import Clock
from adapters.model import Job
from adapters.text import clean


async def _jobs(session: Session, argv: Sequence[str]) -> list[Job]:
    """The jobs of a long form; none where LSF says that there are none (on either stream, with any exit code)."""
    done = await session.run(argv)
    if says_nothing_found(done.stdout, done.stderr) and b"\nJob <" not in b"\n" + done.stdout:
        return []
    if not done.stdout.strip():
        if done.rc == 0:
            return []
        raise read_failed(argv[0], done.rc, done.stdout, done.stderr)
    clock = Clock(session.now(), session.options.zone)
    details = await asyncio.to_thread(read_details, text_of(done.stdout))
    return [from_archive(session.cluster, detail, clock) for detail in details]


async def forgotten(session: Session, id: str) -> Job:
    """A job that mbatchd does not know (any more). Raises NotFound where the files do not know it either."""
    for argv in (("bacct", "-l", id), ("bhist", "-l", id)):
        if not session.has(argv[0]):
            continue
        try:
            jobs = await _jobs(session, argv)
        except Unreachable:
            continue
        except AdapterError:
            # bacct may not read the accounting file of this site; bhist reads another one.
            continue
        if found := next((job for job in jobs if job.id == id), None):
            return found
    raise NotFound(f"Job <{clean(id, 40)}> is not found.", "LSF forgets finished jobs after a while.")


def _when(moment: datetime, zone: tzinfo | None) -> str:
    """``year/month/day/hour:minute`` in local time."""
    return moment.astimezone(zone).strftime("%Y/%m/%d/%H:%M")


async def finished(session: Session, wanted: HistoryFilter) -> Sequence[Job]:
    """Finished jobs, newest first. Raises Unsupported where LSF has no bacct."""
    if not session.has("bacct"):
        raise Unsupported("This LSF has no bacct, so it tells no history.", "`bhist` may still know a single job.")
    argv = ["bacct", "-l"]
    if wanted.mine or wanted.owner:
        argv += ["-u", wanted.owner or session.user]
    else:
        argv += ["-u", "all"]
    if wanted.queue:
        argv += ["-q", wanted.queue]
    if wanted.since or wanted.until:
        begin = _when(wanted.since, session.options.zone) if wanted.since else ""
        argv += ["-C", f"{begin},{_when(wanted.until or session.now(), session.options.zone)}"]
    jobs = await _jobs(session, [*argv, *wanted.ids])
    jobs.sort(key=lambda job: job.end_time or job.submission_time or datetime.min.replace(tzinfo=session.now().tzinfo))
    jobs.reverse()
    return jobs if wanted.limit is None else jobs[: wanted.limit]
