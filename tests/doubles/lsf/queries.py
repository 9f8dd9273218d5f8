"""The double's reads: bjobs, bqueues, bhosts, lsload, lshosts, lsid, bpeek, bhist, bacct, brsvs."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.doubles.lsf.render import (
    HOST_FIELDS,
    JOB_FIELDS,
    LOAD_FIELDS,
    QUEUE_FIELDS,
    Fields,
    as_json,
    delimited,
    fold,
    job_long,
    job_table,
    moment,
    name_of,
    put,
)
from tests.doubles.lsf.world import FINISHED, job_ref, queue_status

Options = dict[str, Any]
_TAKES_VALUE = {"-o", "-u", "-q", "-m", "-J", "-C", "-P", "-n"}


def complain(text: str, rc: int = 255) -> int:
    print(text, file=sys.stderr)
    return rc


def parse(argv: Sequence[str]) -> tuple[Options, list[str]]:
    """Options (those that take a value with it) and what is left."""
    options: Options = {}
    left: list[str] = []
    waiting = list(argv)
    while waiting:
        word = waiting.pop(0)
        if word in _TAKES_VALUE:
            options[word] = waiting.pop(0) if waiting else ""
        elif word.startswith("-"):
            options[word] = True
        else:
            left.append(word)
    return options, left


def _formats(command: str, options: Options) -> str | None:
    """The complaint of a version that does not know these options; None where it does."""
    dialect = os.environ.get("LSF_DOUBLE_DIALECT", "ibm")
    clone = dialect == "clone" and command != "bjobs"
    if "-o" in options and (dialect == "classic" or clone):
        return f"{command}: invalid option -- 'o'\nUsage: {command} [-h] [-V] [-w | -l]"
    if "-json" in options and dialect == "ibm9":
        return f"{command}: illegal option -- json\nUsage: {command} [-h] [-V] [-w | -l] [-o format]"
    return None


def formatted(
    command: str, kind: str, fields: Fields, world: dict[str, Any], rows: Sequence[dict[str, Any]], options: Options,
    mode: dict[str, Any],
) -> int:  # fmt: skip
    """An answer to -o, with or without -json."""
    text = str(options["-o"])
    found = re.search(r"delimiter='(.)'", text)
    if found and os.environ.get("LSF_DOUBLE_DIALECT") == "clone":
        return complain(f"<{found[0].upper()}> in the format string is not a valid field name.", 99)
    names = [name.lower() for name in re.sub(r"delimiter='.'", "", text).split()]
    for name in names:
        if name not in fields or name in mode.get("refused", ()):
            if mode.get("unnamed"):
                return complain("Invalid field in the format string.")
            return complain(f"<{name.upper()}> in the format string is not a valid field name.", 99)
    cells = [[fields[name](world, row) for name in names] for row in rows]
    if "-json" in options:
        answer = as_json(command, kind, names, cells)
        put(answer[: len(answer) // 2] if mode.get("invalid_json") else answer)
    else:
        put(delimited(names, cells, found[1] if found else " "))
    return 0


def bjobs(world: dict[str, Any], argv: list[str], mode: dict[str, Any], me: str) -> int:
    options, ids = parse(argv)
    if told := _formats("bjobs", options):
        return complain(told)
    rows, missing = _selected(world, options, ids, me)
    if isinstance(rows, str):
        return complain(rows)
    for id in missing:
        complain(f"Job <{id}> is not found")
    if not rows:
        if "-json" in options:
            put(as_json("bjobs", "JOBS", [], []))
        elif not missing:
            complain("No unfinished job found")
        return 255
    if "-o" in options:
        return formatted("bjobs", "JOBS", JOB_FIELDS, world, rows, options, mode) or (255 if missing else 0)
    if "-l" in options or "-UF" in options:
        put(("-" * 78).join(job_long(job, job_ref(job)) for job in rows) + "\n")
    else:
        put(job_table(rows))
    return 255 if missing else 0


def _selected(
    world: dict[str, Any], options: Options, ids: Sequence[str], me: str
) -> tuple[list[dict[str, Any]] | str, list[str]]:
    """The jobs that are asked for (or a complaint), and ids that are not known."""
    for id in ids:
        if not re.match(r"^\d+(\[\d+\])?$", id):
            return f"{id}: Illegal job ID.", []
    if (queue := options.get("-q")) and queue not in world["queues"]:
        return f"{queue}: No such queue", []
    if (host := options.get("-m")) and host not in world["hosts"]:
        return f"{host}: Bad host name, host group name or cluster name", []
    jobs = [job for job in world["jobs"] if not ids or job_ref(job) in ids or str(job["id"]) in ids]
    known = {job_ref(job) for job in jobs} | {str(job["id"]) for job in jobs}
    missing = [id for id in ids if id not in known]
    user = options.get("-u", "all" if ids else me)
    jobs = [job for job in jobs if user in ("all", job["user"]) and ("-a" in options or job["stat"] not in FINISHED)]
    jobs = [job for job in jobs if (not queue or job["queue"] == queue) and (not host or host in job["hosts"])]
    return jobs, missing


def _named(rows: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"name": name, **row} for name, row in rows.items()]


def bqueues(world: dict[str, Any], argv: list[str], mode: dict[str, Any], me: str) -> int:
    options, names = parse(argv)
    if told := _formats("bqueues", options):
        return complain(told)
    for name in names:
        if name not in world["queues"]:
            return complain(f"{name}: No such queue")
    rows = [row for row in _named(world["queues"]) if not names or row["name"] in names]
    if "-o" in options:
        return formatted("bqueues", "QUEUES", QUEUE_FIELDS, world, rows, options, mode)
    if "-l" in options:
        put("\n".join(_queue_long(world, row) for row in rows))
        return 0
    text = "QUEUE_NAME      PRIO STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN  SUSP  RSV PJOBS\n"
    for row in rows:
        cells = {name: QUEUE_FIELDS[name](world, row) for name in ("njobs", "pend", "run", "susp")}
        text += f"{row['name']:<15} {row['prio']:>3}  {queue_status(row):<15} {'-':>3} {'-':>4} {'-':>4} {'-':>4}"
        text += " ".join(f"{value:>5}" for value in cells.values()) + f" {0:>4} {cells['pend']:>5}\n"
    put(text)
    return 0


def _queue_long(world: dict[str, Any], row: dict[str, Any]) -> str:
    limit = ""
    if row["runlimit"]:
        limit = f"\nDEFAULT LIMITS:\n RUNLIMIT                \n {row['runlimit'] / 2:.1f} min\n"
        limit += f"\nMAXIMUM LIMITS:\n RUNLIMIT                \n {row['runlimit']:.1f} min\n"
    return (
        f"\nQUEUE: {row['name']}\n  -- {row['description']}\n\nPARAMETERS/STATISTICS\n"
        "PRIO NICE STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN SSUSP USUSP  RSV \n"
        f" {row['prio']}    0  {queue_status(row)}       -    -    -    -     0     0     0     0     0    0\n"
        f"Interval for a host to accept two jobs is 0 seconds\n{limit}\nSCHEDULING PARAMETERS\n"
        "           r15s   r1m\n loadSched   -     -\n\nUSERS:  all\nHOSTS:  all\n\n" + "-" * 79 + "\n"
    )


def bhosts(world: dict[str, Any], argv: list[str], mode: dict[str, Any], me: str) -> int:
    options, names = parse(argv)
    if told := _formats("bhosts", options):
        return complain(told)
    for name in names:
        if name not in world["hosts"]:
            return complain(f"{name}: Bad host name, host group name or cluster name")
    rows = [row for row in _named(world["hosts"]) if not names or row["name"] in names]
    if "-o" in options:
        return formatted("bhosts", "HOSTS", HOST_FIELDS, world, rows, options, mode)
    if "-l" in options:
        put("\n".join(_host_long(world, row) for row in rows))
        return 0
    text = "HOST_NAME          STATUS          JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV \n"
    for row in rows:
        cells = [HOST_FIELDS[name](world, row) for name in ("jl_u", "max", "njobs", "run", "ssusp", "ususp", "rsv")]
        text += f"{row['name']:<18} {HOST_FIELDS['status'](world, row):<14} "
        text += " ".join(f"{cell:>6}" for cell in cells) + "\n"
    put(text)
    return 0


def _host_long(world: dict[str, Any], row: dict[str, Any]) -> str:
    comment = f"ADMIN ACTION COMMENT:  {row['comment']}\n" if row["comment"] else ""
    return (
        f"HOST  {row['name']}\nSTATUS           CPUF  JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV DISPATCH_WINDOW\n"
        f"{HOST_FIELDS['status'](world, row)}         100.00     -      8      0      0      0      0      0      -\n\n"
        " LOAD THRESHOLD USED FOR SCHEDULING:\n           r15s   r1m  r15m   ut\n loadSched   -    3.5     -     -\n"
        f" loadStop    -     -     -     -\n\n{comment}\n"
    )


def lsload(world: dict[str, Any], argv: list[str], mode: dict[str, Any], me: str) -> int:
    options, _ = parse(argv)
    if told := _formats("lsload", options):
        return complain(told)
    rows = _named(world["hosts"])
    if "-o" in options:
        return formatted("lsload", "HOSTS", LOAD_FIELDS, world, rows, options, mode)
    names = list(LOAD_FIELDS)
    text = " ".join(f"{name.upper() if name == 'host_name' else name:>8}" for name in names).strip() + "\n"
    for row in rows:
        cells = [LOAD_FIELDS[name](world, row) for name in names]
        text += " ".join(f"{cell:>8}" for cell in (cells[:2] if row["down"] == "unavail" else cells)).strip() + "\n"
    put(text)
    return 0


def lshosts(world: dict[str, Any], argv: list[str], mode: dict[str, Any], me: str) -> int:
    text = "HOST_NAME                       type       model  cpuf ncpus maxmem maxswp server RESOURCES\n"
    for row in _named(world["hosts"]):
        text += f"{row['name']:<26} {'X86_64':>9} {'IntelI5':>11} {'100.0':>5} {row['ncpus']:>5} {row['maxmem']:>5}M "
        text += f"     -    Yes ({row['resources']})\n"
    put(text)
    return 0


def lsid(world: dict[str, Any], argv: list[str], mode: dict[str, Any], me: str) -> int:
    lines = {
        "ibm": "IBM Spectrum LSF Standard 10.1.0.15, May 13 2025",
        "ibm9": "Platform LSF 9.1.3.0, Jul 04 2014",
    }
    first = lines.get(os.environ.get("LSF_DOUBLE_DIALECT", "ibm"), "volclava project 2.2, Nov 30 2026")
    put(f"{first}\n\nMy cluster name is double\nMy master name is mgmt01\n")
    return 0


def bpeek(world: dict[str, Any], argv: list[str], mode: dict[str, Any], me: str) -> int:
    job = next((job for job in world["jobs"] if job_ref(job) == argv[-1]), None)
    if job is None or job["stat"] in FINISHED:
        return complain(f"Job <{argv[-1]}> is not found")
    if job["user"] != me and me not in world["admins"]:
        return complain(f"Job <{argv[-1]}> : User permission denied")
    if not job["start"]:
        return complain(f"Job <{argv[-1]}> : Not yet started.")
    put("<< output from stdout >>\n")
    path = Path(str(job["output"]))
    if path.is_absolute() and path.exists():
        sys.stdout.buffer.write(path.read_bytes())
    return 0


def _archived(world: dict[str, Any], options: Options, ids: Sequence[str], me: str) -> list[dict[str, Any]]:
    user = options.get("-u", "all" if ids else me)
    return [
        job
        for job in [*world.get("archive", []), *world["jobs"]]
        if user in ("all", job["user"]) and (not ids or job_ref(job) in ids or str(job["id"]) in ids)
    ]


def bhist(world: dict[str, Any], argv: list[str], mode: dict[str, Any], me: str) -> int:
    options, ids = parse(argv)
    jobs = _archived(world, options, ids, me)
    if not jobs:
        put("No matching job found\n")
        return 255
    put("".join(_past(job) for job in jobs))
    return 0


def bacct(world: dict[str, Any], argv: list[str], mode: dict[str, Any], me: str) -> int:
    options, ids = parse(argv)
    jobs = [job for job in _archived(world, options, ids, me) if job["stat"] in FINISHED]
    put("\nAccounting information about jobs that are:\n  - submitted by all users.\n" + "-" * 78 + "\n")
    put("".join(_past(job, accounting=True) for job in jobs))
    put("\nSUMMARY:      ( time unit: second )\n Total number of done jobs:       0\n")
    return 0


def _past(job: dict[str, Any], accounting: bool = False) -> str:
    text = f"\nJob <{job_ref(job)}>, Job Name <{name_of(job)}>, User <{job['user']}>, Project <{job['project']}>, "
    text += f"Status <{job['stat']}>, Queue <{job['queue']}>, Command <{job['command']}>\n" if accounting else ""
    text += f"Command <{job['command']}>\n" if not accounting else ""
    text += (
        f"{moment(job['submit'], long=True)}: Submitted from host <login01>, to Queue <{job['queue']}>, CWD <$HOME>;\n"
    )
    if job["start"]:
        text += f"{moment(job['start'], long=True)}: Dispatched to <{job['hosts'][0]}>;\n"
    if job["stat"] in FINISHED:
        kind = "done" if job["stat"] == "DONE" else "exit"
        cause = f"; {job['exit_reason']}" if job["exit_reason"] else ""
        text += f"{moment(job['end'], long=True)}: Completed <{kind}>{cause}.\n"
    if accounting:
        text += "\nAccounting information about this job:\n"
        text += "     CPU_T     WAIT     TURNAROUND   STATUS     HOG_FACTOR    MEM    SWAP\n"
        text += f"      0.22        1             36     {kind:>4}         0.0060    {job['mem']}M      0M\n"
    return fold(text) + "-" * 78 + "\n"


def brsvs(world: dict[str, Any], argv: list[str], mode: dict[str, Any], me: str) -> int:
    if not world["reservations"]:
        return complain("No reservation found")
    text = "RSVID           TYPE    USER       NCPUS   RSV_HOSTS   TIME_WINDOW\n"
    for name, made in world["reservations"].items():
        text += f"{name:<15} user    {made['user']:<10} 0/{made['slots']:<6} {made['hosts']}:0/8   {made['window']}\n"
    put(text)
    return 0
