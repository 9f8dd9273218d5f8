"""Tools that would change something: each only builds an intent. The gate plans it, a person confirms it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from pydantic import Field, ValidationError

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
    SubmitJob,
    SuspendJob,
    TargetedIntent,
    UndrainNode,
)
from adapters.model import Kind, Ref
from console.tools.templates import Submission, spec_of
from console.tools.tool import Params, Proposal, Tool, ToolError
from console.tools.toolbox import Toolbox


class Jobs(Params):
    ids: tuple[str, ...] = Field(
        min_length=1, max_length=1000, description="Ids of jobs; `123[4]` or `123_4` is one element of an array."
    )


class Cancel(Jobs):
    signal: str | None = Field(
        None, pattern=r"^[A-Z][A-Z0-9+]{1,12}$", description="A signal's name without SIG; absent: the usual end."
    )


class Changes(Params):
    """What is to be different. `cluster` has no meaning here."""

    name: str | None = Field(None, min_length=1, max_length=256)
    queue: str | None = Field(None, min_length=1, max_length=256)
    cores: int | None = Field(None, ge=1)
    nodes: int | None = Field(None, ge=1)
    memory_bytes: int | None = Field(None, ge=1, description="Bytes; 4 GB = 4000000000.")
    walltime_seconds: int | None = Field(None, ge=1, description="Seconds.")
    priority: int | None = None
    account: str | None = Field(None, min_length=1, max_length=256)


class Modify(Params):
    id: str = Field(min_length=1, max_length=128)
    changes: Changes


class OneNode(Params):
    node: str = Field(min_length=1, max_length=255)


class Quota(OneNode):
    slots: int | None = Field(
        ge=0,
        le=1_000_000,
        strict=True,
        description="Slots that may be used; 0 pauses the node, null lifts the limit. Must be given.",
    )


class Drain(OneNode):
    reason: str = Field(min_length=1, max_length=1024, description="Shown to everybody who looks at the node.")


def _refs(box: Toolbox, cluster: str, kind: Kind, ids: Sequence[str]) -> tuple[Ref, ...]:
    """Names of what the store knows, so that a reused id is told apart; others are resolved when planning."""
    return tuple(box.engine.store.find(cluster, kind, id) or Ref(cluster, kind, id) for id in ids)


def _build(make: type[Intent], **values: Any) -> Proposal:
    try:
        return Proposal(make(**values))
    except ValidationError as error:
        bad = "; ".join(str(item["msg"]).removeprefix("Value error, ") for item in error.errors())
        raise ToolError(f"{make.title}: {bad}.") from None


def _on_jobs(make: type[TargetedIntent]) -> Any:
    async def write(box: Toolbox, params: Jobs) -> Proposal:
        cluster = box.name(params.cluster)
        return _build(make, cluster=cluster, refs=_refs(box, cluster, "job", params.ids))

    return write


async def cancel(box: Toolbox, params: Cancel) -> Proposal:
    cluster = box.name(params.cluster)
    return _build(CancelJob, cluster=cluster, refs=_refs(box, cluster, "job", params.ids), signal=params.signal)


async def modify(box: Toolbox, params: Modify) -> Proposal:
    cluster = box.name(params.cluster)
    changes = params.changes.model_dump(exclude={"cluster"}, exclude_none=True)
    return _build(ModifyJob, cluster=cluster, refs=_refs(box, cluster, "job", [params.id]), **changes)


async def set_quota(box: Toolbox, params: Quota) -> Proposal:
    cluster = box.name(params.cluster)
    return _build(SetNodeQuota, cluster=cluster, refs=_refs(box, cluster, "node", [params.node]), slots=params.slots)


async def drain(box: Toolbox, params: Drain) -> Proposal:
    cluster = box.name(params.cluster)
    return _build(DrainNode, cluster=cluster, refs=_refs(box, cluster, "node", [params.node]), reason=params.reason)


async def undrain(box: Toolbox, params: OneNode) -> Proposal:
    cluster = box.name(params.cluster)
    return _build(UndrainNode, cluster=cluster, refs=_refs(box, cluster, "node", [params.node]))


async def submit(box: Toolbox, params: Submission) -> Proposal:
    spec = await asyncio.to_thread(spec_of, params)  # a template of the user's own is a file
    proposal = _build(SubmitJob, cluster=box.name(params.cluster), spec=spec)
    return Proposal(proposal.intent, dry_run=params.dry_run)


WRITES = (
    Tool("scheduler_submit", "Submit a job from a template. With dry_run only the plan is shown.", Submission, "write", write=submit, idempotent=False),
    Tool("scheduler_cancel", "End jobs, or take them out of the queue.", Cancel, "write", write=cancel, destructive=True),
    Tool("scheduler_hold", "Keep pending jobs from starting.", Jobs, "write", write=_on_jobs(HoldJob), destructive=True),
    Tool("scheduler_release", "Let held jobs start again.", Jobs, "write", write=_on_jobs(ReleaseJob)),
    Tool("scheduler_suspend", "Stop running jobs where they are.", Jobs, "write", write=_on_jobs(SuspendJob), destructive=True),
    Tool("scheduler_resume", "Let suspended jobs run on.", Jobs, "write", write=_on_jobs(ResumeJob)),
    Tool("scheduler_requeue", "Put jobs back into the queue, to run again from the start.", Jobs, "write", write=_on_jobs(RequeueJob), destructive=True, idempotent=False),
    Tool("scheduler_modify", "Change what one job asks for.", Modify, "write", write=modify, destructive=True),
    Tool("scheduler_set_node_quota", "Limit how many slots of a node may be used. Needs an operator.", Quota, "write", write=set_quota, operator=True, destructive=True),
    Tool("scheduler_drain_node", "Let nothing new start on a node. Needs an operator.", Drain, "write", write=drain, operator=True, destructive=True),
    Tool("scheduler_undrain_node", "Let jobs start on a node again. Needs an operator.", OneNode, "write", write=undrain, operator=True),
)  # fmt: skip
