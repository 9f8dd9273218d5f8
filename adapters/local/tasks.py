"""Work given out and taken back: claims with leases, reports, nodes that are lost.

A lease names one run of one job. What a worker says under an older lease never changes the newer run.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from adapters.local import ending, jobs, scheduling, values
from adapters.local.database import Tx
from adapters.local.problem import Problem
from adapters.local.records import FINAL

REPORTED = ("running", "suspended", "done", "exit", "lost")


def claim(tx: Tx, node: sqlite3.Row, claim_id: str, most: int, starved: float = 300.0) -> list[dict[str, Any]]:
    """Give the node up to `most` slots' worth of jobs, never more than its effective slots leave free.

    The same `claim_id` again, because the answer was lost, is answered with the same tasks. Raises Problem 409
    before the node's first heartbeat.
    """
    if node["last_heartbeat"] is None or not node["up"]:
        raise Problem(409, f"node {node['name']} has to send a heartbeat before it claims")
    before = tx.one("SELECT claim, leases FROM claims WHERE node = ?", node["name"])
    if before is not None and before["claim"] == claim_id:
        leases = json.loads(before["leases"])
        again = [tx.one("SELECT * FROM jobs WHERE lease = ?", lease) for lease in leases]
        return [task(job) for job in again if job is not None]
    chosen = [give(tx, node["name"], job) for job in scheduling.choose(tx, node, most, starved)]
    if chosen:
        leases = json.dumps([job["lease"] for job in chosen])
        tx.run("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", node["name"], claim_id, leases)
    return [task(job) for job in chosen]


def give(tx: Tx, node: str, job_id: int) -> sqlite3.Row:
    """Mark the job, or the next element of an array, as given to the node, under a new lease."""
    job = jobs.get(tx, job_id)
    change = "updated"
    if job["array_size"] is not None:
        job_id, change = _next_element(tx, job), "created"
        job = jobs.get(tx, job_id)
    lease = uuid4().hex
    tx.update(
        "jobs", "id", job_id, state="RUN", ready=0, node=node, lease=lease, attempt=job["attempt"] + 1, started=tx.now,
        reason=None, order_verb=None, order_value=None, order_by=None,
    )  # fmt: skip
    tx.insert("runs", lease=lease, job=job_id, attempt=job["attempt"] + 1, node=node, started=tx.now)
    jobs.tell(tx, job_id, change)
    jobs.settle_dependents(tx, job_id)
    return jobs.get(tx, job_id)


_INHERITED = (
    "user, queue, project, command, resreq, description, submitted, cores, gpus, mem, run_limit, priority, output,"
    " error, env, cwd, depends"
)


def _next_element(tx: Tx, array: sqlite3.Row) -> int:
    """Make the row of the array's next element. The array itself counts it as active from now on."""
    index, rest = values.pop_first(values.parse_ranges(array["array_range"]))
    cursor = tx.db.execute(
        f"INSERT INTO jobs ({_INHERITED}, state, name, array_id, array_index)"
        f" SELECT {_INHERITED}, 'PEND', ?, id, ? FROM jobs WHERE id = ?",
        (f"{array['name']}[{index}]", index, array["id"]),
    )
    element = int(cursor.lastrowid or 0)
    left = array["array_left"] - 1
    started = array["started"] if array["started"] is not None else tx.now
    tx.update(
        "jobs", "id", array["id"], array_range=values.format_ranges(rest), array_left=left, started=started,
        array_active=array["array_active"] + 1, state="PEND" if left else "RUN",
    )  # fmt: skip
    jobs.refresh_ready(tx, array["id"])
    if not left:
        tx.update("jobs", "id", array["id"], reason=None)
    jobs.tell(tx, array["id"])
    jobs.settle_dependents(tx, array["id"])
    return element


def task(job: sqlite3.Row) -> dict[str, Any]:
    """What a worker is told of a job it is to run."""
    return {
        "task_id": job["id"], "lease": job["lease"], "attempt": job["attempt"], "user": job["user"],
        "name": job["name"], "command": job["command"], "cores": job["cores"], "gpus": job["gpus"],
        "mem_mb": job["mem"],
        "run_limit": job["run_limit"], "queue": job["queue"], "output": job["output"], "error": job["error"],
        "env": json.loads(job["env"]) if job["env"] else {}, "cwd": job["cwd"], "array_id": job["array_id"],
        "array_index": job["array_index"],
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Report:
    """What a worker says of a task. `order` is the number of the last order it had carried out by then."""

    task_id: int
    lease: str
    state: str
    order: int
    exit_code: int | None
    signal: int | None
    limit: str | None
    reason: str | None
    cpu: float | None
    max_mem: int | None
    limit_by: str | None
    ended: float | None


def check_report(body: dict[str, Any]) -> Report:
    """Raises Problem 422 for a report that says nothing usable."""
    state = body.get("state", body.get("status"))
    if state not in REPORTED:
        raise Problem(422, f"state is one of {', '.join(REPORTED)}, not {state!r}")
    task_id = body.get("task_id")
    if isinstance(task_id, bool) or not isinstance(task_id, int | str) or not str(task_id).isdecimal():
        raise Problem(422, f"task_id must be the number of a job, not {task_id!r}")
    code, sig = body.get("exit_code"), body.get("signal")
    code = None if code is None else values.whole(code, "exit_code", -(2**31), 2**31)
    sig = None if sig is None else values.whole(sig, "signal", 1, 128)
    if state == "done" and (code not in (None, 0) or sig):
        raise Problem(422, f"a task that ended with {code if sig is None else f'signal {sig}'} is not done")
    number = {name: _number(body.get(name), name) for name in ("cpu_seconds", "max_memory_bytes", "ended_at")}
    memory = number["max_memory_bytes"]
    return Report(
        int(task_id), str(body.get("lease", "")), state, values.whole(body.get("order", 0), "order", 0), code, sig,
        values.line(body.get("limit"), "limit"), values.line(body.get("reason"), "reason"), number["cpu_seconds"],
        None if memory is None else int(memory), values.line(body.get("limit_by"), "limit_by"), number["ended_at"],
    )  # fmt: skip


def _number(value: Any, name: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e18:
        raise Problem(422, f"{name} must be a number that is not negative, not {value!r}")
    return float(value)


def report(tx: Tx, node: sqlite3.Row, said: Report, attempts: int) -> str:
    """Take a report. Returns "changed" or "absorbed". Raises Problem 403, 404 or 409; then nothing has changed."""
    job = jobs.get(tx, said.task_id)
    if job["lease"] is None or job["lease"] != said.lease:
        return _late(tx, node, job, said)
    if job["node"] != node["name"]:
        raise Problem(403, f"task {said.task_id} is not given to node {node['name']}")
    if said.state in ("running", "suspended"):
        return _moved(tx, job, "RUN" if said.state == "running" else "USUSP")
    if job["order_verb"] == "requeue" and said.order >= job["order_seq"]:
        by = "its owner" if job["order_by"] == "owner" else "an administrator"
        ending.back_to_queue(tx, job, f"Requeued by {by}")
    elif said.state == "lost":
        ending.lose(tx, job, said.reason or f"node {node['name']} lost it", attempts)
    else:
        ending.finish(tx, job, result(job, said))
    return "changed"


def _moved(tx: Tx, job: sqlite3.Row, state: str) -> str:
    if job["state"] == state:
        return "absorbed"
    tx.update("jobs", "id", job["id"], state=state)
    jobs.tell(tx, job["id"])
    return "changed"


def _late(tx: Tx, node: sqlite3.Row, job: sqlite3.Row, said: Report) -> str:
    """A report under a lease that is over: absorbed unless it contradicts how the job ended."""
    run = tx.one("SELECT node, outcome FROM runs WHERE lease = ? AND job = ?", said.lease, job["id"])
    if run is None or run["node"] != node["name"]:
        raise Problem(403, f"task {said.task_id} was never given to node {node['name']} under lease {said.lease!r}")
    if job["state"] not in FINAL or (said.state == "lost" and run["outcome"] in ("lost", "requeued")):
        return "absorbed"
    outcome = result(job, said)
    same_end = (outcome.exit_code, outcome.signal) == (job["exit_code"], job["signal"])
    same_state = outcome.state == job["state"] or job["ended_by"] is not None
    if said.state not in ("done", "exit") or not (same_end and same_state):
        raise Problem(409, f"job {job['id']} is over ({job['state']}): a report of {said.state} contradicts that")
    return "absorbed"


def result(job: sqlite3.Row, said: Report) -> ending.Result:
    """The final state that a report means for a job, with who ended it."""
    state = "DONE" if said.exit_code in (0, None) and not said.signal and said.state == "done" else "EXIT"
    by, reason = None, said.reason
    if said.limit:
        state, by, reason = "EXIT", "limit", said.reason or f"Ended at its {said.limit} limit"
    elif job["order_verb"] == "kill" and said.order >= job["order_seq"] and _by_order(job, said):
        state, by = "EXIT", job["order_by"]
        reason = f"Cancelled by {'its owner' if by == 'owner' else 'an administrator'}"
    elif reason is None and said.signal:
        reason = f"Ended by signal {said.signal}"
    return ending.Result(
        state, said.exit_code, said.signal, by, reason, said.cpu, said.max_mem, said.limit_by, said.ended
    )


def _by_order(job: sqlite3.Row, said: Report) -> bool:
    """A TERM or KILL of ours ended it whatever the job made of it; another signal only if it died of that one."""
    return job["order_value"] in ("15", "9") or str(said.signal) == job["order_value"]


def lose_unheld(tx: Tx, node: str, held: set[str], why: str, attempts: int) -> int:
    """The node no longer has the runs that are not in `held`: give those jobs out again. Returns how many."""
    gone = [job for job in tx.all("SELECT * FROM jobs WHERE node = ? AND lease IS NOT NULL", node)
            if job["lease"] not in held]  # fmt: skip
    for job in gone:
        ending.lose(tx, job, why, attempts)
    return len(gone)
