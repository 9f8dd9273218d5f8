"""Finished jobs from the accounting database, by `sacct`. Source: sacct(1)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from adapters.base import HistoryFilter
from adapters.model import ArrayInfo, Job, share
from adapters.slurm import values
from adapters.slurm.calls import SlurmCalls
from adapters.slurm.ids import parse_id
from adapters.slurm.jobs import LONGEST_NAME, LONGEST_REASON
from adapters.slurm.states import job_status
from adapters.slurm.table import Tokens, delimited
from adapters.text import clean

HISTORY_FIELDS: tuple[str, ...] = (
    "JobIDRaw", "JobID", "User", "Account", "Partition", "QOS", "State", "Reason", "Submit", "Start", "End",
    "ElapsedRaw", "TimelimitRaw", "NNodes", "NCPUS", "ReqTRES", "AllocTRES", "NodeList", "WorkDir", "Priority",
    "JobName", "Comment", "ExitCode",
)  # fmt: skip
"""An id first and a number last: neither can hold a newline, which is where one row ends and the next begins."""
DEFAULT_SPAN = timedelta(days=7)
WITH_PATHS: tuple[str, ...] = (*HISTORY_FIELDS[:-1], "StdOut", "StdErr", HISTORY_FIELDS[-1])
"""With the output files, which the accounting keeps since 24.05; an older sacct refuses to name them."""


async def read_history(
    calls: SlurmCalls, wanted: HistoryFilter, me: str, now: datetime, *, paths: bool = False
) -> list[Job]:
    """Jobs that were active in the span, newest first, at most `limit`. Raises AdapterError; Unavailable where
    slurmdbd does not answer. `-X`: allocations only, without their steps."""
    token = Tokens.fresh().field
    fields = WITH_PATHS if paths else HISTORY_FIELDS
    answer = await calls.read("sacct", *_arguments(wanted, me, now, fields), f"--delimiter={token}")
    rows = delimited(answer, token, len(fields), "sacct")
    jobs = [job_of_history(dict(zip(fields, row, strict=True)), calls.options.cluster) for row in rows]
    epoch = datetime.fromtimestamp(0, UTC)
    jobs.sort(key=lambda job: job.end_time or job.start_time or job.submission_time or epoch, reverse=True)
    return jobs if wanted.limit is None else jobs[: wanted.limit]


def _arguments(wanted: HistoryFilter, me: str, now: datetime, fields: tuple[str, ...]) -> list[str]:
    """Times go as ``uts<seconds>``: no zone or format is guessed."""
    arguments = ["-X", "-P", "-n", "-D", "-o", ",".join(fields)]
    if wanted.ids:
        arguments += ["-j", ",".join(dict.fromkeys(parse_id(each).query for each in wanted.ids))]
    if not wanted.ids or wanted.since is not None:
        arguments += ["-S", f"uts{int((wanted.since or now - DEFAULT_SPAN).timestamp())}"]
        arguments += ["-E", f"uts{int((wanted.until or now).timestamp()) + 1}"]
    owner = me if wanted.mine else wanted.owner
    arguments += ["-u", owner] if owner else ["-a"]
    if wanted.queue:
        arguments += ["-r", wanted.queue]
    return arguments


def job_of_history(f: Mapping[str, str], cluster: str) -> Job:
    """The row of one allocation. ``CANCELLED by 47101`` keeps its number in the raw status."""
    raw = clean(f["State"], 64)
    status = job_status(raw)
    total = values.tres(f["AllocTRES"] if values.present(f["AllocTRES"]) else f["ReqTRES"])
    ended = status not in ("pending", "running", "suspended")
    code, signal = values.exit_of(f["ExitCode"]) if ended else (None, None)
    minutes = values.number(f["TimelimitRaw"])
    reason = f["Reason"]
    return Job(
        id=clean(f["JobID"], 256),
        name=clean(f["JobName"], LONGEST_NAME),
        status=status,
        raw_status=share(raw) or "",
        queue=share(clean(f["Partition"].split(",", 1)[0], 256)) or None,
        nodes=values.number(f["NNodes"]),
        cores=total.cores if total.cores is not None else values.number(f["NCPUS"]),
        gpus=total.gpus or 0,
        memory_bytes=total.memory_bytes,
        walltime_seconds=minutes * 60 if minutes is not None else None,
        submission_time=values.when(f["Submit"]),
        start_time=None if status == "pending" else values.when(f["Start"]),
        end_time=values.when(f["End"]) if ended else None,
        exit_code=code,
        owner=share(clean(f["User"], 256)) or None,
        reason=share(clean(reason, LONGEST_REASON)) if values.present(reason) else None,
        node_names=tuple(
            clean(name, 256) for name in (() if f["NodeList"] == "None assigned" else values.hosts(f["NodeList"]))
        ),
        array=_array(f["JobID"]),
        cluster=cluster,
        extensions=_extensions(f, signal),
    )


def _array(shown: str) -> ArrayInfo | None:
    base, underscore, rest = shown.partition("_")
    if not underscore:
        return None
    if rest.isdecimal():
        return ArrayInfo(clean(base, 64), index=int(rest))
    return ArrayInfo(clean(base, 64), range=clean(rest.strip("[]"), 256))


def _extensions(f: Mapping[str, str], signal: int | None) -> Mapping[str, Any]:
    found: dict[str, Any] = {"from": "accounting"}
    for key, name in (("account", "Account"), ("qos", "QOS"), ("work_dir", "WorkDir"), ("comment", "Comment"),
                      ("job_id", "JobIDRaw"), ("tres", "AllocTRES"), ("stdout", "StdOut"),
                      ("stderr", "StdErr")):  # fmt: skip
        if (text := values.present(f.get(name, ""))) is not None:
            found[key] = clean(text, LONGEST_NAME)
    for key, name in (("priority", "Priority"), ("elapsed_seconds", "ElapsedRaw")):
        if (count := values.number(f[name])) is not None:
            found[key] = count
    if signal is not None:
        found["signal"] = signal
    return found
