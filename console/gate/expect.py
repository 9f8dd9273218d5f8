"""What a backend's own data looks like once a write has taken effect: the one table of it, by intent."""

from __future__ import annotations

from adapters.intents import (
    CancelJob,
    DrainNode,
    HoldJob,
    Intent,
    ModifyJob,
    ReleaseJob,
    RequeueJob,
    ResumeJob,
    SetNodeQuota,
    SetQueueQuota,
    SuspendJob,
    Target,
    UndrainNode,
)
from adapters.model import Job, Node, Row

_WORDS = {"set_node_quota": "quota", "set_queue_quota": "quota", "reissue_token": "new token"}


def changed_fields(intent: Intent) -> frozenset[str]:
    """The values of a target (`Target.values`) that the write is about to change: who confirmed has seen those."""
    if isinstance(intent, SetNodeQuota):
        return frozenset({"slots_quota"})
    if isinstance(intent, ModifyJob):
        return frozenset(intent.changes())
    if isinstance(intent, SetQueueQuota):
        return frozenset(intent.limits)
    return frozenset()


def mark_words(intent: Intent) -> str:
    """The mark of a row while a write is in flight: ``cancel sent``."""
    return f"{_WORDS.get(intent.verb, intent.verb.replace('_', ' '))} sent"


def target_shows(intent: Intent, was: Target, now: Target | None) -> bool | None:
    """Whether a target that was read again shows that the write took effect; None where it cannot tell."""
    if isinstance(intent, CancelJob):
        return now is None or now.finished
    if now is None:
        return None
    if isinstance(intent, SetNodeQuota):
        return now.values["slots_quota"] == intent.slots if "slots_quota" in now.values else None
    if isinstance(intent, DrainNode):
        return now.state in ("drain", "down")
    if isinstance(intent, UndrainNode):
        return now.state != "drain"
    if isinstance(intent, SuspendJob):
        return now.state == "suspended" or now.finished
    if isinstance(intent, ResumeJob):
        return now.state != "suspended"
    if isinstance(intent, RequeueJob):
        return now.state == "pending" or (was.state, was.finished) != (now.state, now.finished)
    if isinstance(intent, ModifyJob):
        wanted = {name: value for name, value in intent.changes().items() if name in now.values}
        return all(now.values[name] == value for name, value in wanted.items()) if wanted else None
    return _differs(was, now) if now.ref.kind != "node" else None


def _differs(was: Target, now: Target) -> bool | None:
    """For intents without a state of their own in the model (hold, a queue's state): anything that is different."""
    if was.state != now.state or was.version != now.version:
        return True
    shared = [name for name in was.values if name in now.values]
    if any(was.values[name] != now.values[name] for name in shared):
        return True
    return False if shared or was.version is not None else None


def row_shows(intent: Intent, row: Row | None) -> bool:
    """Whether a row of the store says by itself that the write took effect, so that its mark can go."""
    if row is None:
        return True
    if isinstance(row, Job):
        return _job_shows(intent, row)
    if isinstance(row, Node):
        if isinstance(intent, SetNodeQuota):
            return row.slots_quota == intent.slots
        if isinstance(intent, DrainNode):
            return row.status == "drain"
        if isinstance(intent, UndrainNode):
            return row.status != "drain"
    return False


def _job_shows(intent: Intent, job: Job) -> bool:
    if job.finished and not isinstance(intent, RequeueJob):
        return True
    if isinstance(intent, SuspendJob):
        return job.status == "suspended"
    if isinstance(intent, ResumeJob):
        return job.status != "suspended"
    if isinstance(intent, HoldJob | ReleaseJob):
        return job.status == "running"
    return False
