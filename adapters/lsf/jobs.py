"""A record of bjobs -> a `Job`. Runs for every job of a cluster: texts, hosts and times are remembered and shared."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from sys import intern
from types import MappingProxyType
from typing import Any, Final

from adapters.base import ProtocolError
from adapters.lsf.hosts import slots_by_host
from adapters.lsf.states import HELD, exit_cause, job_status, term_reason
from adapters.lsf.tables import Record
from adapters.lsf.times import Clock
from adapters.lsf.units import count, run_limit, size
from adapters.model import FINISHED, ArrayInfo, Dependency, Job
from adapters.text import clean

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
    if not found and expression.strip().isdigit():  # a bare id means done()
        found.append(Dependency(expression.strip(), "afterok"))
    return tuple(found)


class JobRows:
    """Makes jobs of one answer.

    Args:
        cluster: the name of the cluster in every row.
        now: when the answer came, to find the year of times that have none.
        zone: the zone LSF prints in; None is the zone of this host.
    """

    def __init__(self, cluster: str, now: datetime, zone: tzinfo | None = None) -> None:
        self._cluster = cluster
        self._clock = Clock(now, zone)
        self._texts: dict[str, str] = {}
        self._hosts: dict[str, tuple[tuple[str, ...], int]] = {}
        self._limits: dict[str, tuple[int | None, str | None]] = {}
        self._sizes: dict[str, int | None] = {}

    def make(self, records: Sequence[Record]) -> list[Job]:
        """All jobs of an answer. Raises ProtocolError for a record without an id."""
        return [self.job(record) for record in records]

    def job(self, record: Record) -> Job:
        """One job, or one element of an array."""
        base, index = self._identity(record)
        raw = self._text(record.get("STAT", ""))
        term = term_reason(record.get("EXIT_REASON"))
        status = job_status(raw, term)
        code = count(record.get("EXIT_CODE"))
        hosts, allocated = self._nodes(record.get("EXEC_HOST", ""))
        limit, limit_host = self._limit(record.get("RUNTIMELIMIT", ""))
        read = self._clock.read
        end = record.get("FINISH_TIME")
        over = status in FINISHED
        return Job(
            id=base if index is None else f"{base}[{index}]",
            name=clean(record.get("JOB_NAME", "")),
            status=status,
            raw_status=raw,
            queue=self._text(record.get("QUEUE", "")) or None,
            nodes=len(hosts) or None,
            cores=count(record.get("NALLOC_SLOT")) or self._asked(record) or allocated or None,
            gpus=count(record.get("GPU_NUM")),
            memory_bytes=self._size(record.get("MEMLIMIT", "")),
            walltime_seconds=limit,
            dependencies=dependencies(record["DEPENDENCY"]) if record.get("DEPENDENCY") else (),
            submission_time=read(record.get("SUBMIT_TIME")),
            start_time=read(record.get("START_TIME")),
            end_time=read(end) if over else None,
            exit_code=0 if code is None and status == "succeeded" else code,
            owner=self._text(record.get("USER", "")) or None,
            reason=self._reason(record, raw, term, code),
            node_names=hosts,
            array=None if index is None else ArrayInfo(base, index),
            cluster=self._cluster,
            extensions=self._extensions(record, over, term, limit_host, raw),
        )

    def _identity(self, record: Record) -> tuple[str, int | None]:
        """The base id and the array index. Where there is no `jobindex` field, the name of an element ends in its
        index: taking a job for an element can at worst make a write fail, the opposite would hit the whole array."""
        found = split_id(record.get("JOBID", "").strip())
        if found is None:
            raise ProtocolError(
                f"bjobs gave a job without an id ({clean(str(record), 120)})",
                "Run `bjobs` by hand and look at what it prints.",
            )
        base, index = found
        if index is None:
            told = record.get("JOBINDEX")
            if told is not None:
                index = count(told) or None
            elif match := _ELEMENT.search(record.get("JOB_NAME", "")):
                index = int(match[1]) or None
        return base, index

    def _asked(self, record: Record) -> int | None:
        return count(record.get("NREQ_SLOT")) or count(record.get("MIN_REQ_PROC"))

    def _text(self, text: str) -> str:
        """Clean and shared: owners, queues and states repeat on every row."""
        found = self._texts.get(text)
        if found is None:
            found = self._texts[text] = intern(clean(text, 512))
        return found

    def _nodes(self, text: str) -> tuple[tuple[str, ...], int]:
        found = self._hosts.get(text)
        if found is None:
            slots = slots_by_host(text)
            found = self._hosts[text] = (tuple(self._text(host) for host in slots), sum(slots.values()))
        return found

    def _limit(self, text: str) -> tuple[int | None, str | None]:
        if text not in self._limits:
            limit, host = run_limit(text)
            self._limits[text] = (limit, clean(host) if host else None)
        return self._limits[text]

    def _size(self, text: str) -> int | None:
        if text not in self._sizes:
            self._sizes[text] = size(text)
        return self._sizes[text]

    def _reason(self, record: Record, raw: str, term: str | None, code: int | None) -> str | None:
        if raw == "EXIT":
            cause = exit_cause(raw, term, code)
            told = record.get("EXIT_REASON", "").strip()
            return self._text(told or cause or "") or None
        waits = record.get("PEND_REASON", "").strip().rstrip(";").rstrip()
        if waits and raw not in ("DONE", "RUN"):
            return self._text(waits)
        return "held" if raw == HELD else _FAR.get(raw)

    def _extensions(
        self, record: Record, over: bool, term: str | None, limit_host: str | None, raw: str
    ) -> Mapping[str, Any]:
        found: dict[str, Any] = {}
        if project := record.get("PROJ_NAME"):
            found["project"] = self._text(project)
        if (peak := self._size(record.get("MAX_MEM", ""))) is not None:
            found["peak_memory_bytes"] = peak
        if not over and (used := self._size(record.get("MEM", ""))) is not None:
            found["memory_used_bytes"] = used
        if not over and (end := self._clock.read(record.get("FINISH_TIME"), ahead=True)) is not None:
            found["expected_end"] = end
        if limit_host:
            found["run_limit_host"] = limit_host
        if term:
            found["term_reason"] = term
        if record.get("DEPENDENCY"):
            found["dependency"] = clean(record["DEPENDENCY"], 1024)
        if record.get("FROM_HOST"):
            found["submission_host"] = self._text(record["FROM_HOST"])
        if raw == HELD:
            found["held"] = True
        return found
