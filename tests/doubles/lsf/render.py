"""How the double prints: times, fields of -o, JSON, delimited rows, legacy tables and long forms."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from tests.doubles.lsf.world import FINISHED, host_status, queue_status, used

Fields = dict[str, Callable[[dict[str, Any], dict[str, Any]], str]]


def moment(epoch: float, long: bool = False) -> str:
    """A time as LSF prints it; the year only where the environment asks for it."""
    if not epoch:
        return ""
    if long:
        year = " %Y" if os.environ.get("LSB_DISPLAY_YEAR") == "Y" else ""
        return time.strftime(f"%a %b %d %H:%M:%S{year}", time.localtime(epoch))
    if os.environ.get("LSB_DISPLAY_YEAR") == "Y":
        return re.sub(r" 0(\d) ", r"  \1 ", time.strftime("%b %d %H:%M:%S %Y", time.localtime(epoch)))
    return time.strftime("%b %d %H:%M", time.localtime(epoch))


def _limit_mark(job: dict[str, Any]) -> str:
    if job["stat"] in FINISHED:
        return moment(job["end"]) + (" L" if job["runlimit"] else "")
    return moment(job["start"] + job["runlimit"] * 60) + " L" if job["start"] and job["runlimit"] else ""


def name_of(job: dict[str, Any]) -> str:
    return f"{job['name']}[{job['index']}]" if job["index"] else str(job["name"])


JOB_FIELDS: Fields = {
    "jobid": lambda w, j: str(j["id"]),
    "jobindex": lambda w, j: str(j["index"]),
    "stat": lambda w, j: j["stat"],
    "user": lambda w, j: j["user"],
    "queue": lambda w, j: j["queue"],
    "job_name": lambda w, j: name_of(j),
    "job_description": lambda w, j: j["description"],
    "proj_name": lambda w, j: j["project"],
    "exec_host": lambda w, j: ":".join(j["hosts"]),
    "nalloc_slot": lambda w, j: str(len(j["hosts"])) if j["hosts"] else "",
    "nreq_slot": lambda w, j: str(j["slots"]),
    "min_req_proc": lambda w, j: "",
    "gpu_num": lambda w, j: str(j["gpus"]) if j["gpus"] else "",
    "gpu_alloc": lambda w, j: f"{j['hosts'][0]}:0,1" if j["gpus"] and j["hosts"] else "",
    "memlimit": lambda w, j: f"{j['memlimit']} Mbytes" if j["memlimit"] else "",
    "runtimelimit": lambda w, j: f"{j['runlimit']:.1f}" if j["runlimit"] else "",
    "submit_time": lambda w, j: moment(j["submit"]),
    "start_time": lambda w, j: moment(j["start"]),
    "finish_time": lambda w, j: _limit_mark(j),
    "exit_code": lambda w, j: str(j["exit"]) if j["exit"] else "",
    "exit_reason": lambda w, j: j["exit_reason"],
    "pend_reason": lambda w, j: j["pend_reason"] if j["stat"] in ("PEND", "PSUSP") else "",
    "dependency": lambda w, j: j["dependency"],
    "mem": lambda w, j: f"{j['mem']} Mbytes" if j["start"] and j["stat"] not in FINISHED else "",
    "max_mem": lambda w, j: f"{j['mem']} Mbytes" if j["start"] else "",
    "avg_mem": lambda w, j: f"{j['mem']} Mbytes" if j["start"] else "",
    "command": lambda w, j: j["command"],
    "output_file": lambda w, j: j["output"],
    "error_file": lambda w, j: j["error"],
    "sub_cwd": lambda w, j: j["cwd"],
    "run_time": lambda w, j: "10 second(s)" if j["start"] else "0 second(s)",
    "cpu_used": lambda w, j: "1.0 second(s)" if j["start"] else "",
    "effective_resreq": lambda w, j: "select[type == local] order[r15s:pg] ",
    "from_host": lambda w, j: "login01",
} | {
    name: lambda w, j: ""
    for name in (
        "app", "job_group", "user_group", "job_priority", "input_file", "exec_cwd", "swap", "nthreads", "kill_reason",
        "suspend_reason", "estimated_start_time", "pend_time", "cpu_peak_efficiency", "mem_efficiency",
        "service_class", "rsvid",
    )
}  # fmt: skip


def _slots(world: dict[str, Any], queue: str, states: tuple[str, ...]) -> str:
    jobs = [job for job in world["jobs"] if job["queue"] == queue and job["stat"] in states]
    return str(sum(job["slots"] for job in jobs))


_ALL = ("PEND", "PSUSP", "RUN", "USUSP", "SSUSP", "UNKWN")
QUEUE_FIELDS: Fields = {
    "queue_name": lambda w, q: q["name"],
    "status": lambda w, q: queue_status(q),
    "priority": lambda w, q: str(q["prio"]),
    "max": lambda w, q: "-",
    "jl_u": lambda w, q: "-",
    "njobs": lambda w, q: _slots(w, q["name"], _ALL),
    "pend": lambda w, q: _slots(w, q["name"], ("PEND", "PSUSP")),
    "run": lambda w, q: _slots(w, q["name"], ("RUN",)),
    "susp": lambda w, q: _slots(w, q["name"], ("USUSP", "SSUSP")),
    "rsv": lambda w, q: "0",
    "description": lambda w, q: q["description"],
}
HOST_FIELDS: Fields = {
    "host_name": lambda w, h: h["name"],
    "status": lambda w, h: host_status(w, h["name"]),
    "max": lambda w, h: "-" if h["max"] is None else str(h["max"]),
    "njobs": lambda w, h: str(used(w, h["name"])),
    "run": lambda w, h: str(used(w, h["name"], ("RUN",))),
    "ssusp": lambda w, h: str(used(w, h["name"], ("SSUSP",))),
    "ususp": lambda w, h: str(used(w, h["name"], ("USUSP",))),
    "rsv": lambda w, h: "0",
    "jl_u": lambda w, h: "-",
    "ngpus": lambda w, h: str(h["ngpus"]),
    "ngpus_alloc": lambda w, h: "0",
    "comments": lambda w, h: h["comment"],
}
_LOAD = dict(
    zip(
        ("r15s", "r1m", "r15m", "ut", "pg", "io", "ls", "it", "tmp", "swp", "mem"),
        ("0.5", "0.7", "0.6", "10%", "0.0", "15", "1", "3e+05", "37823.2M", "0.0M", "14807.0M"),
        strict=True,
    )
)


def load_value(name: str) -> Callable[[dict[str, Any], dict[str, Any]], str]:
    return lambda world, host: "-" if host["down"] == "unavail" else _LOAD[name]


LOAD_FIELDS: Fields = {
    "host_name": lambda w, h: h["name"],
    "status": lambda w, h: "unavail" if h["down"] == "unavail" else "ok",
} | {name: load_value(name) for name in _LOAD}


def put(text: str) -> None:
    """Print text whose lone surrogates stand for bytes that are no UTF-8."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


def as_json(command: str, kind: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    records = [{name.upper(): value for name, value in zip(names, row, strict=True)} for row in rows]
    answer = {"COMMAND": command, kind: len(records), "RECORDS": records}
    return json.dumps(answer, indent=2, ensure_ascii=False).replace("/", "\\/") + "\n"


def delimited(names: Sequence[str], rows: Sequence[Sequence[str]], delimiter: str) -> str:
    lines = [delimiter.join(name.upper() for name in names)]
    lines += [delimiter.join(cell or "-" for cell in row) for row in rows]
    return "\n".join(lines) + "\n"


def job_table(jobs: Sequence[dict[str, Any]]) -> str:
    """``bjobs -w``, which never prints a year."""
    text = "JOBID   USER    STAT  QUEUE      FROM_HOST   EXEC_HOST   JOB_NAME   SUBMIT_TIME\n"
    for job in jobs:
        hosts = ":".join(job["hosts"]) or "   -   "
        at = time.strftime("%b %d %H:%M", time.localtime(job["submit"]))
        text += f"{job['id']:<7} {job['user']:<7} {job['stat']:<5} {job['queue']:<10} {'login01':<11} {hosts:<11} "
        text += f"{name_of(job):<10} {at}\n"
    return text


def fold(text: str) -> str:
    """Lines of 80 columns, what follows after 21 blanks."""
    lines = []
    for line in text.split("\n"):
        while len(line) > 79:
            lines.append(line[:79])
            line = " " * 21 + line[79:]
        lines.append(line)
    return "\n".join(lines)


def job_long(job: dict[str, Any], ref: str) -> str:
    """``bjobs -l`` of one job."""
    described = f", Job Description <{job['description']}>" if job["description"] else ""
    text = f"\nJob <{ref}>, Job Name <{name_of(job)}>, User <{job['user']}>, Project <{job['project']}>, "
    text += f"Status <{job['stat']}>, Queue <{job['queue']}>, Command <{job['command']}>{described}\n"
    output = f", Output File <{job['output']}>" if job["output"] else ""
    error = f", Error File <{job['error']}>" if job["error"] else ""
    at = moment(job["submit"], long=True)
    text += f"{at}: Submitted from host <login01>, CWD <{job['cwd']}>{output}{error};\n"
    if job["runlimit"]:
        text += f"\n RUNLIMIT                \n {job['runlimit']:.1f} min\n"
    if job["start"]:
        hosts = " ".join(f"<{host}>" for host in job["hosts"])
        text += f"{moment(job['start'], long=True)}: Started {len(job['hosts'])} Task(s) on Host(s) {hosts};\n"
    if job["end"]:
        ended = "Done successfully." if job["stat"] == "DONE" else f"Exited with exit code {job['exit']}."
        text += f"{moment(job['end'], long=True)}: {ended} The CPU time used is 0.1 seconds.\n"
    if job["stat"] in ("PEND", "PSUSP"):
        text += f" PENDING REASONS:\n {job['pend_reason']}\n"
    text += "\n SCHEDULING PARAMETERS:\n           r15s   r1m\n loadSched   -     -\n"
    return fold(text)
