"""One job with everything LSF tells: its row, what only ``-o`` of one job asks for, and its long form."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final

from adapters.lsf.hosts import gpus_by_host, slots_by_host
from adapters.lsf.jobs import dependencies
from adapters.lsf.longform import JobDetail
from adapters.lsf.states import exit_cause, job_status
from adapters.lsf.tables import Record
from adapters.lsf.times import Clock
from adapters.lsf.units import seconds, size, unknown
from adapters.model import FINISHED, ArrayInfo, Job
from adapters.text import clean

_TEXTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "COMMAND": "command",
        "JOB_DESCRIPTION": "description",
        "APP": "application",
        "JOB_GROUP": "job_group",
        "USER_GROUP": "user_group",
        "JOB_PRIORITY": "priority",
        "OUTPUT_FILE": "output_file",
        "ERROR_FILE": "error_file",
        "INPUT_FILE": "input_file",
        "SUB_CWD": "submission_directory",
        "EXEC_CWD": "working_directory",
        "KILL_REASON": "kill_reason",
        "SUSPEND_REASON": "suspend_reason",
        "EFFECTIVE_RESREQ": "requirements",
        "CPU_PEAK_EFFICIENCY": "cpu_efficiency",
        "MEM_EFFICIENCY": "memory_efficiency",
        "SERVICE_CLASS": "service_class",
        "RSVID": "reservation",
    }
)
EXTENSIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "command": "the command of the job",
        "description": "the job's description (bsub -Jd); begins with pilothouse: for jobs submitted from here",
        "application": "LSF's application profile",
        "job_group": "the job group",
        "user_group": "the user group the job is accounted to",
        "priority": "the priority its owner gave it (bsub -sp)",
        "output_file": "where standard output goes, as it was given",
        "error_file": "where standard error goes, as it was given",
        "input_file": "what standard input comes from",
        "submission_directory": "the working directory at submission",
        "working_directory": "the working directory on the execution host",
        "kill_reason": "what was given as reason with bkill -C",
        "suspend_reason": "why it is suspended",
        "requirements": "the resource requirement that counts (bsub -R, queue and profile)",
        "cpu_efficiency": "CPU used of CPU given",
        "memory_efficiency": "memory used of memory reserved",
        "service_class": "the service class (SLA)",
        "reservation": "the advance reservation it uses",
        "average_memory_bytes": "the mean memory in use",
        "swap_bytes": "swap in use",
        "cpu_seconds": "CPU time used",
        "run_seconds": "time it has run",
        "pending_seconds": "time it has waited",
        "gpus_by_host": "which GPUs it has, by host",
        "slots_by_host": "how many job slots it has, by host",
        "reasons": "every reason why it waits or is suspended",
    }
)


def from_record(record: Record) -> dict[str, Any]:
    """Extensions from the fields that only a detail asks for."""
    found: dict[str, Any] = {
        name: clean(record[key], 4096) for key, name in _TEXTS.items() if not unknown(record.get(key))
    }
    amounts = {
        "average_memory_bytes": size(record.get("AVG_MEM")),
        "swap_bytes": size(record.get("SWAP")),
        "cpu_seconds": seconds(record.get("CPU_USED")),
        "run_seconds": seconds(record.get("RUN_TIME")),
        "pending_seconds": seconds(record.get("PEND_TIME")),
    }
    found |= {name: value for name, value in amounts.items() if value is not None}
    if gpus := gpus_by_host(record.get("GPU_ALLOC")):
        found["gpus_by_host"] = {clean(host, 256): [clean(gpu) for gpu in ids] for host, ids in gpus.items()}
    slots = slots_by_host(record.get("EXEC_HOST"))
    if len(slots) > 1:
        found["slots_by_host"] = {clean(host, 256): number for host, number in slots.items()}
    return found


def from_long(detail: JobDetail) -> dict[str, Any]:
    """Extensions from the long form."""
    submitted, started = detail.submitted, detail.started
    texts = {
        "command": detail.fields.get("Command"),
        "description": detail.fields.get("Job Description"),
        "output_file": detail.bracketed("Output File", submitted),
        "error_file": detail.bracketed("Error File", submitted),
        "submission_directory": detail.bracketed("CWD", submitted),
        "working_directory": detail.bracketed("Execution CWD", "; ".join(text for _, text in detail.events)),
        "requirements": detail.bracketed("Requested Resources", submitted),
        "project": detail.fields.get("Project"),
        "priority": detail.fields.get("Job Priority"),
    }
    found: dict[str, Any] = {name: clean(text, 4096) for name, text in texts.items() if text}
    for name, label in (("peak_memory_bytes", "MAX MEM"), ("average_memory_bytes", "AVG MEM")):
        if (value := detail.amount(label)) is not None:
            found[name] = value
    if reasons := detail.reasons:
        found["reasons"] = [clean(reason, 512) for reason in reasons]
    if started and (slots := slots_by_host(hosts_in(started[1]))) and len(slots) > 1:
        found["slots_by_host"] = {clean(host, 256): number for host, number in slots.items()}
    return found


def hosts_in(started: str) -> str:
    """The execution hosts in ``Started 2 Task(s) on Host(s) <a> <b>, Allocated ...`` or ``Started on <a>``."""
    return started.split(">, ", 1)[0].partition("<")[2].replace("> <", ":").rstrip(">;")


def enrich(job: Job, record: Record, detail: JobDetail | None, clock: Clock) -> Job:
    """The row with all details; what the row knows is never replaced, for a long form can be spoofed by a name."""
    extensions = (from_long(detail) if detail else {}) | dict(job.extensions) | from_record(record)
    job = job._replace(extensions=extensions, logs_url=extensions.get("output_file"))
    if detail is None:
        return job
    started, ended = detail.started, detail.ended
    raw, term = job.raw_status, extensions.get("term_reason") or detail.term
    if term:
        extensions["term_reason"] = term
    code = job.exit_code if job.exit_code is not None else detail.exit_code if job.finished else None
    return job._replace(
        status=job_status(raw, term),
        start_time=job.start_time or (clock.read(started[0]) if started else None),
        end_time=job.end_time or (clock.read(ended[0]) if ended and job.finished else None),
        exit_code=code,
        walltime_seconds=job.walltime_seconds if job.walltime_seconds is not None else detail.run_limit_seconds,
        memory_bytes=job.memory_bytes if job.memory_bytes is not None else detail.memory_limit_bytes,
        dependencies=job.dependencies or dependencies(detail.bracketed("Dependency Condition", detail.submitted) or ""),
        reason=job.reason or "; ".join(extensions.get("reasons", ())) or exit_cause(raw, term, code),
    )


def from_archive(cluster: str, detail: JobDetail, clock: Clock) -> Job:
    """A job that mbatchd has forgotten, from ``bacct -l`` or ``bhist -l``."""
    fields, started, ended = detail.fields, detail.started, detail.ended
    term, code = detail.term, detail.exit_code
    raw = fields.get("Status") or _raw_from_events(ended[1] if ended else "", bool(started), code)
    status = job_status(raw, term)
    base, _, index = detail.id.rstrip("]").partition("[")
    hosts = slots_by_host(hosts_in(started[1])) if started else {}
    submitted = detail.event("Submitted from host")
    extensions = from_long(detail) | ({"term_reason": term} if term else {})
    queue = fields.get("Queue") or detail.bracketed("to Queue", detail.submitted)
    return Job(
        id=detail.id,
        name=clean(fields.get("Job Name") or fields.get("Command", ""), 4096),
        status=status,
        raw_status=clean(raw, 32),
        queue=clean(queue, 256) if queue else None,
        nodes=len(hosts) or None,
        cores=sum(hosts.values()) or None,
        walltime_seconds=detail.run_limit_seconds,
        memory_bytes=detail.memory_limit_bytes,
        submission_time=clock.read(submitted[0]) if submitted else None,
        start_time=clock.read(started[0]) if started else None,
        end_time=clock.read(ended[0]) if ended and status in FINISHED else None,
        exit_code=code,
        owner=clean(fields["User"], 256) if "User" in fields else None,
        logs_url=extensions.get("output_file"),
        reason=exit_cause(raw, term, code),
        node_names=tuple(clean(host, 256) for host in hosts),
        array=ArrayInfo(base, int(index)) if index else None,
        cluster=cluster,
        extensions=extensions | accounted(detail),
    )


def _raw_from_events(ended: str, started: bool, code: int | None) -> str:
    """``bhist -l`` prints no status: it follows from the last event."""
    if ended:
        return "DONE" if code == 0 or ended.startswith("Done") else "EXIT"
    return "RUN" if started else "PEND"


def accounted(detail: JobDetail) -> dict[str, Any]:
    """CPU time and peak memory from the accounting block of ``bacct -l``, by the titles above the values."""
    lines = [line.split() for line in detail.blocks.get("ACCOUNTING", ())]
    for titles, values in pairwise(lines):
        if titles[:1] == ["CPU_T"] and len(titles) == len(values):
            row = dict(zip(titles, values, strict=True))
            found = {"cpu_seconds": seconds(row.get("CPU_T")), "peak_memory_bytes": size(row.get("MEM"))}
            return {name: value for name, value in found.items() if value is not None}
    return {}
