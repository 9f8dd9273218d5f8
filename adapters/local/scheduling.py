"""Which job a node gets next, and in words why the others wait.

Order: queues by their priority, then jobs by theirs, then by age. A job takes as many slots as it asks for cores.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass

from adapters.local.database import Tx
from adapters.local.records import effective_slots

_FIT = "ready = 1 AND cores <= ? AND coalesce(mem, 0) <= ? AND gpus <= ?"


@dataclass(slots=True)
class Room:
    """What a node has left: slots, MB, GPUs."""

    slots: int
    mem: int
    gpus: int

    def take(self, job: sqlite3.Row) -> None:
        self.slots -= job["cores"]
        self.mem -= job["mem"] or 0
        self.gpus -= job["gpus"]


UNMEASURED = 2**53


def room(tx: Tx, node: sqlite3.Row, most: int) -> Room:
    """What the node has left for new jobs, at most `most` slots."""
    used = tx.one(
        "SELECT coalesce(sum(cores), 0), coalesce(sum(mem), 0), coalesce(sum(gpus), 0) FROM jobs"
        " WHERE node = ? AND lease IS NOT NULL",
        node["name"],
    )
    assert used is not None
    slots = min(most, effective_slots(node) - used[0]) if node["enabled"] else 0
    memory = UNMEASURED if node["mem"] is None else node["mem"] - used[1]
    return Room(slots, memory, node["gpus"] - used[2])


def choose(tx: Tx, node: sqlite3.Row, most: int, starved: float) -> list[int]:
    """Ids of the jobs to give to the node now. An array is named once for each element it is to start."""
    left = room(tx, node, most)
    if left.slots > 0 and kept_free(tx, node, left, starved):
        return []
    users: list[str] | None = json.loads(node["users"]) if node["users"] else None
    chosen: list[int] = []
    picked: dict[int, int] = {}
    queues = tx.all("SELECT * FROM queues WHERE active = 1 ORDER BY priority DESC, name") if left.slots > 0 else []
    taken = _Taken(tx)
    while left.slots > 0:
        job = _best(tx, queues, left, users, taken, picked)
        if job is None:
            break
        chosen.append(job["id"])
        picked[job["id"]] = picked.get(job["id"], 0) + 1
        taken.add(job)
        left.take(job)
    return chosen


def kept_free(tx: Tx, node: sqlite3.Row, left: Room, starved: float) -> bool:
    """Whether the node is kept free for the first job in order: one that has waited long, and that smaller jobs would
    overtake for ever. Of the nodes that could run it, the one with the most free slots is kept."""
    first = _first_in_order(tx)
    if first is None or first["cores"] <= left.slots or tx.now - first["submitted"] < starved:
        return False
    able = [
        other
        for other in tx.all("SELECT * FROM nodes WHERE up = 1 AND enabled = 1")
        if effective_slots(other) >= first["cores"] and runs_jobs_of(other, first["user"])
    ]
    best = max(able, key=lambda n: (room(tx, n, effective_slots(n)).slots, n["name"]), default=None)
    return best is not None and bool(best["id"] == node["id"])


def runs_jobs_of(node: sqlite3.Row, user: str) -> bool:
    """Whether the node's worker can become that user."""
    return not node["users"] or user in json.loads(node["users"])


def _first_in_order(tx: Tx) -> sqlite3.Row | None:
    """The job that is next, whether it fits or not."""
    best: tuple[tuple[int, int, int], sqlite3.Row] | None = None
    for queue in tx.all("SELECT name, priority FROM queues WHERE active = 1"):
        job = tx.one(
            "SELECT id, priority, cores, submitted, user FROM jobs INDEXED BY jobs_ready"
            " WHERE queue = ? AND ready = 1 ORDER BY priority DESC, id LIMIT 1",
            queue["name"],
        )
        if job is not None:
            order = (-queue["priority"], -job["priority"], job["id"])
            best = min(best, (order, job), key=lambda pair: pair[0]) if best else (order, job)
    return best[1] if best else None


class _Taken:
    """Slots in use by queue, and by queue and user: what the limits of queues are held against."""

    def __init__(self, tx: Tx) -> None:
        self.queue: dict[str, int] = {}
        self.user: dict[tuple[str, str], int] = {}
        for row in tx.all("SELECT queue, user, sum(cores) AS n FROM jobs WHERE lease IS NOT NULL GROUP BY queue, user"):
            self._add(row["queue"], row["user"], row["n"])

    def _add(self, queue: str, user: str, cores: int) -> None:
        self.queue[queue] = self.queue.get(queue, 0) + cores
        self.user[queue, user] = self.user.get((queue, user), 0) + cores

    def add(self, job: sqlite3.Row) -> None:
        self._add(job["queue"], job["user"], job["cores"])

    def of_users(self, queue: sqlite3.Row) -> list[tuple[str, int]]:
        """(user, slots the queue's limit per user leaves), of those who use any."""
        limit = queue["user_slots"]
        return [(u, limit - n) for (q, u), n in self.user.items() if limit and q == queue["name"]]


def _best(
    tx: Tx, queues: list[sqlite3.Row], left: Room, users: list[str] | None, taken: _Taken, picked: dict[int, int]
) -> sqlite3.Row | None:
    """The first job in order that fits, not counting what is picked already."""
    best: sqlite3.Row | None = None
    for queue in queues:
        if best is not None and queue["priority"] < best["queue_priority"]:
            break
        job = _first_fitting(tx, queue, left, users, taken, picked)
        if job is not None and (best is None or (-job["priority"], job["id"]) < (-best["priority"], best["id"])):
            best = job
    return best


def _first_fitting(
    tx: Tx, queue: sqlite3.Row, left: Room, users: list[str] | None, taken: _Taken, picked: dict[int, int]
) -> sqlite3.Row | None:
    slots = left.slots
    if queue["max_slots"] is not None:
        slots = min(slots, queue["max_slots"] - taken.queue.get(queue["name"], 0))
    if slots < 1:
        return None
    where, values = f"queue = ? AND {_FIT}", [queue["name"], slots, left.mem, left.gpus]
    used_up = [i for i, n in picked.items() if not _has_more(tx, i, n)]
    if used_up:
        where += f" AND id NOT IN ({', '.join('?' * len(used_up))})"
        values += used_up
    if users is not None:
        where += f" AND user IN ({', '.join('?' * len(users))})"
        values += users
    if queue["user_slots"] is not None:
        where += " AND cores <= ?"
        values.append(queue["user_slots"])
    for user, slots_left in taken.of_users(queue):
        where += " AND NOT (user = ? AND cores > ?)"
        values += [user, slots_left]
    return tx.one(
        f"SELECT id, queue, user, cores, mem, gpus, priority, {int(queue['priority'])} AS queue_priority"
        f" FROM jobs INDEXED BY jobs_ready WHERE {where} ORDER BY priority DESC, id LIMIT 1",
        *values,
    )


def _has_more(tx: Tx, job_id: int, picked: int) -> bool:
    """Whether a picked job is an array with further elements that may start now."""
    row = tx.one("SELECT array_left, array_active, array_limit FROM jobs WHERE id = ?", job_id)
    if row is None or row["array_left"] is None:
        return False
    room_left = row["array_left"] if not row["array_limit"] else row["array_limit"] - row["array_active"]
    return picked < min(int(row["array_left"]), int(room_left))
