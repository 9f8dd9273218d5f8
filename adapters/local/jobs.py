"""Jobs in the store: made, looked up, told to subscribers, held, ended. Every function runs within a write."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import Any

from adapters.local import dependencies, records, values
from adapters.local.database import Tx
from adapters.local.problem import Problem

WAITING = "Waiting for its turn"
HELD = "Held by "


def get(tx: Tx, job_id: int) -> sqlite3.Row:
    """The job's row. Raises Problem 404."""
    row = tx.one("SELECT * FROM jobs WHERE id = ?", job_id)
    if row is None:
        raise Problem(404, f"there is no job {job_id}")
    return row


def tell(tx: Tx, job_id: int, change: str = "updated") -> None:
    """Put the job as it is now into the event log, and mark the counts of its queue and host as changed."""
    job = get(tx, job_id)
    tx.event("job", change, records.job_row(job), job["queue"], job["user"])
    touch(tx, job)


def touch(tx: Tx, job: sqlite3.Row) -> None:
    """Counts of the job's queue and host have changed."""
    tx.effects.queues.add(job["queue"])
    if job["node"]:
        tx.effects.hosts.add(job["node"])


@dataclass(frozen=True, slots=True)
class Submission:
    """A checked submission: columns of the jobs table, and what it depends on."""

    columns: dict[str, Any]
    depends: list[tuple[int, str]]
    array: values.Ranges | None
    hold: bool


_TEXTS = {
    "jobname": "name", "projectname": "project", "jobdescription": "description", "resreq": "resreq",
    "output": "output", "error": "error", "cwd": "cwd",
}  # fmt: skip
_KNOWN = frozenset(_TEXTS) | {
    "queue", "command", "cores", "gpus", "nodes", "mem_limit", "run_limit", "depends_on", "array", "env", "hold",
    "priority",
}  # fmt: skip


def check_submission(body: dict[str, Any]) -> Submission:
    """What a submission asks for, checked as far as that needs no database. Raises Problem 400 or 422."""
    unknown = sorted(set(body) - _KNOWN)
    if unknown:
        raise Problem(422, f"a job has no field {unknown[0]!r}")
    command = body.get("command")
    if not isinstance(command, str) or not command.strip() or "\0" in command:
        raise Problem(422, "command must be text that is not empty")
    if body.get("nodes") not in (None, 1):
        raise Problem(422, "this cluster runs a job on one node")
    columns: dict[str, Any] = {column: values.line(body.get(name), name) for name, column in _TEXTS.items()}
    columns["command"] = command
    columns["queue"] = values.line(body.get("queue"), "queue") or "normal"
    columns["cores"] = values.whole(body["cores"], "cores", 1, 100_000) if body.get("cores") is not None else None
    columns["gpus"] = values.whole(body["gpus"], "gpus", 0, 1000) if body.get("gpus") is not None else None
    columns["mem"] = values.memory_mb(body["mem_limit"]) if body.get("mem_limit") is not None else None
    columns["run_limit"] = values.run_limit_seconds(body["run_limit"]) if body.get("run_limit") is not None else None
    columns["priority"] = values.whole(body.get("priority", 50), "priority", 0, 100)
    columns["env"] = _env(body.get("env"))
    hold = body.get("hold", False)
    if not isinstance(hold, bool):
        raise Problem(422, "hold must be true or false")
    array = None
    if body.get("array") is not None:
        array, columns["array_limit"] = values.parse_array(body["array"])
    depends = values.parse_depends(body["depends_on"]) if body.get("depends_on") not in (None, "") else []
    return Submission(columns, depends, array, hold)


def _env(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise Problem(422, "env must be an object of names and texts")
    for name, text in value.items():
        if not isinstance(text, str) or "\0" in text or not name or "=" in name or "\0" in name:
            raise Problem(422, f"env holds {name!r}, which cannot be in an environment")
    return json.dumps(value)


def submit(tx: Tx, user: str, wish: Submission, idem_key: str | None = None) -> int:
    """Make the job and tell of it. Raises Problem 404, 409 or 422."""
    columns = dict(wish.columns)
    queue = tx.one("SELECT * FROM queues WHERE name = ?", columns["queue"])
    if queue is None:
        raise Problem(404, f"there is no queue {columns['queue']!r}")
    if not queue["open"]:
        why = f": {queue['reason']}" if queue["reason"] else ""
        raise Problem(409, f"queue {queue['name']} is closed{why}")
    _apply_queue(columns, queue)
    columns |= {"user": user, "state": "PSUSP" if wish.hold else "PEND", "submitted": tx.now, "idem_key": idem_key}
    columns["name"] = columns["name"] or first_word(columns["command"])
    if wish.array is not None:
        size = values.count_ranges(wish.array)
        columns |= {"array_range": values.format_ranges(wish.array), "array_size": size, "array_left": size}
    if wish.depends:
        columns["depends"] = json.dumps([{"id": i, "kind": kind} for i, kind in wish.depends])
    job_id = tx.insert("jobs", **columns)
    dependencies.add(tx, job_id, wish.depends)
    refresh_ready(tx, job_id, held_by="its owner" if wish.hold else None)
    tell(tx, job_id, "created")
    return job_id


def _apply_queue(columns: dict[str, Any], queue: sqlite3.Row) -> None:
    """The queue's defaults for what was left open, and its limit. Raises Problem 422."""
    columns["cores"] = columns["cores"] or queue["default_cores"]
    columns["mem"] = columns["mem"] or queue["default_mem"]
    columns["gpus"] = queue["default_gpus"] if columns["gpus"] is None else columns["gpus"]
    columns["run_limit"] = columns["run_limit"] or queue["default_run_limit"] or queue["run_limit"]
    check_limit(columns["run_limit"], queue)


def check_limit(run_limit: int | None, queue: sqlite3.Row) -> None:
    """Raises Problem 422 where a run limit is above what the queue allows."""
    if queue["run_limit"] and (run_limit or 0) > queue["run_limit"]:
        most = values.hours_minutes(queue["run_limit"])
        raise Problem(422, f"queue {queue['name']} allows a run limit of {most} at most")


def first_word(command: str) -> str:
    """A name for a job that was given none: the last part of its first word."""
    words = [w for w in command.split() if not w.startswith("#!")]
    return (words[0].rsplit("/", 1)[-1] if words else "job")[:64]


def refresh_ready(tx: Tx, job_id: int, held_by: str | None = None) -> None:
    """Decide whether a pending job may be given out, and why not, from what is stored of it alone."""
    job = get(tx, job_id)
    if job["state"] == "PSUSP":
        reason = HELD + held_by if held_by else job["reason"]
        tx.update("jobs", "id", job_id, ready=0, reason=reason)
        return
    if job["state"] != "PEND" or job["lease"]:
        tx.update("jobs", "id", job_id, ready=0)
        return
    reason = dependencies.reason(tx, job)
    if reason is None and job["array_size"] is not None:
        limit = job["array_limit"]
        if limit and job["array_active"] >= limit:
            reason = f"At most {limit} elements of this array run at a time"
    tx.update("jobs", "id", job_id, ready=int(reason is None), reason=reason or WAITING)


def settle_dependents(tx: Tx, on_job: int) -> None:
    """Job `on_job` has started, ended or been requeued: decide anew what depends on it, and tell of it."""
    other = get(tx, on_job)
    for row in tx.all("SELECT job, kind, met FROM dependencies WHERE on_job = ?", on_job):
        met = dependencies.verdict(row["kind"], other["state"], other["started"] is not None)
        if met == row["met"]:
            continue
        tx.run("UPDATE dependencies SET met = ? WHERE job = ? AND on_job = ? AND kind = ?",
               met, row["job"], on_job, row["kind"])  # fmt: skip
        dependencies.count(tx, row["job"])
        waiting = get(tx, row["job"])
        if waiting["state"] in ("PEND", "PSUSP") and not waiting["lease"]:
            refresh_ready(tx, row["job"])
            tell(tx, row["job"])
