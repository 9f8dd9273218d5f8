"""Jobs as `squeue -O` tells of them: the fields asked for, and the row made of them. Source: squeue(1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adapters.model import NOTHING, ArrayInfo, Job, share
from adapters.slurm import values
from adapters.slurm.states import job_status
from adapters.slurm.table import fields_of
from adapters.text import clean

JOB_FIELDS: tuple[str, ...] = (
    "JobID", "JobArrayID", "ArrayJobID", "ArrayTaskID", "UserName", "Account", "Partition", "State", "Reason",
    "NumNodes", "NumCPUs", "tres-alloc", "tres-per-node", "TimeLimit", "SubmitTime", "StartTime", "EndTime",
    "PriorityLong", "QOS", "Dependency", "NodeList", "exit_code", "Reservation", "Feature", "RestartCnt",
    "Comment", "Name",
)  # fmt: skip
DETAIL_FIELDS: tuple[str, ...] = (
    *JOB_FIELDS, "WorkDir", "STDOUT", "STDERR", "STDIN", "Command", "EligibleTime", "TimeUsed", "Nice",
    "MinMemory", "tres-per-job", "Licenses", "BatchHost", "Requeue", "ReqNodes", "Deadline", "admin_comment",
    "SchedNodes", "NumTasks", "CPUs-Per-Task",
)  # fmt: skip
"""One job in full. Fields that change with every poll (time used) or that a list does not show are here only."""
LONGEST_NAME = 1024
LONGEST_REASON = 512
_RUNNING = frozenset({"running", "suspended"})

EXTENSIONS: Mapping[str, str] = {
    "job_id": "The job's own number; an array element has one beside its array's.",
    "account": "Account the job is charged to.",
    "qos": "Quality of service: its limits and priority.",
    "priority": "Priority as a whole number; 0 means held.",
    "partitions": "Partitions the job may start in, in order of trial.",
    "expected_start": "The scheduler's estimate of the start of a pending job, or the begin time asked for.",
    "time_limit": "The limit in Slurm's words where it is not a number: UNLIMITED, or the partition's own.",
    "end_limit": "When a running job reaches its time limit.",
    "signal": "The signal that ended the job.",
    "gres": "Generic resources asked for per node.",
    "tres": "All trackable resources: of the whole job, asked for while it is pending.",
    "reservation": "Reservation the job runs in.",
    "features": "Node features the job asks for.",
    "comment": "Comment of the submitter.",
    "dependency": "Dependencies in Slurm's own words.",
    "het_offset": "Which component of a heterogeneous job this is.",
    "restarts": "How often the job was requeued; each time its submission time begins anew.",
    "work_dir": "Working directory.",
    "stdin": "Where standard input comes from.",
    "stdout": "Where standard output goes, with Slurm's patterns (%j, %x).",
    "stderr": "Where standard error goes, with Slurm's patterns.",
    "command": "The script or command that was submitted.",
    "licenses": "Licenses asked for.",
    "batch_host": "The node that runs the batch script.",
    "requested_nodes": "Nodes asked for by name.",
    "scheduled_nodes": "Nodes the scheduler has in mind for a pending job.",
    "admin_comment": "Comment of the administrators.",
    "gres_per_job": "Generic resources asked for the whole job.",
    "memory_asked": "Memory asked for, per node or per core (Slurm does not say which).",
    "time_used": "Time the job has run, as of when it was asked.",
    "tasks": "Tasks of the job.",
    "cpus_per_task": "Cores for each task.",
    "nice": "What the submitter gave away of the priority.",
    "requeue": "Whether the job may be requeued.",
    "eligible_time": "When the job could have started for the first time.",
    "deadline": "When the job must have ended.",
    "from": "Where the row comes from if not from the controller: the accounting.",
    "elapsed_seconds": "Seconds the job ran, by the accounting.",
}


def job_of_record(record: bytes, cluster: str, fields: tuple[str, ...] = JOB_FIELDS) -> Job:
    """The row of one record of `squeue -O`. Raises ProtocolError for a record of another shape."""
    return job_of_fields(dict(zip(fields, fields_of(record, len(fields), "squeue"), strict=True)), cluster)


def job_of_fields(f: Mapping[str, str], cluster: str) -> Job:
    """The row of the fields of `JOB_FIELDS`. Field values that are not understood are None; nothing raises."""
    raw = clean(f["State"], 64)
    status = job_status(raw)
    pending, running = status == "pending", status in _RUNNING
    total = values.tres(f["tres-alloc"])
    nodes = values.number(f["NumNodes"])
    # A job that was cancelled while it waited has times and an exit code in Slurm, but it never ran.
    ran = running or (not pending and f["NodeList"] not in values.NOTHING)
    code, signal = values.exit_of(f["exit_code"]) if ran and not running else (None, None)
    return Job(
        id=clean(f["JobArrayID"], 256),
        name=clean(f["Name"], LONGEST_NAME),
        status=status,
        raw_status=share(raw) or "",
        queue=share(clean(f["Partition"].split(",", 1)[0], 256)) or None,
        nodes=nodes,
        cores=total.cores if total.cores is not None else values.number(f["NumCPUs"]),
        gpus=_gpus(total.gpus, f["tres-per-node"], nodes),
        memory_bytes=total.memory_bytes,
        walltime_seconds=values.seconds(f["TimeLimit"]),
        dependencies=values.dependencies(f["Dependency"]) if f["Dependency"] not in values.NOTHING else (),
        submission_time=values.when(f["SubmitTime"]),
        start_time=values.when(f["StartTime"]) if ran else None,
        end_time=None if pending or running else values.when(f["EndTime"]),
        exit_code=code,
        owner=share(clean(f["UserName"], 256)) or None,
        reason=_reason(f["Reason"]),
        node_names=tuple(share(clean(name, 256)) or "" for name in values.hosts(f["NodeList"])),
        array=_array(f),
        cluster=cluster,
        extensions=_extensions(f, pending=pending, running=running, signal=signal),
    )


def _gpus(counted: int | None, per_node: str, nodes: int | None) -> int:
    """GPUs of the whole job. A site that does not track them (AccountingStorageTRES) shows what is asked per node."""
    if counted is not None:
        return counted
    return values.gpus_of_gres(per_node) * (nodes or 1) if per_node not in values.NOTHING else 0


def _reason(text: str) -> str | None:
    return share(clean(text, LONGEST_REASON)) if values.present(text) else None


def _array(f: Mapping[str, str]) -> ArrayInfo | None:
    """Array membership: ``29_3`` is an element, ``29_[3-49%3]`` a folded row of those that are pending."""
    task = f["ArrayTaskID"]
    if task in values.NOTHING:
        return None
    array = clean(f["ArrayJobID"], 64)
    if task.isdecimal() and task.isascii() and len(task) < 10:
        return ArrayInfo(array, index=int(task))
    shown = f["JobArrayID"].partition("_[")[2].removesuffix("]")
    return ArrayInfo(array, range=clean(shown or task, 256))


def _extensions(f: Mapping[str, str], *, pending: bool, running: bool, signal: int | None) -> Mapping[str, Any]:
    """What only Slurm has; keys without a value are left out, so that 100,000 rows stay small."""
    found: dict[str, Any] = {}
    job_id, shown = f["JobID"], f["JobArrayID"]
    if job_id != shown:
        found["job_id"] = clean(job_id, 64)
    for key, name in (("account", "Account"), ("qos", "QOS"), ("reservation", "Reservation"), ("features", "Feature")):
        if (text := values.present(f[name])) is not None:
            found[key] = share(clean(text, 256))
    if (text := values.present(f["Comment"])) is not None:
        found["comment"] = clean(text, LONGEST_NAME)
    if (priority := f["PriorityLong"]).isdecimal() and not (0 < int(priority) in values.NO_VALUE):
        found["priority"] = int(priority)
    if "," in f["Partition"]:
        found["partitions"] = share(clean(f["Partition"], 1024))
    if (gres := values.present(f["tres-per-node"])) is not None:
        found["gres"] = share(clean(gres, 256))
    if f["Dependency"] not in values.NOTHING:
        found["dependency"] = clean(f["Dependency"], LONGEST_REASON)
    if values.seconds(f["TimeLimit"]) is None and f["TimeLimit"]:
        found["time_limit"] = share(clean(f["TimeLimit"], 64))
    if pending and (start := values.when(f["StartTime"])):
        found["expected_start"] = start
    if running and (end := values.when(f["EndTime"])):
        found["end_limit"] = end
    if signal is not None:
        found["signal"] = signal
    if restarts := values.number(f["RestartCnt"]):
        found["restarts"] = restarts
    if "+" in shown:
        found["het_offset"] = values.number(shown.rpartition("+")[2])
    return found or NOTHING


def detailed(f: Mapping[str, str], cluster: str) -> Job:
    """One job with everything of `DETAIL_FIELDS`; the further ones are extensions."""
    job = job_of_fields(f, cluster)
    more: dict[str, Any] = {"job_id": clean(f["JobID"], 64), "tres": clean(f["tres-alloc"], 512)}
    for key, name in (
        ("work_dir", "WorkDir"), ("stdout", "STDOUT"), ("stderr", "STDERR"), ("stdin", "STDIN"), ("command", "Command"),
        ("licenses", "Licenses"), ("batch_host", "BatchHost"), ("requested_nodes", "ReqNodes"),
        ("scheduled_nodes", "SchedNodes"), ("admin_comment", "admin_comment"), ("gres_per_job", "tres-per-job"),
        ("memory_asked", "MinMemory"), ("time_used", "TimeUsed"),
    ):  # fmt: skip
        if (text := values.present(f[name])) is not None:
            more[key] = clean(text, 4096)
    for key, name in (("tasks", "NumTasks"), ("cpus_per_task", "CPUs-Per-Task")):
        if (count := values.number(f[name])) is not None:
            more[key] = count
    if f["Nice"].lstrip("-").isdecimal():
        more["nice"] = int(f["Nice"])
    if f["Requeue"] in ("0", "1"):
        more["requeue"] = f["Requeue"] == "1"
    for key, name in (("eligible_time", "EligibleTime"), ("deadline", "Deadline")):
        if (time := values.when(f[name])) is not None:
            more[key] = time
    return job._replace(extensions={**job.extensions, **more})
