"""One session with one LSF: runs its commands, knows in which form each is asked, and when to hold back.

One query is in flight at a time. What LSF prints around its answers is kept as a banner. When LSF says "not now" or
does not answer, polls pause for 60, 120, then 300 seconds; a person's own question is still asked.
"""

from __future__ import annotations

import asyncio
import os
import pwd
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from adapters.base import Unavailable
from adapters.command import Finished, find_program, run_read, run_write
from adapters.lsf.collector import no_collections
from adapters.lsf.decode import BANNER_LINES, Rows, Sink, Undecodable, read_delimited, read_json, read_table, text_of
from adapters.lsf.failures import BUSY, SILENT, first_line, read_failed, refusal, refused_field, says_nothing_found
from adapters.lsf.legacy_jobs import read_jobs
from adapters.lsf.options import Options, Pause, environment_for_lsf
from adapters.lsf.tables import (
    DESCRIPTIONS,
    HOSTS,
    JOB_DETAIL,
    JOBS,
    LIM_HOSTS,
    LOAD,
    QUEUES,
    RESERVATIONS,
    Dialect,
    Table,
    Tier,
)
from adapters.model import Job, Kind
from adapters.plan import Command
from adapters.polling import CallMeter, Sleep
from adapters.text import clean

_NO_FORMATS = re.compile(r"option -- '?-?o\b", re.IGNORECASE)
_ABOUT_FIELDS = re.compile(r"field|format string", re.IGNORECASE)
BIG_ANSWER = 2 * 1024 * 1024
"""Bytes from which on an answer is read without the garbage collector looking in between."""
LIM_COMMANDS = frozenset({"lsid", "lsload", "lshosts", "lsinfo"})
"""Answered by LIM, also while mbatchd is down."""


class Session:
    """Runs LSF commands for one cluster of ours."""

    def __init__(
        self,
        cluster: str,
        options: Options | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.cluster = cluster
        self.options = options or Options()
        self.user = self.options.user or pwd.getpwuid(os.getuid()).pw_name
        self.now = now
        self.clock = clock
        self.sleep = sleep
        self.meter = CallMeter(self.options.calls_per_minute, clock)
        self.pause = Pause(self.options.back_off, clock)
        self.banner: deque[str] = deque(maxlen=BANNER_LINES)
        self.environment = environment_for_lsf(self.options.environment)
        tables = (JOBS, JOB_DETAIL, DESCRIPTIONS, QUEUES, HOSTS, LOAD, LIM_HOSTS, RESERVATIONS)
        self.dialects = {table: Dialect(table) for table in tables}
        self.prepaid = 0
        self.remarks: list[str] = []  # what a pane should say of the answers since it last asked
        self.written: list[tuple[float, Kind, str]] = []
        self.read: list[Job] = []
        self.wrote = asyncio.Event()
        self._one = asyncio.Lock()

    def has(self, program: str) -> bool:
        """True if the command is on the PATH."""
        return find_program(program, self.environment) is not None

    async def run(self, argv: Sequence[str]) -> Finished:
        """Run one query, after those before it. Raises Unreachable, Unavailable, ProtocolError."""
        async with self._one:
            # A poll's calls are in the meter before it begins; see `polled`.
            if self.prepaid:
                self.prepaid -= 1
            else:
                self.meter.record()
            silent = argv[0] in LIM_COMMANDS
            try:
                done = await run_read(argv, self.environment, timeout=self.options.read_timeout)
            except Unavailable as error:
                if silent:
                    raise
                raise self._held(error.message) from error
        if not silent:
            self._judge(done)
        return done

    def _judge(self, done: Finished) -> None:
        """Hold back where LSF asked for it, with or without an answer; go on where it did not."""
        said = text_of(done.stderr) + "\n" + text_of(done.stdout[:2048])
        match = BUSY.search(said) or SILENT.search(said)
        if match is None:
            self.pause.clear()
            return
        line = next(line for line in said.splitlines() if match[0] in line)
        if done.rc != 0 and _blank(done.stdout):
            raise self._held(f"{done.argv[0]}: {clean(line.strip(), 200)}")
        self.pause.hold(clean(line.strip(), 200))

    def _held(self, said: str) -> Unavailable:
        seconds = self.pause.hold(said)
        return Unavailable(
            said,
            f"LSF is busy or down; polls hold back for {seconds:g} s. Ask again by hand if you cannot wait.",
            details={"retry_after": seconds},
        )

    async def table(self, table: Table, selection: Sequence[str] = (), sink: Sink | None = None) -> Rows:
        """All rows of a table in the best form this LSF knows, in `sink` if there is one; none is an answer too.

        Complaints name ids that LSF does not know. Raises what `run` raises, and what LSF's own words stand for.
        """
        dialect = self.dialects[table]
        while True:
            done = await self.run([*dialect.argv(), *selection])
            try:
                rows = await self._rows(dialect.tier, dialect, done, sink)
            except Undecodable as error:
                if dialect.tier != "A":
                    raise
                return await self._fall_back(dialect, selection, sink, error)
            if rows is not None:
                # "No job found" may come before LSF has looked at the fields.
                dialect.settled = dialect.settled or bool(rows.count)
                self.banner.extend(clean(line, 200) for line in rows.banner)
                return rows
            await self._simplify(dialect, selection, done)

    async def _rows(self, tier: Tier, dialect: Dialect, done: Finished, sink: Sink | None = None) -> Rows | None:
        """The rows of an answer, or None where LSF does not know this form of asking."""
        table, told = dialect.table, text_of(done.stderr)
        if _blank(done.stdout) or (tier == "A" and b'"RECORDS"' not in done.stdout):
            if says_nothing_found(done.stdout, done.stderr) or (done.rc == 0 and not told.strip()):
                return Rows(complaints=told.splitlines())
            if tier != "C" and refusal(done.stdout, done.stderr) is not None:
                return None
            if done.rc == 0 and not _blank(done.stdout) and tier == "A":
                return None if not dialect.settled else await asyncio.to_thread(read_json, text_of(done.stdout), table)
            raise read_failed(table.command, done.rc, done.stdout, done.stderr)
        rows = await asyncio.to_thread(_decode, tier, dialect, done.stdout, sink)
        rows.complaints.extend(line for line in told.splitlines() if line.strip())
        return rows

    async def _fall_back(
        self, dialect: Dialect, selection: Sequence[str], sink: Sink | None, error: Undecodable
    ) -> Rows:
        """This one time in the next tier that this LSF has: its JSON is broken now, not for ever."""
        for tier in ("B", "C"):
            done = await self.run([*dialect.argv(tier), *selection])
            rows = await self._rows(tier, dialect, done, sink)
            if rows is not None:
                self.remarks = [*self.remarks[-3:], f"read in tier {tier} this time: {error.message}"]
                self.banner.extend(clean(line, 200) for line in rows.banner)
                return rows
        raise error

    async def _simplify(self, dialect: Dialect, selection: Sequence[str], done: Finished) -> None:
        """Ask for less: without the field that is refused, or in the next tier."""
        text = text_of(done.stderr) or text_of(done.stdout[:2048])
        said = first_line(text) or f"{dialect.table.command} does not know tier {dialect.tier}"
        name = refused_field(done.stdout, done.stderr)
        if name is not None and name in dialect.optional:
            dialect.drop(name)
        elif _NO_FORMATS.search(text):
            dialect.tier, dialect.why = "C", said
        elif name is None and _ABOUT_FIELDS.search(text) and dialect.optional:
            if await self._accepts(dialect, (), selection):
                await self._narrow(dialect, selection)
            else:
                dialect.step_down(said)
        else:
            dialect.step_down(said)

    async def _accepts(self, dialect: Dialect, more: Sequence[str], selection: Sequence[str]) -> bool:
        argv = dialect.argv(fields=(*dialect.table.core, *more))
        done = await self.run([*argv, *selection])
        return await self._rows(dialect.tier, dialect, done) is not None

    async def _narrow(self, dialect: Dialect, selection: Sequence[str]) -> None:
        """LSF refuses a field without naming it: find those it knows by halves."""
        known: list[str] = []
        groups = deque(_halves(dialect.optional))
        while groups:
            part = groups.popleft()
            if await self._accepts(dialect, part, selection):
                known.extend(part)
            elif len(part) > 1:
                groups.extend(_halves(part))
            else:
                dialect.dropped += part
        dialect.fields = dialect.table.core + tuple(name for name in dialect.optional if name in known)

    @contextmanager
    def polled(self, calls: int) -> Iterator[None]:
        """The next `calls` commands have been counted already, by the poller whose fetch this is."""
        self.prepaid = calls
        try:
            yield
        finally:
            self.prepaid = 0

    async def text(self, argv: Sequence[str]) -> str:
        """The text of a long form (``bjobs -l``). Raises NotFound and the rest of what LSF's words stand for."""
        done = await self.run(argv)
        if _blank(done.stdout):
            raise read_failed(argv[0], done.rc, done.stdout, done.stderr)
        return text_of(done.stdout)

    async def write(self, command: Command) -> Finished:
        """Run a write exactly as planned; queries in flight do not delay it."""
        return await run_write(self.cluster, command, self.environment, timeout=self.options.write_timeout)

    def note_written(self, targets: Iterable[tuple[Kind, str]]) -> None:
        """Have the watch read these (kind, id) again soon."""
        due = self.clock() + self.options.check_after_write
        self.written.extend((due, kind, id) for kind, id in targets)
        self.wrote.set()

    def note_read(self, jobs: Iterable[Job]) -> None:
        """Have the watch show jobs that somebody else has just read; what was to be read again has been."""
        found = list(jobs)
        ids = {job.id for job in found}
        self.written = [entry for entry in self.written if entry[1] != "job" or entry[2] not in ids]
        self.read.extend(found)
        self.wrote.set()


def _blank(data: bytes) -> bool:
    """True for nothing but white space; does not copy a large answer."""
    return not data or data.isspace()


def _halves(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    middle = len(names) // 2
    return [part for part in (names[:middle], names[middle:]) if part]


def _decode(tier: Tier, dialect: Dialect, stdout: bytes, sink: Sink | None) -> Rows:
    """Runs in a thread: a large answer takes seconds to read."""
    if len(stdout) < BIG_ANSWER:
        return _decoded(tier, dialect, stdout, sink)
    with no_collections():
        return _decoded(tier, dialect, stdout, sink)


def _decoded(tier: Tier, dialect: Dialect, stdout: bytes, sink: Sink | None) -> Rows:
    text, table = text_of(stdout), dialect.table
    if tier == "A":
        return read_json(text, table, sink)
    if tier == "B":
        return read_delimited(text, table, dialect.columns(), sink=sink)
    return read_jobs(text, sink) if table.command == "bjobs" else read_table(text, table)
