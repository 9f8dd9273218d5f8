"""The state of the double: jobs, queues, hosts, reservations in one JSON file, changed under a lock."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FINISHED = ("DONE", "EXIT")


def new_world() -> dict[str, Any]:
    """A cluster of four hosts and two queues, without jobs."""
    host = {"closed": False, "comment": "", "ncpus": 8, "maxmem": 24105, "ngpus": 0, "down": "", "resources": "cs"}
    return {
        "next": 101,
        "jobs": [],
        "queues": {
            "normal": {"prio": 30, "open": True, "active": True, "runlimit": 0, "description": "Ordinary work."},
            "short": {"prio": 40, "open": True, "active": True, "runlimit": 60, "description": "One hour."},
        },
        "hosts": {
            "node01": host | {"max": 8},
            "node02": host | {"max": 8, "resources": "cs bigmem"},
            "node03": host | {"max": 4, "ngpus": 2, "resources": "cs gpu"},
            "mgmt01": host | {"max": None, "resources": "mg"},
        },
        "reservations": {},
        "admins": [],
    }


def new_job(world: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A job as bsub without options makes it; `fields` replace what they name. It is not added to the world."""
    job = {
        "id": world["next"], "index": 0, "user": "ana", "stat": "PEND", "queue": "normal", "name": "sleep 60",
        "hosts": [], "slots": 1, "submit": 0, "start": 0, "end": 0, "exit": 0, "exit_reason": "", "pend_reason":
        "New job is waiting for scheduling;", "project": "default", "memlimit": 0, "runlimit": 0, "description": "",
        "command": "sleep 60", "output": "", "error": "", "cwd": "$HOME", "dependency": "", "gpus": 0, "mem": 6,
        "unreachable": False,
    }  # fmt: skip
    return job | fields


def job_ref(job: dict[str, Any]) -> str:
    return f"{job['id']}[{job['index']}]" if job["index"] else str(job["id"])


def used(world: dict[str, Any], host: str, states: tuple[str, ...] = ("RUN", "USUSP", "SSUSP", "UNKWN")) -> int:
    """Slots of a host in use by jobs in these states."""
    return sum(job["hosts"].count(host) for job in world["jobs"] if job["stat"] in states)


def host_status(world: dict[str, Any], name: str) -> str:
    """One host has one status: what is worse hides what is not."""
    host = world["hosts"][name]
    if host["down"]:
        return str(host["down"])
    if host["closed"]:
        return "closed_Adm"
    if host["max"] is not None and used(world, name) >= host["max"]:
        return "closed_Full"
    return "ok"


def queue_status(queue: dict[str, Any]) -> str:
    return f"{'Open' if queue['open'] else 'Closed'}:{'Active' if queue['active'] else 'Inact'}"


@contextmanager
def changing(folder: Path) -> Iterator[dict[str, Any]]:
    """The world under a lock; what the block leaves is written, atomically."""
    with (folder / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        path = folder / "world.json"
        world = json.loads(path.read_text())
        before = json.dumps(world)
        yield world
        after = json.dumps(world)
        if after != before:
            fresh = folder / f"world.{os.getpid()}.tmp"
            fresh.write_text(after)
            fresh.replace(path)


def mode(folder: Path) -> dict[str, Any]:
    """How the double misbehaves now; empty for not at all."""
    path = folder / "mode.json"
    return dict(json.loads(path.read_text())) if path.exists() else {}
