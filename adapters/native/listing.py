"""Lists of jobs: what the server is asked for, page by page, and what is left to sift here.

The server's filter is ``field:value`` or ``field:a|b``, several separated by commas. A value that could be mistaken
for that syntax is not sent but sifted here, and so is everything again that the server was asked for: an older server
may ignore what it does not know.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

from adapters.base import HistoryFilter, Invalid, JobFilter
from adapters.model import Job
from adapters.native import rows, wire
from adapters.native.answers import RawRow, rows_of
from adapters.native.transport import Transport

PAGE = 1000
"""Rows of one page: some 10 ms to parse."""
TURN = 250
"""Rows that are decoded before others get a turn: some 5 ms."""
_PLAIN = re.compile(r"[\w.@+\-\[\] ]+")

Query = list[tuple[str, Any]]


def plain(values: Iterable[str]) -> bool:
    """Whether values can stand in a filter without being mistaken for its syntax."""
    return all(_PLAIN.fullmatch(value) for value in values)


def job_query(wanted: JobFilter, owner: str | None) -> Query:
    """What of a filter the server can be asked. `owner` is the one whose jobs are wanted, "mine" resolved."""
    parts: list[tuple[str, list[str]]] = []
    if owner is not None:
        parts.append(("user", [owner]))
    if wanted.queue is not None:
        parts.append(("queue", [wanted.queue]))
    if wanted.name is not None:
        parts.append(("jobname", [wanted.name]))
    if wanted.node is not None:
        parts.append(("node", [wanted.node]))
    if wanted.intent_id is not None:
        parts.append(("idempotency_key", [wanted.intent_id]))
    if wanted.statuses:
        raw = [state for status in sorted(wanted.statuses) for state in wire.RAW_STATES.get(status, ())]
        if raw and "unknown" not in wanted.statuses:
            parts.append(("status", list(dict.fromkeys(raw))))
    text = ",".join(f"{name}:{'|'.join(values)}" for name, values in parts if plain(values))
    return [("filter", text)] if text else []


def matches(job: Job, wanted: JobFilter, owner: str | None) -> bool:
    """Whether a job is what was asked for, as far as its row tells."""
    if wanted.ids and job.id not in wanted.ids and (job.array is None or job.array.id not in wanted.ids):
        return False
    return (
        (owner is None or job.owner == owner)
        and (wanted.queue is None or job.queue == wanted.queue)
        and (wanted.name is None or job.name == wanted.name)
        and (wanted.node is None or wanted.node in job.node_names)
        and (not wanted.statuses or job.status in wanted.statuses)
    )


def history_query(wanted: HistoryFilter, owner: str | None) -> Query:
    """What of a history filter the server can be asked."""
    parts = [
        ("user", [owner] if owner else []),
        ("queue", [wanted.queue] if wanted.queue else []),
        ("jobid", wanted.ids),
    ]
    text = ",".join(f"{name}:{'|'.join(values)}" for name, values in parts if values and plain(values))
    return [("filter", text or None), ("since", _stamp(wanted.since)), ("until", _stamp(wanted.until))]


def _stamp(at: datetime | None) -> str | None:
    return at.astimezone(UTC).isoformat() if at is not None else None


def in_history(job: Job, wanted: HistoryFilter, owner: str | None) -> bool:
    """Whether a finished job is what was asked for."""
    return (
        (owner is None or job.owner == owner)
        and (wanted.queue is None or job.queue == wanted.queue)
        and (not wanted.ids or job.id in wanted.ids)
        and (wanted.since is None or job.end_time is None or job.end_time >= wanted.since)
        and (wanted.until is None or job.end_time is None or job.end_time <= wanted.until)
    )


class JobLister:
    """Reads lists of jobs from one server."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._cluster = transport.cluster

    async def jobs(self, wanted: JobFilter, owner: str | None) -> list[Job]:
        """All jobs that match, at most `wanted.limit`. Raises AdapterError."""
        found: dict[str, Job] = {}
        for query in self._queries(wanted, owner):
            async with aclosing(self._sifted(query, wanted, owner)) as pages:
                async for page in pages:
                    found |= {job.id: job for job in page}
                    if wanted.limit is not None and len(found) >= wanted.limit:
                        return list(found.values())[: wanted.limit]
        return list(found.values())

    def pages(self, owner: str | None) -> AsyncGenerator[list[Job], None]:
        """All jobs, or those of one owner, as they come. Raises AdapterError."""
        everything = JobFilter()
        return self._sifted(job_query(everything, owner), everything, owner)

    def _queries(self, wanted: JobFilter, owner: str | None) -> list[Query]:
        """One query, or two where ids are asked for: an array's id stands for its elements as well."""
        base = job_query(wanted, owner)
        if not wanted.ids:
            return [base]
        ids = [id for id in wanted.ids if id.isascii() and id.isdigit()]
        queries: list[Query] = []
        for start in range(0, len(ids), 200):
            several = "|".join(ids[start : start + 200])
            for field in ("jobid", "arrayid"):
                text = ",".join([f"{field}:{several}", *(value for _, value in base)])
                queries.append([("filter", text)])
        return queries

    async def _sifted(self, query: Query, wanted: JobFilter, owner: str | None) -> AsyncGenerator[list[Job], None]:
        try:
            async with aclosing(self._pages(query)) as pages:
                async for page in pages:
                    yield [job for job in await self._decode(page) if matches(job, wanted, owner)]
        except Invalid:
            if not query or wanted.intent_id is not None:
                raise
            # An older server may not know the filter; everything is read then, and sifted here.
            async with aclosing(self._sifted([], wanted, owner)) as jobs:
                async for some in jobs:
                    yield some

    async def _decode(self, page: list[RawRow]) -> list[Job]:
        jobs: list[Job] = []
        for start in range(0, len(page), TURN):
            await asyncio.sleep(0)
            jobs += [rows.job(raw, self._cluster) for raw in page[start : start + TURN]]
        return jobs

    async def _pages(self, query: Query) -> AsyncGenerator[list[RawRow], None]:
        """Pages by the id of the last row, so that a row that vanishes meanwhile hides no other."""
        what = "Listing jobs"
        after: int | None = None
        while True:
            asked: Query = [*query, ("limit", PAGE), ("after", after)]
            answer = await self._transport.get(wire.JOBS, asked, what=what)
            page = rows_of(answer.data, wire.JOB_FIELDS, what)
            ids = [number for number in (wire.whole(row.get("jobid")) for row in page) if number is not None]
            if after is not None and ids and min(ids) <= after:
                return  # it does not know `after` and has begun anew: what it has was on the pages before
            yield page
            if len(page) != PAGE or (answer.total is not None and answer.total <= PAGE) or not ids:
                return
            after = max(ids)

    async def history(self, query: Query, wanted: HistoryFilter, owner: str | None) -> list[Job]:
        """Finished jobs, newest first, at most `wanted.limit`."""
        what = "Reading the history"
        found: list[Job] = []
        offset = 0
        while wanted.limit is None or len(found) < wanted.limit:
            asked: Query = [*query, ("limit", PAGE), ("offset", offset or None)]
            answer = await self._transport.get(wire.HISTORY, asked, what=what)
            page = rows_of(answer.data, wire.JOB_FIELDS, what)
            found += [job for job in await self._decode(page) if in_history(job, wanted, owner)]
            offset += len(page)
            if len(page) != PAGE:
                break
        return found[: wanted.limit]
