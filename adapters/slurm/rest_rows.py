"""slurmrestd's JSON as the fields that the commands print, so that one table of meanings serves both.

The shapes of v0.0.38 (plain numbers, one state) and of v0.0.40 to 45 (``{"set", "infinite", "number"}``, lists of
states) are told apart value by value. Sources: the recorded answers, and the field tables of docs/slurm.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from adapters.base import ProtocolError
from adapters.model import Job, Reservation
from adapters.slurm.history import HISTORY_FIELDS, job_of_history
from adapters.slurm.jobs import DETAIL_FIELDS, detailed, job_of_fields
from adapters.slurm.nodes import NODE_FIELDS, NodeList, node_list_of_lines
from adapters.slurm.reservations import NodeReservations
from adapters.slurm.states import JOB_FLAGS, JOB_STATES
from adapters.slurm.values import NO_VALUE, hosts, when
from adapters.text import clean


def number(value: Any) -> str:
    """A number in either shape as text: ``UNLIMITED`` where infinite, empty where not set."""
    if isinstance(value, Mapping):
        if value.get("infinite"):
            return "UNLIMITED"
        return str(value.get("number", "")) if value.get("set") else ""
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, int):
        return "UNLIMITED" if value == -1 else "" if value in NO_VALUE or value < 0 else str(value)
    return str(value)


def text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(str(part) for part in value)
    return "" if value is None else str(value)


def state(value: Any) -> str:
    """The one word that `squeue` shows for a list of states: a flag stands before the base state."""
    words = [str(word) for word in value] if isinstance(value, list) else [text(value)]
    return next((word for word in words if word in JOB_FLAGS and word in JOB_STATES), words[0] if words else "")


def _exit_code(value: Any) -> str:
    if not isinstance(value, Mapping):
        return number(value)
    signal = value.get("signal")
    return (
        f"{number(value.get('return_code')) or 0}:{number(signal.get('id')) or 0 if isinstance(signal, Mapping) else 0}"
    )


def _shown_id(job: Mapping[str, Any]) -> tuple[str, str, str]:
    """(shown id, array id, task) as `squeue` builds them: ``29_3``, ``29_[3-49%3]``, ``26+1``."""
    own = text(job.get("job_id"))
    array, task = number(job.get("array_job_id")), number(job.get("array_task_id"))
    if array and array != "0":
        if task:
            return f"{array}_{task}", array, task
        if waiting := text(job.get("array_task_string")):
            most = number(job.get("array_max_tasks"))
            return f"{array}_[{waiting}{f'%{most}' if most and most != '0' else ''}]", array, waiting
    het = number(job.get("het_job_id"))
    if het and het != "0":
        return f"{het}+{number(job.get('het_job_offset')) or 0}", own, "N/A"
    return own, own, "N/A"


def job_fields(job: Mapping[str, Any]) -> dict[str, str]:
    """The fields of `DETAIL_FIELDS`; the output file is the expanded one where there is one (24.11 and later)."""
    shown, array, task = _shown_id(job)
    priority = "0" if job.get("hold") is True else number(job.get("priority"))
    found = {
        "JobID": text(job.get("job_id")), "JobArrayID": shown, "ArrayJobID": array, "ArrayTaskID": task,
        "UserName": text(job.get("user_name")), "Account": text(job.get("account")),
        "Partition": text(job.get("partition")), "State": state(job.get("job_state")),
        "Reason": text(job.get("state_description")) or text(job.get("state_reason")),
        "NumNodes": number(job.get("node_count")), "NumCPUs": number(job.get("cpus")),
        "tres-alloc": text(job.get("tres_alloc_str")) or text(job.get("tres_req_str")),
        "tres-per-node": text(job.get("tres_per_node")), "TimeLimit": number(job.get("time_limit")),
        "SubmitTime": number(job.get("submit_time")), "StartTime": number(job.get("start_time")),
        "EndTime": number(job.get("end_time")), "PriorityLong": priority, "QOS": text(job.get("qos")),
        "Dependency": text(job.get("dependency")), "NodeList": text(job.get("nodes")),
        "exit_code": _exit_code(job.get("exit_code")), "Reservation": text(job.get("resv_name")),
        "Feature": text(job.get("features")), "RestartCnt": number(job.get("restart_cnt")),
        "Comment": text(job.get("comment")), "Name": text(job.get("name")),
        "WorkDir": text(job.get("current_working_directory")),
        "STDOUT": text(job.get("stdout_expanded") or job.get("standard_output")),
        "STDERR": text(job.get("stderr_expanded") or job.get("standard_error")),
        "Command": text(job.get("command")), "EligibleTime": number(job.get("eligible_time")),
        "Nice": text(job.get("nice")), "Licenses": text(job.get("licenses")), "BatchHost": text(job.get("batch_host")),
        "Requeue": "1" if job.get("requeue") else "0", "NumTasks": number(job.get("tasks")),
        "tres-per-job": text(job.get("tres_per_job")), "admin_comment": text(job.get("admin_comment")),
    }  # fmt: skip
    return {name: found.get(name, "") for name in DETAIL_FIELDS}


def listed(body: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The objects of a list. Raises ProtocolError where it is missing: that is never an empty one."""
    found = body.get(name)
    if not isinstance(found, list) or not all(isinstance(each, Mapping) for each in found):
        raise ProtocolError(f"The answer of slurmrestd has no list of {name}.")
    return found


def jobs_of(body: Mapping[str, Any], cluster: str) -> list[Job]:
    return [job_of_fields(job_fields(each), cluster) for each in listed(body, "jobs")]


def details_of(body: Mapping[str, Any], cluster: str) -> list[tuple[Job, dict[str, str]]]:
    fields = [job_fields(each) for each in listed(body, "jobs")]
    return [(detailed(each, cluster), each) for each in fields]


def nodes_of(
    nodes: Mapping[str, Any],
    partitions: Mapping[str, Any],
    cluster: str,
    reservations: Mapping[str, NodeReservations] | None = None,
) -> NodeList:
    """Nodes and partitions of the answers to ``/nodes`` and ``/partitions``."""
    known = {text(each.get("name")): _partition_fields(each) for each in listed(partitions, "partitions")}
    return node_list_of_lines(_node_lines(listed(nodes, "nodes"), known), cluster, reservations)


def _partition_fields(part: Mapping[str, Any]) -> dict[str, str]:
    inner, defaults, maximums = (part.get(name) or {} for name in ("partition", "defaults", "maximums"))
    words = inner.get("state", part.get("state")) or []
    flags = [str(flag).upper() for flag in part.get("flags") or []]
    limit = number(maximums.get("time")) if maximums else number(part.get("max_time_limit"))
    default = number(defaults.get("time")) if defaults else number(part.get("default_time_limit"))
    name = text(part.get("name"))
    return {
        "PartitionName": name,
        "Partition": f"{name}*" if "DEFAULT" in flags else name,
        "Available": (text(words[0]) if isinstance(words, list) and words else text(words)).lower(),
        "Time": limit or "UNLIMITED",
        "DefaultTime": default,
    }


def _node_lines(nodes: Iterable[Mapping[str, Any]], known: Mapping[str, dict[str, str]]) -> Iterator[dict[str, str]]:
    for node in nodes:
        words = node.get("state")
        states = [
            str(word) for word in (words if isinstance(words, list) else [words, *(node.get("state_flags") or [])])
        ]
        total, used = node.get("cpus") or 0, node.get("alloc_cpus") or 0
        load = node.get("cpu_load")
        found = {
            "NodeList": text(node.get("name")), "StateComplete": "+".join(states).lower(),
            "CPUsState": f"{used}/{max(0, total - used)}/0/{total}",
            "CPUsLoad": str(load / 100) if isinstance(load, int) and load not in NO_VALUE else "N/A",
            "Memory": number(node.get("real_memory")), "AllocMem": number(node.get("alloc_memory")),
            "FreeMem": number(node.get("free_mem", node.get("free_memory"))), "Gres": text(node.get("gres")),
            "GresUsed": text(node.get("gres_used")), "Features": text(node.get("features")),
            "Weight": number(node.get("weight")), "Threads": number(node.get("threads")),
            "Version": text(node.get("version") or node.get("slurmd_version")), "Reason": text(node.get("reason")),
            "User": text(node.get("reason_set_by_user")), "Timestamp": number(node.get("reason_changed_at")),
        }  # fmt: skip
        for partition in node.get("partitions") or [""]:
            line = found | known.get(str(partition), {"PartitionName": str(partition)})
            yield {name: line.get(name, "") for name in NODE_FIELDS}


def reservations_of(body: Mapping[str, Any], cluster: str) -> tuple[Reservation, ...]:
    return tuple(
        Reservation(
            name=clean(text(each.get("name")), 256),
            node_names=tuple(clean(name, 256) for name in hosts(text(each.get("node_list")))),
            cores=each.get("core_count"),
            start_time=when(number(each.get("start_time"))),
            end_time=when(number(each.get("end_time"))),
            users=tuple(clean(user, 256) for user in text(each.get("users")).split(",") if user),
            cluster=cluster,
            extensions={"flags": clean(text(each.get("flags")), 256)},
        )
        for each in listed(body, "reservations")
    )


def history_of(body: Mapping[str, Any], cluster: str, *, trust_exit: bool) -> list[Job]:
    """Jobs of ``/slurmdb/…/jobs``. `trust_exit` is False for 22.05, which calls exit code 3 a success."""
    return [job_of_history(_history_fields(each, trust_exit), cluster) for each in listed(body, "jobs")]


def _history_fields(job: Mapping[str, Any], trust_exit: bool) -> dict[str, str]:
    times, array = job.get("time") or {}, job.get("array") or {}
    het = job.get("het") or {}
    own = {"job_id": job.get("job_id"), "array_job_id": array.get("job_id"), "array_task_id": array.get("task_id"),
           "array_task_string": array.get("task"), "het_job_id": het.get("job_id"),
           "het_job_offset": het.get("job_offset")}  # fmt: skip
    shown, _, _ = _shown_id(own)
    states = job.get("state") or {}
    current = state(states.get("current"))
    code = _exit_code(job.get("exit_code"))
    tres = job.get("tres") or {}
    comment = job.get("comment")
    found = {
        "JobIDRaw": text(job.get("job_id")), "JobID": shown, "User": text(job.get("user")),
        "Account": text(job.get("account")), "Partition": text(job.get("partition")), "QOS": text(job.get("qos")),
        "State": current, "Reason": text(states.get("reason")), "Submit": number(times.get("submission")),
        "Start": number(times.get("start")), "End": number(times.get("end")),
        "ElapsedRaw": number(times.get("elapsed")),
        "TimelimitRaw": number(times.get("limit")), "NNodes": number(job.get("allocation_nodes")),
        "ReqTRES": _tres(tres.get("requested")), "AllocTRES": _tres(tres.get("allocated")),
        "NodeList": text(job.get("nodes")), "WorkDir": text(job.get("working_directory")),
        "Priority": number(job.get("priority")), "JobName": text(job.get("name")),
        "Comment": text(comment.get("job")) if isinstance(comment, Mapping) else text(comment),
        "ExitCode": code if trust_exit or current == "COMPLETED" else "",
    }  # fmt: skip
    return {name: found.get(name, "") for name in HISTORY_FIELDS}


def _tres(entries: Any) -> str:
    """A list of resources as the commands write it; memory counts in MiB."""
    parts = []
    for entry in entries or []:
        count = entry.get("count")
        if isinstance(count, int) and count >= 0:
            kind = "/".join(part for part in (text(entry.get("type")), text(entry.get("name"))) if part)
            parts.append(f"{kind}={count}{'M' if kind == 'mem' else ''}")
    return ",".join(parts)
