"""From a command and the rows it is aimed at to an intent. Building one has no effect."""

from __future__ import annotations

from collections.abc import Sequence

from adapters.intents import (
    CancelJob,
    CheckpointJob,
    HoldJob,
    Intent,
    OpenQueue,
    ReissueNodeToken,
    ReleaseJob,
    RequeueJob,
    ResumeJob,
    SuspendJob,
    TargetedIntent,
    UndrainNode,
)
from adapters.model import Job, Ref, Row

SIMPLE: dict[str, type[TargetedIntent]] = {
    "job.cancel": CancelJob,
    "job.hold": HoldJob,
    "job.release": ReleaseJob,
    "job.requeue": RequeueJob,
    "job.checkpoint": CheckpointJob,
    "queue.open": OpenQueue,
    "node.undrain": UndrainNode,
    "node.token": ReissueNodeToken,
}
"""Commands whose intent needs nothing but its targets."""


def simple_intent(command: str, refs: Sequence[Ref], rows: Sequence[Row | None] = ()) -> Intent:
    """The intent of a command that needs only targets, all of one cluster. Raises KeyError, pydantic.ValidationError.

    `job.suspend` is one key for two verbs: suspended jobs resume.
    """
    cluster = refs[0].cluster
    if command == "job.suspend":
        resumes = bool(rows) and all(isinstance(row, Job) and row.status == "suspended" for row in rows)
        kind: type[TargetedIntent] = ResumeJob if resumes else SuspendJob
        return kind(cluster=cluster, refs=tuple(refs))
    return SIMPLE[command](cluster=cluster, refs=tuple(refs))
