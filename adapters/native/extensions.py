"""What the extension fields of the native cluster mean, one line each, for detail views and the planner."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

JOB_EXTENSIONS: Mapping[str, str] = MappingProxyType(
    {
        "project": "project the job is accounted to",
        "command": "what the job runs",
        "resreq": "resource requirement as it was written",
        "description": "what its owner, or the site, wrote about it",
        "priority": "higher goes first: jobs within their queue, queues among each other",
        "signal": "number of the signal that ended it",
        "ended_by": "who or what ended it: owner, admin, limit or system",
        "attempt": "how many times it was given to a node",
        "array_size": "elements of the array",
        "array_pending": "elements that wait",
        "array_running": "elements that run",
        "array_done": "elements that succeeded",
        "array_exit": "elements that failed",
        "cpu_seconds": "CPU time used",
        "max_memory_bytes": "largest memory of the whole job, bytes",
        "elapsed_seconds": "time between start and end",
        "memory_limit_by": "what enforces the memory limit",
        "output": "file of the standard output",
        "error": "file of the standard error",
        "cwd": "folder it runs in",
        "env": "variables that were set for it",
        "runs": "its runs: attempt, node, times and outcome",
    }
)
QUEUE_EXTENSIONS: Mapping[str, str] = MappingProxyType(
    {
        "description": "what its owner, or the site, wrote about it",
        "priority": "higher goes first: jobs within their queue, queues among each other",
        "max_slots": "slots that all jobs of the queue may use together",
        "user_slots": "slots that the jobs of one user may use in it",
        "suspended": "jobs held or suspended",
        "total": "jobs in the queue",
        "hosts": "nodes that serve it",
        "raw_status": "state as the scheduler says it",
        "reason": "why it is closed or inactive",
    }
)
NODE_EXTENSIONS: Mapping[str, str] = MappingProxyType(
    {
        "load": "load indices; memory, swap and tmp in MB, r15s r1m r15m are run queue lengths",
        "node_id": "id in the node service",
        "version": "grows with each change of quota or state",
        "enabled": "whether work may start here",
        "raw_status": "state as the scheduler says it",
        "host_type": "type of the machine",
        "host_model": "model of the machine",
        "cpu_factor": "relative speed of its CPU",
        "address": "network address",
        "swap_bytes": "swap space, bytes",
        "tmp_bytes": "temporary space, bytes",
        "is_server": "whether it runs jobs",
        "sockets": "processors",
        "cores_per_socket": "cores of one processor",
        "threads_per_core": "threads of one core",
        "thresholds": "load beyond which nothing starts here",
    }
)
