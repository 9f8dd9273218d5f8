"""What a person does to jobs: end, hold, stop, resume, requeue, change.

What concerns a running job is an order to its worker: the state changes when the worker has seen it happen. An order
stands in the job's row (a number, a verb), so that a worker that comes back learns the latest one.
"""

from __future__ import annotations

import signal
import sqlite3
from typing import Any

from adapters.local import ending, jobs, values
from adapters.local.database import Tx
from adapters.local.problem import Problem
from adapters.local.records import FINAL

ACTIONS = ("kill", "stop", "resume", "requeue", "checkpoint")
_ENDING = ("kill", "requeue")


def signal_number(value: Any) -> int:
    """A signal by name (``TERM``, ``SIGTERM``) or number. Raises Problem 422."""
    if value is None:
        return int(signal.SIGTERM)
    if isinstance(value, int) and not isinstance(value, bool):
        known: int | None = value if value in set(signal.Signals) else None
    else:
        name = str(value).upper()
        found = signal.Signals.__members__.get(name if name.startswith("SIG") else f"SIG{name}")
        known = int(found) if found else None
    if known is None:
        raise Problem(422, f"there is no signal {value!r}")
    return known


def control(tx: Tx, job: sqlite3.Row, action: str, sig: int, by: str) -> str:
    """Do `action` to a job; `by` is owner or admin. Returns a sentence. Raises Problem 409 or 422."""
    if action == "checkpoint":
        raise Problem(422, "this cluster cannot checkpoint jobs")
    if action not in ACTIONS:
        raise Problem(422, f"action is one of {', '.join(ACTIONS)}, not {action!r}")
    if action == "requeue":
        return _requeue(tx, job, by)
    if job["state"] in FINAL:
        raise Problem(409, f"job {job['id']} is over ({job['state']})")
    if job["array_size"] is not None:
        return _control_array(tx, job, action, sig, by)
    return _control_one(tx, job, action, sig, by)


def _control_array(tx: Tx, job: sqlite3.Row, action: str, sig: int, by: str) -> str:
    """Elements that are rows of their own first, then what still waits as part of the array's row."""
    if action == "kill":
        tx.update("jobs", "id", job["id"], order_verb="kill", order_by=by)
    elements = tx.all("SELECT * FROM jobs WHERE array_id = ? AND ended IS NULL", job["id"])
    for element in elements:
        if not (element["lease"] and element["order_verb"] in _ENDING):
            _control_one(tx, element, action, sig, by)
    job = jobs.get(tx, job["id"])
    if job["array_left"]:
        return _control_one(tx, job, action, sig, by)
    return f"array {job['id']}: {action} sent to {len(elements)} elements"


def _control_one(tx: Tx, job: sqlite3.Row, action: str, sig: int, by: str) -> str:
    if job["lease"]:
        return _order(tx, job, {"kill": "kill", "stop": "stop", "resume": "cont"}[action], str(sig), by)
    if action == "kill":
        return _kill_pending(tx, job, by)
    return _hold(tx, job, by) if action == "stop" else _release(tx, job)


def _order(tx: Tx, job: sqlite3.Row, verb: str, value: str, by: str) -> str:
    if job["order_verb"] in _ENDING and verb not in _ENDING:
        raise Problem(409, f"job {job['id']} is being ended")
    tx.update("jobs", "id", job["id"], order_seq=job["order_seq"] + 1, order_verb=verb, order_value=value, order_by=by)
    tx.effects.wake.add(job["node"])
    return f"job {job['id']}: {verb} sent to {job['node']}"


def _kill_pending(tx: Tx, job: sqlite3.Row, by: str) -> str:
    if job["array_active"]:
        # the elements under way have their orders; the array is over when the last of them is
        tx.update("jobs", "id", job["id"], array_range="", array_left=0, order_verb="kill", order_by=by, state="RUN",
                  ready=0, reason=None)  # fmt: skip
        jobs.tell(tx, job["id"])
        return f"array {job['id']}: what waited is taken out, {job['array_active']} elements are being ended"
    if job["array_size"] is not None:
        tx.update("jobs", "id", job["id"], array_range="", array_left=0)
    ending.finish(tx, job, ending.Result("EXIT", ended_by=by, reason=f"Cancelled by {_who(by)}"))
    return f"job {job['id']} is taken out of the queue"


def _who(by: str) -> str:
    return {"owner": "its owner", "admin": "an administrator"}.get(by, by)


def _hold(tx: Tx, job: sqlite3.Row, by: str) -> str:
    if job["state"] == "PSUSP":
        return f"job {job['id']} is held already"
    if job["state"] != "PEND":
        raise Problem(409, f"job {job['id']} does not wait ({job['state']})")
    tx.update("jobs", "id", job["id"], state="PSUSP")
    jobs.refresh_ready(tx, job["id"], held_by=_who(by))
    jobs.tell(tx, job["id"])
    return f"job {job['id']} is held"


def _release(tx: Tx, job: sqlite3.Row) -> str:
    if job["state"] == "PEND":
        return f"job {job['id']} is not held"
    tx.update("jobs", "id", job["id"], state="PEND")
    jobs.refresh_ready(tx, job["id"])
    jobs.tell(tx, job["id"])
    return f"job {job['id']} is released"


def _requeue(tx: Tx, job: sqlite3.Row, by: str) -> str:
    if job["array_size"] is not None:
        raise Problem(422, f"job {job['id']} is an array: requeue its elements")
    if job["lease"]:
        return _order(tx, job, "requeue", "", by)
    if job["state"] not in FINAL:
        raise Problem(409, f"job {job['id']} waits already")
    ending.back_to_queue(tx, job, f"Requeued by {_who(by)}", reopened=True)
    return f"job {job['id']} is back in the queue"


_CHANGEABLE = {"queue": "queue", "cores": "cores", "mem_limit": "mem", "run_limit": "run_limit", "jobname": "name",
               "priority": "priority"}  # fmt: skip


def check_change(body: dict[str, Any]) -> dict[str, Any]:
    """The columns a PATCH changes. Raises Problem 400 or 422."""
    unknown = sorted(set(body) - set(_CHANGEABLE))
    if unknown:
        raise Problem(422, f"{unknown[0]!r} of a job cannot be changed")
    if not body:
        raise Problem(400, "nothing to change")
    checks: dict[str, Any] = {
        "queue": lambda v: values.line(v, "queue") or "",
        "cores": lambda v: values.whole(v, "cores", 1, 100_000),
        "mem_limit": values.memory_mb,
        "run_limit": values.run_limit_seconds,
        "jobname": lambda v: values.line(v, "jobname") or "",
        "priority": lambda v: values.whole(v, "priority", 0, 100),
    }
    return {_CHANGEABLE[name]: checks[name](value) for name, value in body.items()}


def modify(tx: Tx, job: sqlite3.Row, changes: dict[str, Any]) -> str:
    """Change a pending job, or the run limit of a running one. Raises Problem 404, 409 or 422."""
    if job["state"] in FINAL:
        raise Problem(409, f"job {job['id']} is over ({job['state']})")
    if job["lease"] and set(changes) != {"run_limit"}:
        raise Problem(409, f"job {job['id']} runs: only its run limit can be changed")
    queue = tx.one("SELECT * FROM queues WHERE name = ?", changes.get("queue", job["queue"]))
    if queue is None:
        raise Problem(404, f"there is no queue {changes['queue']!r}")
    if "queue" in changes and not queue["open"]:
        raise Problem(409, f"queue {queue['name']} is closed")
    jobs.check_limit(changes.get("run_limit", job["run_limit"]), queue)
    jobs.touch(tx, job)
    tx.update("jobs", "id", job["id"], **changes)
    if job["lease"]:
        # the run limit travels with the heartbeat: it is part of what the worker is told of each task
        tx.effects.wake.add(job["node"])
    else:
        jobs.refresh_ready(tx, job["id"])
    jobs.tell(tx, job["id"])
    return f"job {job['id']} is changed"
