"""A record of bjobs -> a `Job`. Runs for every job of a cluster: texts, hosts and times are remembered and shared."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, tzinfo
from sys import intern
from types import MappingProxyType
from typing import Any, Final, TypeVar

from adapters.base import ProtocolError
from adapters.lsf.hosts import slots_by_host
from adapters.lsf.states import HELD, exit_cause, job_status, term_reason
from adapters.lsf.tables import Record
from adapters.lsf.times import Clock
from adapters.lsf.units import count, run_limit, size
from adapters.model import FINISHED, ArrayInfo, Dependency, Job
from adapters.text import clean

_T = TypeVar("_T")
INTENT_MARK: Final = "pilothouse:"
"""What the job description of our own submissions begins with; the intent's id follows."""

EXTENSIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "project": "the project the job is charged to (bsub -P)",
        "peak_memory_bytes": "the most memory the job has used",
        "memory_used_bytes": "the memory the job uses now",
        "expected_end": "when LSF expects the job to end, by its run limit or estimate",
        "run_limit_host": "the host whose speed the run limit is normalised to",
        "term_reason": "LSF's TERM reason: why it ended the job",
        "submission_host": "the host the job was submitted from",
        "dependency": "the dependency expression as LSF holds it",
        "held": "true while the job is held (PSUSP): suspended before it started",
    }
)
_ELEMENT = re.compile(r"\[(\d+)\]$")
_ID = re.compile(r"^(\d+)(?:\[(\d+)\])?$")
_CONDITION = re.compile(
    r"\b(done|ended|exit|started|post_done|post_err)\s*\(\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s,()\"']+))\s*[,)]"
)
_KINDS: Final = {"done": "afterok", "ended": "afterany", "exit": "afternotok", "started": "after"}
_FAR: Final = {"UNKWN": "sbatchd on the job's host does not answer", "ZOMBI": "killed, but its host does not answer"}


def split_id(text: str) -> tuple[str, int | None] | None:
    """``123`` -> ("123", None), ``123[4]`` -> ("123", 4); None for what is no job id, and for 0 (all of my jobs)."""
    match = _ID.match(text)
    if match is None or not text.isascii() or not int(match[1]) or (match[2] is not None and not int(match[2])):
        return None
    return match[1], int(match[2]) if match[2] else None


def dependencies(expression: str) -> tuple[Dependency, ...]:
    """The conditions of a dependency expression such as ``done(123) && ended("name")``; how they are joined is lost."""
    found = []
    for match in _CONDITION.finditer(expression):
        name = clean(match[2] or match[3] or match[4] or "", 256)
        found.append(Dependency(name, _KINDS.get(match[1], match[1])))
    if not found and expression.strip().isdecimal():  # a bare id means done()
        found.append(Dependency(expression.strip(), "afterok"))
    return tuple(found)


class _Memo(dict[str, _T]):
    """Remembers what a function made of a text: most texts of a list repeat, and a look-up costs next to nothing."""

    def __init__(self, make: Callable[[str], _T]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, text: str) -> _T:
        found = self[text] = self._make(text)
        return found


def _shared(text: str) -> str | None:
    """Clean and shared: owners, queues and states repeat on every row."""
    return intern(clean(text, 512)) or None


def _nodes(text: str) -> tuple[tuple[str, ...], int]:
    """The hosts, each once, and all slots on them."""
    slots = slots_by_host(text)
    return tuple(intern(clean(host, 256)) for host in slots), sum(slots.values())


def _reason_text(text: str) -> str | None:
    return _shared(text.strip().rstrip(";").rstrip())


class JobRows:
    """Makes jobs of one answer; a sink for its records.

    Args:
        cluster: the name of the cluster in every row.
        now: when the answer came, to find the year of times that have none.
        zone: the zone LSF prints in; None is the zone of this host.
        without: the owner whose jobs are left out.
    """

    def __init__(self, cluster: str, now: datetime, zone: tzinfo | None = None, *, without: str | None = None) -> None:
        self.jobs: dict[str, Job] = {}
        self._without = without
        self._cluster = cluster
        clock = Clock(now, zone)
        self._texts = _Memo(_shared)
        self._hosts = _Memo(_nodes)
        self._limits = _Memo(run_limit)
        self._sizes = _Memo(size)
        self._counts = _Memo(count)
        self._reasons = _Memo(_reason_text)
        self._times = _Memo(clock.read)
        self._ends = _Memo(lambda text: clock.read(text, ahead=True))

    def begin(self) -> None:
        self.jobs = {}

    def take(self, record: Record) -> None:
        """Add the job to `jobs`. Raises ProtocolError for a record without an id."""
        if self._without is None or record.get("USER") != self._without:
            job = self.job(record)
            self.jobs[job.id] = job

    def make(self, records: Sequence[Record]) -> list[Job]:
        """All jobs of an answer. Raises ProtocolError for a record without an id."""
        return [self.job(record) for record in records]

    def job(self, record: Record) -> Job:
        """One job, or one element of an array. The fields stand in the order of the model: by name they would cost
        a third of the time."""
        get, texts, counts, times = record.get, self._texts, self._counts, self._times
        base, index = self._identity(record)
        raw = texts[get("STAT", "")] or ""
        exit_reason = get("EXIT_REASON", "")
        term = term_reason(exit_reason) if exit_reason else None
        status = job_status(raw, term)
        code = counts[get("EXIT_CODE", "")]
        hosts, allocated = self._hosts[get("EXEC_HOST", "")]
        limit, limit_host = self._limits[get("RUNTIMELIMIT", "")]
        over = status in FINISHED
        expression = get("DEPENDENCY", "")
        return Job(
            base if index is None else f"{base}[{index}]",
            clean(get("JOB_NAME", "")),
            status,
            raw,
            texts[get("QUEUE", "")],
            len(hosts) or None,
            counts[get("NALLOC_SLOT", "")] or self._asked(record) or allocated or None,
            counts[get("GPU_NUM", "")],
            self._sizes[get("MEMLIMIT", "")],
            limit,
            dependencies(expression) if expression else (),
            times[get("SUBMIT_TIME", "")],
            times[get("START_TIME", "")],
            times[get("FINISH_TIME", "")] if over else None,
            0 if code is None and status == "succeeded" else code,
            texts[get("USER", "")],
            None,
            self._reason(record, raw, term, code),
            hosts,
            None if index is None else ArrayInfo(base, index),
            self._cluster,
            self._extensions(record, over, term, limit_host, raw),
        )

    def _identity(self, record: Record) -> tuple[str, int | None]:
        """The base id and the array index. Where there is no `jobindex` field, the name of an element ends in its
        index: taking a job for an element can at worst make a write fail, the opposite would hit the whole array."""
        text = record.get("JOBID", "").strip()
        found = (text, None) if text.isdecimal() and text.isascii() and text[0] != "0" else split_id(text)
        if found is None:
            raise ProtocolError(
                f"bjobs gave a job without an id ({clean(str(record), 120)})",
                "Run `bjobs` by hand and look at what it prints.",
            )
        base, index = found
        if index is None:
            told = record.get("JOBINDEX")
            if told is not None:
                index = self._counts[told] or None
            elif match := _ELEMENT.search(record.get("JOB_NAME", "")):
                index = int(match[1]) or None
        return base, index

    def _asked(self, record: Record) -> int | None:
        return self._counts[record.get("NREQ_SLOT", "")] or self._counts[record.get("MIN_REQ_PROC", "")]

    def _reason(self, record: Record, raw: str, term: str | None, code: int | None) -> str | None:
        if raw in ("RUN", "DONE"):
            return None
        if raw == "EXIT":
            return self._reasons[record.get("EXIT_REASON", "")] or exit_cause(raw, term, code)
        return self._reasons[record.get("PEND_REASON", "")] or ("held" if raw == HELD else _FAR.get(raw))

    def _extensions(
        self, record: Record, over: bool, term: str | None, limit_host: str | None, raw: str
    ) -> Mapping[str, Any]:
        get = record.get
        found: dict[str, Any] = {}
        if project := self._texts[get("PROJ_NAME", "")]:
            found["project"] = project
        if (peak := self._sizes[get("MAX_MEM", "")]) is not None:
            found["peak_memory_bytes"] = peak
        if not over and (used := self._sizes[get("MEM", "")]) is not None:
            found["memory_used_bytes"] = used
        if not over and (end := self._ends[get("FINISH_TIME", "")]) is not None:
            found["expected_end"] = end
        if limit_host:
            found["run_limit_host"] = clean(limit_host, 256)
        if term:
            found["term_reason"] = term
        if expression := get("DEPENDENCY"):
            found["dependency"] = clean(expression, 1024)
        if host := get("FROM_HOST"):
            found["submission_host"] = self._texts[host]
        if raw == HELD:
            found["held"] = True
        return found
