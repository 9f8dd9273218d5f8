"""`/api`: nodes as operators see them, and work as workers ask for it."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import Response

from adapters.local import nodes, queries, tasks, tokens, values
from adapters.local.calls import Call, Handler, dump, json_response
from adapters.local.database import Tx
from adapters.local.problem import Problem

MAX_WAIT = 30.0


async def list_nodes(call: Call) -> Response:
    return json_response(dump(await call.cluster.db.read(queries.list_nodes)))


async def quota(call: Call) -> Response:
    body, number, version = await call.body(), call.number("node"), call.request.headers.get("if-match")
    return await call.write(lambda tx: (nodes.set_quota(tx, number, body, version), "the quota is set"))


async def enable(call: Call) -> Response:
    return await _enabled(call, True)


async def disable(call: Call) -> Response:
    return await _enabled(call, False)


async def _enabled(call: Call, on: bool) -> Response:
    body, number, version = await call.body(), call.number("node"), call.request.headers.get("if-match")
    message = "jobs may start" if on else "no job starts here"
    return await call.write(lambda tx: (nodes.set_enabled(tx, number, on, body.get("reason"), version), message))


async def token(call: Call) -> Response:
    number, version = call.number("node"), call.request.headers.get("if-match")

    def write(tx: Tx) -> Any:
        tx.effects.access = True
        return nodes.reissue(tx, number, version)

    return await call.write_secret(write)


async def join(call: Call) -> Response:
    body = await call.body()
    most = values.whole(body.get("max_slots", 0), "max_slots", 0, 1_000_000)
    made = await call.cluster.db.write(lambda tx: nodes.join(tx, body.get("name"), most))
    return json_response(dump({"status": "ok", "name": body.get("name"), "token": made}))


def _node(tx: Tx, call: Call) -> Any:
    """The node that asks. Its token may have been re-issued since the request began: asked in the same write."""
    assert call.who.node_id is not None
    node = nodes.find(tx, call.who.node_id)
    header = (call.request.headers.get("authorization") or "").removeprefix("Bearer ").strip()
    if node["token_hash"] != tokens.digest(header):
        raise Problem(401, "the node's token was re-issued")
    return node


async def register(call: Call) -> Response:
    said = nodes.check_registration(await call.body())
    settings = call.cluster.settings

    def write(tx: Tx) -> dict[str, Any]:
        node = _node(tx, call)
        nodes.register(tx, node, said, settings.attempts)
        return {
            "status": "ok", "node_id": node["id"], "name": node["name"], "heartbeat": settings.heartbeat,
            "lease": settings.lease, "grace": settings.grace, "logs": str(call.cluster.logs.resolve()),
        }  # fmt: skip

    answer = await call.cluster.db.write(write)
    call.cluster.heard(call.who.name)
    return json_response(dump(answer))


async def heartbeat(call: Call) -> Response:
    body = await call.body()
    attempts = call.cluster.settings.attempts
    answer = await call.cluster.db.write(lambda tx: nodes.heartbeat(tx, _node(tx, call), body, attempts))
    call.cluster.heard(call.who.name)
    return json_response(dump(answer))


async def orders(call: Call) -> Response:
    """As the answer of a heartbeat, but it comes as soon as there is something new, or after `wait` seconds.

    A worker that has started a job since it asked has not named that job: woken, it is answered in any case, so that it
    asks again with what it holds now, and the order need not wait for a heartbeat.
    """
    body = await call.body()
    held = body.get("tasks", [])
    wait = body.get("wait", 0)
    wait = min(MAX_WAIT, float(wait)) if isinstance(wait, int | float) else 0.0
    known = {name: body.get(name) for name in ("admin_max_slots", "enabled")}
    deadline = asyncio.get_running_loop().time() + wait
    woken = False
    while True:
        news = call.cluster.waiter(call.who.name)
        answer = await call.cluster.db.write(lambda tx: nodes.orders(tx, _node(tx, call), list(held)))
        left = deadline - asyncio.get_running_loop().time()
        news_now = answer["orders"] or any(answer[name] != value for name, value in known.items())
        if news_now or woken or left <= 0 or call.cluster.broker.closed:
            return json_response(dump(answer))
        try:
            async with asyncio.timeout(left):
                woken = await news.wait()
        except TimeoutError:
            return json_response(dump(answer))


async def claim(call: Call) -> Response:
    body = await call.body()
    most = values.whole(body.get("slots", 1), "slots", 0, 1_000_000)
    number = str(body.get("claim", ""))
    starved = call.cluster.settings.starved
    given = await call.cluster.db.write(lambda tx: tasks.claim(tx, _node(tx, call), number, most, starved))
    return json_response(dump({"status": "ok", "tasks": given}))


async def report(call: Call) -> Response:
    said = tasks.check_report(await call.body())
    attempts = call.cluster.settings.attempts
    outcome = await call.cluster.db.write(lambda tx: tasks.report(tx, _node(tx, call), said, attempts))
    return json_response(dump({"status": "ok", "outcome": outcome}))


ROUTES: list[tuple[str, str, str, Handler]] = [
    ("GET", "/api/admin/nodes", "host:view", list_nodes),
    ("POST", "/api/admin/nodes/{node}/quota", "host:control", quota),
    ("POST", "/api/admin/nodes/{node}/enable", "host:control", enable),
    ("POST", "/api/admin/nodes/{node}/disable", "host:control", disable),
    ("POST", "/api/admin/nodes/{node}/token", "host:control", token),
    ("POST", "/api/node/join", "node:join", join),
    ("POST", "/api/node/register", "node:register", register),
    ("POST", "/api/node/heartbeat", "node:heartbeat", heartbeat),
    ("POST", "/api/node/orders", "node:heartbeat", orders),
    ("POST", "/api/task/claim", "task:claim", claim),
    ("POST", "/api/task/report", "task:report", report),
]
