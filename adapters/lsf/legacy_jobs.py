"""The legacy list of jobs, ``bjobs -w``: tier C.

    JOBID   USER    STAT  QUEUE      FROM_HOST   EXEC_HOST   JOB_NAME   SUBMIT_TIME

The name may hold anything, so it is what lies between the execution host and the time at the end of the line. The
array index is only in the name (``arr[2]``). The default list (without ``-w``) cuts names and hosts, and gives each
further host a line of its own; both forms are read.
"""

from __future__ import annotations

import re

from adapters.lsf.decode import Rows, Sink, broken
from adapters.lsf.tables import JOBS, Record

_TITLES = ("JOBID", "USER", "STAT", "QUEUE", "FROM_HOST", "EXEC_HOST", "JOB_NAME", "SUBMIT_TIME")
_ROW = re.compile(r"^ ?(\d+(?:\[\d+\])?)\s+(\S+)\s+([A-Z_]{3,})\s+(\S+)\s+(\S+)(\s.*?)"
                  r"\s([A-Z][a-z]{2}\s+\d{1,2}\s\d\d:\d\d(?::\d\d)?(?:\s\d{4})?)\s*$")  # fmt: skip
_MORE_HOSTS = re.compile(r"^\s{30,}(\S+)\s*$")
_NOT_DISPATCHED = frozenset({"PEND", "PSUSP", "WAIT"})


def read_jobs(text: str, sink: Sink | None = None) -> Rows:
    """Records with JOBID, USER, STAT, QUEUE, FROM_HOST, EXEC_HOST, JOB_NAME, SUBMIT_TIME.

    Raises Undecodable where there is text but no header.
    """
    if sink is not None:
        sink.begin()
    rows, headed = Rows(sink=sink), False
    waiting: Record | None = None  # lines with further hosts may follow it
    for line in text.split("\n"):
        if not headed:
            headed = tuple(line.split()[:8]) == _TITLES
            if not headed:
                rows.note(line)
        elif match := _ROW.match(line):
            if waiting is not None:
                rows.add(waiting)
            waiting = _record(match)
        elif waiting is not None and (more := _MORE_HOSTS.match(line)):
            waiting["EXEC_HOST"] = f"{waiting['EXEC_HOST']}:{more[1]}"
        else:
            rows.note(line)
    if waiting is not None:
        rows.add(waiting)
    if not headed and rows.banner:
        raise broken(JOBS, "no header line", rows.banner[0])
    return rows


def _record(match: re.Match[str]) -> Record:
    status, rest = match[3], match[6]
    if status in _NOT_DISPATCHED:
        host, name = "", re.sub(r"^\s+-(?:\s|$)", "", rest, count=1)
    else:
        host, _, name = rest.strip().partition(" ")
        host = "" if host == "-" else host
    return {
        "JOBID": match[1],
        "USER": match[2],
        "STAT": status,
        "QUEUE": match[4],
        "FROM_HOST": match[5],
        "EXEC_HOST": host,
        "JOB_NAME": name.strip(),
        "SUBMIT_TIME": match[7],
    }
