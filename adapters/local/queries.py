"""Reads of the database, for reader threads: every function takes a connection and returns rows of the wire."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adapters.local import records, values
from adapters.local.problem import Problem

_FILTERS = {
    "jobid": "id", "user": "user", "status": "state", "queue": "queue", "jobname": "name", "projectname": "project",
    "node": "node", "nodes": "node", "idempotency_key": "idem_key", "arrayid": "array_id",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class JobQuery:
    """A page of jobs: conditions in SQL, their values, how many and from where."""

    where: str
    values: tuple[Any, ...]
    limit: int | None
    offset: int
    newest_first: bool = False


def job_query(params: Mapping[str, str], filters: list[str], own: str | None, *, history: bool = False) -> JobQuery:
    """Read the query of a job list. Raises Problem 400 or 422.

    `filters` are ``field:value`` or ``field:a|b``, several separated by commas; all must hold.
    """
    conditions = ["ended IS NOT NULL" if history else "archived = 0"]
    found: list[Any] = []
    for part in filter(None, (p for text in filters for p in text.split(","))):
        name, colon, value = part.partition(":")
        if not colon or name not in _FILTERS:
            raise Problem(400, f"filter {part!r} is not like field:value with a field out of {', '.join(_FILTERS)}")
        if name == "idempotency_key":
            conditions[0] = "1"
        choices = value.split("|")
        conditions.append(f"{_FILTERS[name]} IN ({', '.join('?' * len(choices))})")
        found += choices
    if own is not None:
        conditions.append("user = ?")
        found.append(own)
    for name, column, sign in (("since", "ended", ">="), ("until", "ended", "<="), ("after", "id", ">")):
        if params.get(name):
            conditions.append(f"{column} {sign} ?")
            number = values.epoch(params[name], name) if column == "ended" else count(params, "after", 0)
            found.append(number)
    limit = count(params, "limit", None)
    return JobQuery(" AND ".join(conditions), tuple(found), limit, count(params, "offset", 0) or 0, history)


def count(params: Mapping[str, str], name: str, default: int | None) -> int | None:
    """A number that is not negative from the query of a request. Raises Problem 422."""
    text = params.get(name)
    if text is None or text == "":
        return default
    if not text.isdecimal() or len(text) > 15:
        raise Problem(422, f"{name} must be a number that is not negative, not {text!r}")
    return int(text)


def list_jobs(db: sqlite3.Connection, query: JobQuery) -> tuple[list[dict[str, Any]], int]:
    """Rows of the page, and how many there are in all."""
    total = db.execute(f"SELECT count(*) FROM jobs WHERE {query.where}", query.values).fetchone()[0]
    order = "ended DESC, id DESC" if query.newest_first else "id"
    rows = db.execute(
        f"SELECT * FROM jobs WHERE {query.where} ORDER BY {order} LIMIT ? OFFSET ?",
        (*query.values, -1 if query.limit is None else query.limit, query.offset),
    )
    return [records.job_row(row) for row in rows], total


def find_job(db: sqlite3.Connection, job_id: int, own: str | None) -> sqlite3.Row:
    """Raises Problem 404, also for a job that the asker may not see."""
    row: sqlite3.Row | None = db.execute("SELECT * FROM jobs WHERE id = ?", (job_id,)).fetchone()
    if row is None or own not in (None, row["user"]):
        raise Problem(404, f"there is no job {job_id}")
    return row


def job_detail(db: sqlite3.Connection, job_id: int, own: str | None, private_to: str | None) -> dict[str, Any]:
    """A job with everything the server keeps. Raises Problem 404.

    Its environment, which may hold secrets, is for its owner and for administrators: `private_to` is the asker's name,
    None for an administrator.
    """
    row = find_job(db, job_id, own)
    runs = db.execute("SELECT * FROM runs WHERE job = ? ORDER BY attempt", (job_id,)).fetchall()
    found = records.job_detail(row, runs)
    if private_to not in (None, row["user"]):
        found.pop("env", None)
    return found


def state_counts(db: sqlite3.Connection) -> dict[str, dict[str, int]]:
    """Jobs that are not over, by queue and raw state. What waits in an array counts as so many jobs."""
    found: dict[str, dict[str, int]] = {}
    rows = db.execute(
        "SELECT queue, state, sum(CASE WHEN array_left IS NULL THEN 1 ELSE array_left END) AS n FROM jobs"
        " INDEXED BY jobs_live WHERE ended IS NULL GROUP BY queue, state"
    )
    for row in rows:
        if row["n"]:
            found.setdefault(row["queue"], {})[row["state"]] = row["n"]
    return found


def list_queues(db: sqlite3.Connection, only: set[str] | None = None) -> list[dict[str, Any]]:
    counts = state_counts(db)
    hosts = [row["name"] for row in db.execute("SELECT name FROM nodes ORDER BY name")]
    rows = db.execute("SELECT * FROM queues ORDER BY priority DESC, name")
    return [
        records.queue_row(row, counts.get(row["name"], {}), hosts)
        for row in rows
        if only is None or row["name"] in only
    ]


def _used(db: sqlite3.Connection) -> dict[str, int]:
    rows = db.execute("SELECT node, sum(cores) AS n FROM jobs WHERE lease IS NOT NULL GROUP BY node")
    return {row["node"]: row["n"] for row in rows}


def list_hosts(db: sqlite3.Connection, only: set[str] | None = None) -> list[dict[str, Any]]:
    used = _used(db)
    rows = db.execute("SELECT * FROM nodes ORDER BY name")
    return [records.host_row(r, used.get(r["name"], 0)) for r in rows if only is None or r["name"] in only]


def list_nodes(db: sqlite3.Connection) -> list[dict[str, Any]]:
    used = _used(db)
    return [records.node_row(r, used.get(r["name"], 0)) for r in db.execute("SELECT * FROM nodes ORDER BY name")]


def metrics(db: sqlite3.Connection, now: float) -> dict[str, Any]:
    """Totals of the cluster. Nodes that do not answer count as nodes, but not with their slots."""
    counts = state_counts(db)
    ended = db.execute("SELECT state, ended_by, count(*) AS n FROM jobs WHERE archived = 0 AND ended IS NOT NULL"
                       " GROUP BY state, ended_by IN ('owner', 'admin')")  # fmt: skip
    jobs: dict[str, int] = {}
    for states in counts.values():
        for state, number in states.items():
            jobs[state] = jobs.get(state, 0) + number
    for row in ended:
        name = "CANCELLED" if row["ended_by"] in ("owner", "admin") else row["state"]
        jobs[name] = jobs.get(name, 0) + row["n"]
    hosts = list_hosts(db)
    up = [host for host in hosts if host["status"] not in ("unavail", "unreach")]
    statuses: dict[str, int] = {}
    for host in hosts:
        statuses[host["status"]] = statuses.get(host["status"], 0) + 1
    return {
        "at": values.iso(now), "jobs": jobs, "hosts": statuses,
        "queues": {name: {"pend": c.get("PEND", 0), "run": c.get("RUN", 0)} for name, c in counts.items()},
        "slots_total": sum(h["node"]["max_slots"] for h in up),
        "slots_used": sum(h["node"]["active_slots"] for h in up),
        "cores_total": sum(h.get("cores", 0) for h in up),
        "mem_total": sum(h.get("maxMem", 0) for h in up),
    }  # fmt: skip


def columnar(rows: list[dict[str, Any]], layout: str | None) -> Any:
    """Rows in the form that was asked for: plain objects, `map` (keys and values a row), `columns` (a list a field)."""
    if layout in (None, "", "rows"):
        return rows
    if layout == "map":
        return [{"keys": list(row), "values": list(row.values())} for row in rows]
    if layout == "pairs":
        return [[{"key": key, "value": value} for key, value in row.items()] for row in rows]
    if layout == "columns":
        names = list(dict.fromkeys(name for row in rows for name in row))
        return {name: [row.get(name) for row in rows] for name in names}
    raise Problem(400, f"layout is rows, map, pairs or columns, not {layout!r}")
