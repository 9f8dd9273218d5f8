"""Nodes: joined, heard of, limited, taken out, lost. Every function runs within a write."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import Any

from adapters.local import jobs, records, tasks, tokens, values
from adapters.local.database import Tx
from adapters.local.problem import Problem


def find(tx: Tx, node_id: int) -> sqlite3.Row:
    """Raises Problem 404."""
    row = tx.one("SELECT * FROM nodes WHERE id = ?", node_id)
    if row is None:
        raise Problem(404, f"there is no node {node_id}")
    return row


def used_slots(db: sqlite3.Connection, name: str) -> int:
    """Slots of the node that jobs hold."""
    row = db.execute("SELECT coalesce(sum(cores), 0) FROM jobs WHERE node = ? AND lease IS NOT NULL", (name,))
    return int(row.fetchone()[0])


def tell(tx: Tx, node_id: int, change: str = "updated") -> dict[str, Any]:
    """Put the node as it is now into the event log; returns its row of the nodes list."""
    node = find(tx, node_id)
    used = used_slots(tx.db, node["name"])
    tx.event("host", change, records.host_row(node, used), None, None)
    return records.node_row(node, used)


def join(tx: Tx, name: Any, max_slots: int) -> str:
    """Make a node and return its token, shown this once. Raises Problem 409 or 422."""
    text = values.line(name, "name", 255)
    if not text or text.startswith("-") or "/" in text or not text.isprintable():
        raise Problem(422, f"{name!r} cannot be the name of a node")
    if tx.one("SELECT 1 FROM nodes WHERE name = ?", text) is not None:
        raise Problem(409, f"node {text} has joined already: give its worker the node's own token, or re-issue it")
    token = tokens.new_token(tokens.NODE)
    number = tx.insert("nodes", name=text, token_hash=tokens.digest(token), max_slots=max_slots)
    tell(tx, number, "created")
    tx.effects.queues |= {row["name"] for row in tx.all("SELECT name FROM queues")}  # their rows name the hosts
    return token


@dataclass(frozen=True, slots=True)
class Registration:
    """What a worker says of itself when it starts."""

    instance: str
    max_slots: int
    users: list[str] | None
    facts: dict[str, Any]
    mem: int | None
    gpus: int
    held: frozenset[str]


def check_registration(body: dict[str, Any]) -> Registration:
    """Raises Problem 422."""
    users = body.get("users")
    if users is not None and not (isinstance(users, list) and all(isinstance(u, str) for u in users)):
        raise Problem(422, "users must be a list of names, or null for any")
    facts = body.get("facts", {})
    if not isinstance(facts, dict) or len(json.dumps(facts)) > 16_000:
        raise Problem(422, "facts must be an object of moderate size")
    held = body.get("held", [])
    if not isinstance(held, list):
        raise Problem(422, "held must be a list of leases")
    mem = body.get("mem_mb")
    return Registration(
        str(body.get("instance", "")),
        values.whole(body.get("max_slots"), "max_slots", 0, 1_000_000),
        users,
        facts,
        None if mem is None else values.whole(mem, "mem_mb", 1),
        values.whole(body.get("gpus", 0), "gpus", 0, 1000),
        frozenset(str(lease) for lease in held),
    )


def register(tx: Tx, node: sqlite3.Row, said: Registration, attempts: int) -> None:
    """A worker has started: what an earlier one of that name ran is dead unless the new one holds its result."""
    tx.update(
        "nodes", "id", node["id"], instance=said.instance, max_slots=said.max_slots, facts=json.dumps(said.facts),
        users=None if said.users is None else json.dumps(said.users), mem=said.mem, gpus=said.gpus, up=0,
        load="{}",
    )  # fmt: skip
    tasks.lose_unheld(tx, node["name"], set(said.held), f"the worker of {node['name']} was restarted", attempts)
    tell(tx, node["id"])


def leases_of(held: Any) -> set[str]:
    """The leases in a heartbeat's list of tasks."""
    return {str(item.get("lease", "")) for item in held if isinstance(item, dict)} if isinstance(held, list) else set()


def heartbeat(tx: Tx, node: sqlite3.Row, body: dict[str, Any], attempts: int) -> dict[str, Any]:
    """Take a heartbeat; the answer holds the quota and what the worker has to do. Raises Problem 409 or 422."""
    if body.get("instance", node["instance"]) != node["instance"]:
        raise Problem(409, f"another worker has registered as {node['name']} in the meantime")
    if body.get("leaving"):
        mark_down(tx, node["name"])
        why = f"the worker of {node['name']} was stopped"
        tasks.lose_unheld(tx, node["name"], leases_of(body.get("tasks")), why, attempts)
        return orders(tx, find(tx, node["id"]), [])
    load = body.get("load", {})
    if not isinstance(load, dict):
        raise Problem(422, "load must be an object of numbers")
    kept = {str(k): v for k, v in load.items() if isinstance(v, int | float) and not isinstance(v, bool)}
    most = values.whole(body.get("max_slots", node["max_slots"]), "max_slots", 0, 1_000_000)
    came_up = not node["up"]
    tx.update("nodes", "id", node["id"], last_heartbeat=tx.now, up=1, load=json.dumps(kept), max_slots=most)
    if came_up or most != node["max_slots"]:
        tell(tx, node["id"])
        heard_again(tx, node["name"])
    else:
        tx.effects.hosts.add(node["name"])
    held = body.get("tasks", [])
    return orders(tx, find(tx, node["id"]), held if isinstance(held, list) else [])


def orders(tx: Tx, node: sqlite3.Row, held: list[Any]) -> dict[str, Any]:
    """The answer to a heartbeat: the quota, and for each run the worker holds what it has to do.

    `held` is a list of {lease, order, run_limit}. A lease that is over is answered with `drop`.
    """
    answer: dict[str, Any] = {
        "status": "ok", "admin_max_slots": node["admin_max_slots"], "enabled": bool(node["enabled"]), "orders": [],
    }  # fmt: skip
    for item in held:
        if not isinstance(item, dict):
            continue
        lease = str(item.get("lease", ""))
        job = tx.one("SELECT * FROM jobs WHERE lease = ?", lease)
        if job is None or job["node"] != node["name"]:
            answer["orders"].append({"lease": lease, "verb": "drop"})
            continue
        if job["order_verb"] and job["order_seq"] > values.whole(item.get("order", 0), "order", 0):
            answer["orders"].append(
                {"lease": lease, "verb": job["order_verb"], "value": job["order_value"], "order": job["order_seq"]}
            )
        if job["run_limit"] != item.get("run_limit"):
            answer["orders"].append({"lease": lease, "verb": "limit", "value": job["run_limit"]})
    return answer


_ABSENT = object()


def set_quota(tx: Tx, node_id: int, body: dict[str, Any], if_match: str | None) -> dict[str, Any]:
    """Set or lift a node's quota. Raises Problem 400 (absent), 412 (changed by somebody else), 422 (no quota)."""
    quota = body.get("admin_max_slots", _ABSENT)
    if quota is _ABSENT:
        raise Problem(400, "admin_max_slots is absent: give a number, or null for no limit; nothing is changed")
    if quota is not None:
        quota = values.whole(quota, "admin_max_slots", 0, 1_000_000)
    return _change(tx, node_id, if_match, admin_max_slots=quota)


def set_enabled(tx: Tx, node_id: int, enabled: bool, reason: Any, if_match: str | None) -> dict[str, Any]:
    """Let jobs start on a node, or none. Raises Problem 412 or 422."""
    text = None if enabled else values.line(reason, "reason")
    return _change(tx, node_id, if_match, enabled=int(enabled), reason=text)


def reissue(tx: Tx, node_id: int, if_match: str | None) -> dict[str, Any]:
    """Give the node a new token; the old one is dead with the commit of this."""
    token = tokens.new_token(tokens.NODE)
    row = _change(tx, node_id, if_match, token_hash=tokens.digest(token))
    return {"id": row["id"], "name": row["name"], "token": token, "version": row["version"]}


def _change(tx: Tx, node_id: int, if_match: str | None, **columns: Any) -> dict[str, Any]:
    node = find(tx, node_id)
    if if_match is not None and if_match.strip().strip('"') not in ("*", str(node["version"])):
        raise Problem(412, f"node {node['name']} was changed by somebody else (version {node['version']} now)")
    tx.update("nodes", "id", node_id, version=node["version"] + 1, **columns)
    tx.effects.wake.add(node["name"])
    return tell(tx, node_id)


def mark_down(tx: Tx, name: str) -> None:
    """The node misses its heartbeats. What it runs stays its own until it is known dead or its lease has run out."""
    node = tx.one("SELECT * FROM nodes WHERE name = ? AND up = 1", name)
    if node is None:
        return
    tx.update("nodes", "id", node["id"], up=0)
    tell(tx, node["id"])
    for job in tx.all("SELECT id FROM jobs WHERE node = ? AND lease IS NOT NULL", name):
        tx.update("jobs", "id", job["id"], reason=f"Node {name} does not answer")
        jobs.tell(tx, job["id"])


def heard_again(tx: Tx, name: str) -> None:
    """The node answers again before its lease ran out."""
    for job in tx.all("SELECT id FROM jobs WHERE node = ? AND lease IS NOT NULL AND reason IS NOT NULL", name):
        tx.update("jobs", "id", job["id"], reason=None)
        jobs.tell(tx, job["id"])
