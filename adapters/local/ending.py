"""How a run ends: with a result, or back in the queue because its node was lost."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from adapters.local import jobs
from adapters.local.database import Tx


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a job. `state` is DONE or EXIT; `ended_by` owner, admin, limit or system where somebody ended it.

    `cpu` in seconds, `max_mem` in bytes, `limit_by` the mechanism that held the memory limit.
    """

    state: str
    exit_code: int | None = None
    signal: int | None = None
    ended_by: str | None = None
    reason: str | None = None
    cpu: float | None = None
    max_mem: int | None = None
    limit_by: str | None = None
    ended: float | None = None


def finish(tx: Tx, job: sqlite3.Row, result: Result) -> None:
    """Store a final state, close its run, settle its array and what depends on it, and tell of it."""
    ended = tx.now if result.ended is None else min(tx.now, max(result.ended, job["started"] or 0.0))
    tx.update(
        "jobs", "id", job["id"], state=result.state, exit_code=result.exit_code, signal=result.signal,
        ended_by=result.ended_by, reason=result.reason, cpu=result.cpu, max_mem=result.max_mem,
        limit_by=result.limit_by, ended=ended, lease=None, ready=0, order_verb=None, order_value=None,
    )  # fmt: skip
    if job["lease"]:
        tx.update("runs", "lease", job["lease"], ended=ended, outcome=result.state.lower())
    jobs.tell(tx, job["id"], "finished")
    jobs.settle_dependents(tx, job["id"])
    if job["array_index"] is not None:
        element_over(tx, job["array_id"], result.state == "DONE")


def element_over(tx: Tx, array_id: int, done: bool) -> None:
    """An element has ended: count it, let the next one start, and end the array after its last one."""
    column = "array_done" if done else "array_exit"
    tx.run(f"UPDATE jobs SET {column} = {column} + 1, array_active = array_active - 1 WHERE id = ?", array_id)
    array = jobs.get(tx, array_id)
    if array["array_left"] or array["array_active"]:
        jobs.refresh_ready(tx, array_id)
        jobs.tell(tx, array_id)
        return
    finish(tx, array, array_result(array))


def array_result(array: sqlite3.Row) -> Result:
    """What came of an array as a whole: cancelled if somebody ended it, failed if an element failed."""
    if array["order_verb"] == "kill":
        return Result("EXIT", ended_by=array["order_by"], reason="Some elements were cancelled")
    if array["array_exit"]:
        return Result("EXIT", reason=f"{array['array_exit']} of {array['array_size']} elements failed")
    return Result("DONE", exit_code=0)


def back_to_queue(tx: Tx, job: sqlite3.Row, why: str, *, outcome: str = "requeued", reopened: bool = False) -> None:
    """Let a job run again from the start: its run is closed without a result."""
    if job["lease"]:
        tx.update("runs", "lease", job["lease"], ended=tx.now, outcome=outcome)
    jobs.touch(tx, job)
    tx.update(
        "jobs", "id", job["id"], state="PEND", node=None, lease=None, started=None, ended=None, exit_code=None,
        signal=None, ended_by=None, cpu=None, max_mem=None, order_verb=None, order_value=None, archived=0,
    )  # fmt: skip
    if reopened and job["array_index"] is not None:
        _reopen_array(tx, job["array_id"], job["state"] == "DONE")
    jobs.refresh_ready(tx, job["id"])
    if jobs.get(tx, job["id"])["ready"]:
        tx.update("jobs", "id", job["id"], reason=why)
    jobs.tell(tx, job["id"], "updated")
    jobs.settle_dependents(tx, job["id"])


def _reopen_array(tx: Tx, array_id: int, was_done: bool) -> None:
    column = "array_done" if was_done else "array_exit"
    tx.run(
        f"UPDATE jobs SET {column} = {column} - 1, array_active = array_active + 1, state = 'RUN', ended = NULL,"
        " exit_code = NULL, ended_by = NULL, reason = NULL, archived = 0 WHERE id = ?",
        array_id,
    )
    array = jobs.get(tx, array_id)
    if array["array_left"]:
        tx.update("jobs", "id", array_id, state="PEND")
        jobs.refresh_ready(tx, array_id)
    jobs.tell(tx, array_id)
    jobs.settle_dependents(tx, array_id)


def lose(tx: Tx, job: sqlite3.Row, why: str, attempts: int) -> None:
    """The run is known to be dead and left no result: give the job out again, or give it up after many attempts."""
    if job["order_verb"] == "kill":
        finish(tx, job, Result("EXIT", ended_by=job["order_by"], reason=f"Cancelled; {why}"))
    elif job["attempt"] >= attempts:
        finish(tx, job, Result("EXIT", ended_by="system", reason=f"Given up after {job['attempt']} attempts: {why}"))
    else:
        back_to_queue(tx, job, f"Starts again: {why}", outcome="lost")
