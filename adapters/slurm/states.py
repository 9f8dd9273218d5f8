"""Slurm's states, and what they are in the model. Sources: squeue(1) JOB STATE CODES, sinfo(1) NODE STATE CODES,
scontrol(1); an unknown word becomes `unknown` and keeps its text."""

from __future__ import annotations

from collections.abc import Mapping

from adapters.model import JobStatus, NodeStatus, QueueStatus

JOB_STATES: Mapping[str, JobStatus] = {
    "PENDING": "pending",
    "CONFIGURING": "pending",
    "POWER_UP_NODE": "pending",
    "REQUEUED": "pending",
    "REQUEUE_FED": "pending",
    "REQUEUE_HOLD": "pending",
    "RESV_DEL_HOLD": "pending",
    "SPECIAL_EXIT": "pending",
    "RUNNING": "running",
    "COMPLETING": "running",
    "EXPEDITING": "running",
    "RESIZING": "running",
    "SIGNALING": "running",
    "STAGE_OUT": "running",
    "SUSPENDED": "suspended",
    "STOPPED": "suspended",
    "COMPLETED": "succeeded",
    "CANCELLED": "cancelled",
    "REVOKED": "cancelled",
    "BOOT_FAIL": "failed",
    "DEADLINE": "failed",
    "FAILED": "failed",
    "LAUNCH_FAILED": "failed",
    "NODE_FAIL": "failed",
    "OUT_OF_MEMORY": "failed",
    "PREEMPTED": "failed",
    "RECONFIG_FAIL": "failed",
    "TIMEOUT": "failed",
}
JOB_FLAGS = frozenset(
    {
        "COMPLETING", "CONFIGURING", "EXPEDITING", "LAUNCH_FAILED", "POWER_UP_NODE", "RECONFIG_FAIL", "REQUEUED",
        "REQUEUE_FED", "REQUEUE_HOLD", "RESIZING", "RESV_DEL_HOLD", "REVOKED", "SIGNALING", "SPECIAL_EXIT", "STAGE_OUT",
        "STOPPED", "UPDATE_DB",
    }
)  # fmt: skip
"""Words that JSON lists beside a base state; `squeue` prints one of them in its place."""


def job_status(raw: str) -> JobStatus:
    """The status of ``RUNNING``, ``CANCELLED by 47101`` (accounting), or of a word that is not known."""
    return JOB_STATES.get(raw.split(" ", 1)[0].rstrip("+"), "unknown")


def job_state_of_list(words: list[str]) -> tuple[JobStatus, str]:
    """Status and raw text of a JSON list: ``["CANCELLED","COMPLETING"]``. While a job is completing it still holds its
    nodes; a special exit is pending, whatever stands first."""
    raw = "+".join(words)
    for word in words:
        if word in JOB_FLAGS and word in JOB_STATES and word != "LAUNCH_FAILED":
            return JOB_STATES[word], raw
    return next((JOB_STATES[word] for word in words if word in JOB_STATES), "unknown"), raw


_DOWN = frozenset(
    {"down", "error", "fail", "failing", "failg", "future", "inval", "powered_down",
     "powering_down", "power_down", "reboot", "reboot_issued", "unk", "dynamic_future"}
)  # fmt: skip
_DRAIN = frozenset({"drain", "drained", "draining", "drng", "maint", "blocked"})
_BUSY = frozenset({"allocated", "alloc", "mixed", "mix", "completing", "comp"})
_IDLE = frozenset({"idle", "planned", "reserved", "resv", "cloud", "powering_up", "power_up", "reboot_requested"})
_SILENT = frozenset({"not_responding", "no_respond"})
_NODE_ORDER: tuple[tuple[NodeStatus, frozenset[str]], ...] = (
    ("down", _DOWN), ("drain", _DRAIN), ("busy", _BUSY), ("idle", _IDLE),
)  # fmt: skip
_SUFFIXES = "*~#!%$@^-"


def node_status(raw: str) -> NodeStatus:
    """The status of ``mixed+drain``, ``down*``, ``idle+planned``: what keeps jobs away comes first. A node that Slurm
    has powered down to save energy is idle: it is started for the next job. One that does not respond, but is not
    called down yet, is unknown: so is each node for a moment after it was undrained."""
    words = [word.strip(_SUFFIXES).lower() for word in raw.replace(",", "+").split("+")]
    if words[0] in ("idle", "cloud") and not {"drain", "down", "fail"} & set(words):
        words = [word for word in words if word not in ("powered_down", "powering_down", "power_down")]
    status: NodeStatus = next((status for status, names in _NODE_ORDER if names.intersection(words)), "unknown")
    silent = _SILENT.intersection(words) or raw.endswith("*")
    return "unknown" if silent and status in ("busy", "idle") else status


QUEUE_STATES: Mapping[str, QueueStatus] = {
    "up": "active",
    "drain": "draining",
    "down": "inactive",
    "inact": "inactive",
    "inactive": "inactive",
}
"""A partition that is down takes jobs but starts none; one that drains starts what it has but takes none."""


def queue_status(raw: str) -> QueueStatus:
    return QUEUE_STATES.get(raw.lower(), "unknown")
