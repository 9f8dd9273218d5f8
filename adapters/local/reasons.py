"""Why jobs wait, in words, for the first of each queue: what the state of nodes and queues keeps from starting.

What a job itself keeps back (held, dependencies, a throttled array) is said when it changes, see `jobs.refresh_ready`.
The texts name no figures that change from second to second, so that a reason is told once and not again and again.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass

from adapters.local import jobs
from adapters.local.database import Tx
from adapters.local.records import effective_slots

LOOKED_AT = 100  # jobs of each queue; those behind them wait for these
FREE = "Waiting for free slots"


@dataclass(frozen=True, slots=True)
class Situation:
    """Nodes and use of queues at one moment."""

    up: list[sqlite3.Row]
    queue_slots: dict[str, int]
    user_slots: dict[tuple[str, str], int]


def situation(tx: Tx) -> Situation:
    queue_slots: dict[str, int] = {}
    user_slots: dict[tuple[str, str], int] = {}
    for row in tx.all("SELECT queue, user, sum(cores) AS n FROM jobs WHERE lease IS NOT NULL GROUP BY queue, user"):
        queue_slots[row["queue"]] = queue_slots.get(row["queue"], 0) + row["n"]
        user_slots[row["queue"], row["user"]] = row["n"]
    return Situation(tx.all("SELECT * FROM nodes WHERE up = 1"), queue_slots, user_slots)


def why(job: sqlite3.Row, queue: sqlite3.Row, now: Situation) -> str:
    """Why a job that is ready does not run."""
    return _queue(job, queue, now) or _nodes(job, now) or FREE


def _queue(job: sqlite3.Row, queue: sqlite3.Row, now: Situation) -> str | None:
    name, limit, each = queue["name"], queue["max_slots"], queue["user_slots"]
    if not queue["active"]:
        return f"Queue {name} starts no jobs" + (f": {queue['reason']}" if queue["reason"] else "")
    if limit is not None and job["cores"] > limit:
        return f"Needs {job['cores']} slots; queue {name} has {limit}"
    if limit is not None and now.queue_slots.get(name, 0) + job["cores"] > limit:
        return f"Queue {name} is at its limit of {limit} slots"
    if each is not None and now.user_slots.get((name, job["user"]), 0) + job["cores"] > each:
        return f"{job['user']} is at the limit of {each} slots a user in queue {name}"
    return None


def _nodes(job: sqlite3.Row, now: Situation) -> str | None:
    if not now.up:
        return "No node answers"
    users = [json.loads(node["users"]) if node["users"] else None for node in now.up]
    nodes = [n for n, names in zip(now.up, users, strict=True) if names is None or job["user"] in names]
    if not nodes:
        return f"No node runs jobs of {job['user']}: its worker has to run as root or as {job['user']}"
    for need, what, has in (
        (job["cores"], "slots", max(node["max_slots"] for node in nodes)),
        (job["mem"] or 0, "MB of memory", max(node["mem"] or 2**62 for node in nodes)),
        (job["gpus"], "GPUs", max(node["gpus"] for node in nodes)),
    ):
        if need > has:
            return f"Needs {need} {what}; the largest node has {has}"
    open_nodes = [node for node in nodes if node["enabled"]]
    if not open_nodes:
        return "Every node that could run it is closed by an administrator"
    most = max(effective_slots(node) for node in open_nodes)
    return f"Needs {job['cores']} slots; the quotas of the nodes allow {most}" if job["cores"] > most else None


def review(tx: Tx) -> int:
    """Look at the first waiting jobs of each queue and tell of reasons that have changed. Returns how many."""
    now, changed = situation(tx), 0
    for queue in tx.all("SELECT * FROM queues"):
        first = tx.all(
            "SELECT * FROM jobs INDEXED BY jobs_ready WHERE queue = ? AND ready = 1 ORDER BY priority DESC, id LIMIT ?",
            queue["name"], LOOKED_AT,
        )  # fmt: skip
        for job in first:
            text = why(job, queue, now)
            if text != job["reason"] and not (text == FREE and (job["reason"] or "").startswith("Starts again")):
                tx.update("jobs", "id", job["id"], reason=text)
                jobs.tell(tx, job["id"])
                changed += 1
    return changed
