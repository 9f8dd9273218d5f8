"""`/xce/v1`: jobs, queues, hosts, metrics, history."""

from __future__ import annotations

import sqlite3
import time
from typing import Any

from starlette.responses import Response

from adapters.local import control, jobs, queries, queues, records
from adapters.local.calls import Call, Handler, envelope, json_response
from adapters.local.database import Tx
from adapters.local.problem import Problem


async def list_jobs(call: Call) -> Response:
    return await _job_list(call, history=False)


async def list_history(call: Call) -> Response:
    return await _job_list(call, history=True)


async def _job_list(call: Call, history: bool) -> Response:
    params = call.request.query_params
    own = call.who.name if params.get("mine") in ("1", "true") else call.who.only_own
    query = queries.job_query(params, params.getlist("filter"), own, history=history)
    fields = [name for name in params.get("fields", "").split(",") if name]

    def read(db: sqlite3.Connection) -> bytes:
        rows, total = queries.list_jobs(db, query)
        if fields:
            rows = [{name: row[name] for name in fields if name in row} for row in rows]
        return envelope(queries.columnar(rows, params.get("layout")), count=total)

    return json_response(await call.cluster.db.read(read))


async def get_job(call: Call) -> Response:
    number = call.number("job")
    private_to = None if call.who.may("rbac:control") else call.who.name
    row = await call.cluster.db.read(lambda db: queries.job_detail(db, number, call.who.only_own, private_to))
    return json_response(envelope(row))


async def submit(call: Call) -> Response:
    wish = jobs.check_submission(await call.body())
    key = call.request.headers.get("idempotency-key")

    def write(tx: Tx) -> tuple[Any, str]:
        call.cluster.pending.check(tx, call.who.name)
        number = jobs.submit(tx, call.who.name, wish, key)
        message = f"Job <{number}> is submitted to queue <{wish.columns['queue']}>."
        return {"jobid": number, "message": message}, message

    return await call.write(write, 201)


def _mine(tx: Tx, call: Call, number: int) -> sqlite3.Row:
    """The job, if the asker may act on it. Raises Problem 404."""
    job = jobs.get(tx, number)
    if call.who.only_own not in (None, job["user"]):
        raise Problem(404, f"there is no job {number}")
    return job


async def control_job(call: Call) -> Response:
    body = await call.body()
    action, number = str(body.get("action", "")), call.number("job")
    sig = control.signal_number(body.get("signal"))

    def write(tx: Tx) -> tuple[Any, str]:
        job = _mine(tx, call, number)
        by = "owner" if job["user"] == call.who.name else "admin"
        message = control.control(tx, job, action, sig, by)
        return {"jobid": number, "job_status": jobs.get(tx, number)["state"], "message": message}, message

    return await call.write(write, 202)


async def modify_job(call: Call) -> Response:
    changes, number = control.check_change(await call.body()), call.number("job")

    def write(tx: Tx) -> tuple[Any, str]:
        message = control.modify(tx, _mine(tx, call, number), changes)
        return records.job_row(jobs.get(tx, number)), message

    return await call.write(write)


async def list_queues(call: Call) -> Response:
    return await _rows(call, queries.list_queues)


async def list_hosts(call: Call) -> Response:
    return await _rows(call, queries.list_hosts)


async def _rows(call: Call, read: Any) -> Response:
    layout = call.request.query_params.get("layout")

    def run(db: sqlite3.Connection) -> bytes:
        rows = read(db)
        return envelope(queries.columnar(rows, layout), count=len(rows))

    return json_response(await call.cluster.db.read(run))


async def control_queue(call: Call) -> Response:
    body, name = await call.body(), str(call.request.path_params["queue"])
    return await call.write(lambda tx: queues.control(tx, name, body.get("action"), body.get("reason")), 202)


async def metrics(call: Call) -> Response:
    return json_response(envelope(await call.cluster.db.read(lambda db: queries.metrics(db, time.time()))))


ROUTES: list[tuple[str, str, str, Handler]] = [
    ("GET", "/xce/v1/jobs", "job:view", list_jobs),
    ("POST", "/xce/v1/jobs", "queue:submit", submit),
    ("GET", "/xce/v1/jobs/{job}", "job:view", get_job),
    ("PATCH", "/xce/v1/jobs/{job}", "job:control", modify_job),
    ("POST", "/xce/v1/jobs/{job}/control", "job:control", control_job),
    ("GET", "/xce/v1/history", "job:view", list_history),
    ("GET", "/xce/v1/queues", "queue:view", list_queues),
    ("POST", "/xce/v1/queues/{queue}/control", "queue:control", control_queue),
    ("GET", "/xce/v1/hosts", "host:view", list_hosts),
    ("GET", "/xce/v1/metrics", "metrics:view", metrics),
]
