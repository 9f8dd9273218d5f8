"""Rows of the database as rows of the native wire. What is not known stays absent, never zero."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from adapters.local.values import iso

FINAL = ("DONE", "EXIT")


def _present(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def job_row(job: sqlite3.Row) -> dict[str, Any]:
    """A job as `GET /xce/v1/jobs` shows it. Sizes are MB of 1,000,000 bytes, run limit and times in seconds."""
    row = {
        "jobid": job["id"], "user": job["user"], "status": job["state"], "jobname": job["name"], "queue": job["queue"],
        "projectname": job["project"], "command": job["command"], "resreq": job["resreq"],
        "submittime": iso(job["submitted"]), "jobdescription": job["description"],
        "nodes": [job["node"]] if job["node"] else None, "cores": job["cores"], "gpus": job["gpus"] or None,
        "mem": job["mem"], "runlimit": job["run_limit"], "starttime": iso(job["started"]), "endtime": iso(job["ended"]),
        "exitcode": job["exit_code"], "signal": job["signal"], "endedby": job["ended_by"],
        "pendreason": job["reason"], "depends": json.loads(job["depends"]) if job["depends"] else None,
        "priority": job["priority"],
        "arrayid": job["array_id"], "arrayindex": job["array_index"],
    }  # fmt: skip
    if job["array_size"] is not None:
        throttle = f"%{job['array_limit']}" if job["array_limit"] else ""
        row |= {
            "arrayid": job["id"],
            "arrayrange": job["array_range"] + throttle if job["array_range"] else None, "arraysize": job["array_size"],
            "arraypending": job["array_left"], "arrayrunning": job["array_active"], "arraydone": job["array_done"],
            "arrayexit": job["array_exit"],
        }  # fmt: skip
    if job["attempt"] > 1:
        row["attempt"] = job["attempt"]
    return _present(row | usage(job))


def usage(job: sqlite3.Row) -> dict[str, Any]:
    """What a run used, for the accounting: CPU seconds, peak MB, elapsed seconds, who enforced the memory limit."""
    elapsed = job["ended"] - job["started"] if job["ended"] is not None and job["started"] is not None else None
    return {
        "cputime": round(job["cpu"], 3) if job["cpu"] is not None else None,
        "maxmem": -(-job["max_mem"] // 1_000_000) if job["max_mem"] is not None else None,
        "elapsed": round(max(0.0, elapsed), 3) if elapsed is not None else None,
        "memlimitby": job["limit_by"],
    }


def job_detail(job: sqlite3.Row, runs: list[sqlite3.Row]) -> dict[str, Any]:
    """A job with everything the server keeps of it."""
    more = {
        "output": job["output"],
        "error": job["error"],
        "cwd": job["cwd"],
        "env": json.loads(job["env"]) if job["env"] else None,
        "runs": [
            _present({"attempt": r["attempt"], "node": r["node"], "starttime": iso(r["started"]),
                      "endtime": iso(r["ended"]), "outcome": r["outcome"]})
            for r in runs
        ] or None,
    }  # fmt: skip
    return job_row(job) | _present(more)


def queue_row(queue: sqlite3.Row, counts: Mapping[str, int], hosts: list[str]) -> dict[str, Any]:
    """A queue as `GET /xce/v1/queues` shows it; `counts` are jobs by raw state. The run limit is in minutes."""
    susp = counts.get("USUSP", 0) + counts.get("SSUSP", 0) + counts.get("PSUSP", 0)
    state = ("Open" if queue["open"] else "Closed") + ":" + ("Active" if queue["active"] else "Inact")
    return _present(
        {
            "name": queue["name"],
            "status": state,
            "description": queue["description"],
            "priority": queue["priority"],
            "maxslots": queue["max_slots"],
            "userslots": queue["user_slots"],
            "njobs": sum(counts.values()),
            "pend": counts.get("PEND", 0),
            "run": counts.get("RUN", 0),
            "susp": susp,
            "runlimit": queue["run_limit"] // 60 if queue["run_limit"] else None,
            "defaults": _present(
                {
                    "cores": queue["default_cores"],
                    "mem": queue["default_mem"],
                    "gpus": queue["default_gpus"],
                    "runlimit": queue["default_run_limit"] // 60 if queue["default_run_limit"] else None,
                }
            ),
            "hosts": hosts,
            "reason": queue["reason"],
        }
    )


def effective_slots(node: sqlite3.Row) -> int:
    """min(quota, physical), or physical where there is no quota."""
    quota = node["admin_max_slots"]
    physical: int = node["max_slots"]
    return physical if quota is None else min(int(quota), physical)


def host_status(node: sqlite3.Row, used: int) -> str:
    """The LSF-like word for a host's state."""
    if node["last_heartbeat"] is None:
        return "unavail"
    if not node["up"]:
        return "unreach"
    if not node["enabled"]:
        return "closed_Adm"
    return "closed_Full" if used >= effective_slots(node) else "ok"


def node_row(node: sqlite3.Row, used: int) -> dict[str, Any]:
    """A node as `GET /api/admin/nodes` shows it. `admin_max_slots` null means no limit and is always there."""
    status = "offline" if not node["up"] else "busy" if used else "idle"
    row = _present(
        {
            "id": node["id"],
            "name": node["name"],
            "status": status,
            "enabled": bool(node["enabled"]),
            "reason": node["reason"],
            "last_heartbeat": iso(node["last_heartbeat"]),
            "active_slots": used,
            "max_slots": node["max_slots"],
            "load": json.loads(node["load"]),
            "version": node["version"],
        }
    )
    return row | {"admin_max_slots": node["admin_max_slots"]}


def host_row(node: sqlite3.Row, used: int) -> dict[str, Any]:
    """A host as `GET /xce/v1/hosts` shows it; `node` is its other face, as `GET /api/admin/nodes` shows it."""
    load = json.loads(node["load"])
    return {
        "hostName": node["name"],
        "status": host_status(node, used),
        **json.loads(node["facts"]),
        "load": load,
        "node": node_row(node, used),
    }
