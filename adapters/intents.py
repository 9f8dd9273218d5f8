"""Every write there is, as data: the one table of writes.

An Intent says what somebody wants. Building one has no effect; only the gate turns it into a plan and sends that.
The scheduler's configuration (files, global settings, accounts) is not expressible here.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, TypeAlias
from uuid import UUID, uuid4

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StringConstraints, field_validator, model_validator

from adapters.model import JobSpec, Kind, Ref
from adapters.plan import Change, Command, HttpRequest, Outcome, Plan, Request, Step, Target, request_digest

__all__ = [
    "INTENTS", "CancelJob", "Change", "CheckpointJob", "CloseQueue", "Command", "CreateKey", "CreateReservation",
    "DeleteReservation", "DrainNode", "HoldJob", "HttpRequest", "Intent", "ModifyJob", "OpenQueue", "Origin",
    "Outcome", "Plan", "ReissueNodeToken", "ReleaseJob", "Request", "RequeueJob", "ResumeJob", "RevokeKey",
    "SetNodeQuota", "SetQueueQuota", "Step", "SubmitJob", "SuspendJob", "Target", "TargetedIntent", "UndrainNode",
    "request_digest",
]  # fmt: skip

Origin: TypeAlias = Literal["key", "palette", "command_line", "chat", "mcp", "autopilot"]
AGENT_ORIGINS: frozenset[str] = frozenset({"chat", "mcp", "autopilot"})
_PRINTED = r"[^\x00-\x1f\x7f]"
Line: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=1024, pattern=f"^{_PRINTED}*$")]
_NAME = r"^[^-\x00-\x1f\x7f][^\x00-\x1f\x7f]*$"  # no leading dash: it could be taken for an option
Name: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=_NAME)]


class Intent(BaseModel):
    """What somebody wants done, before anybody has looked at what that means.

    Class facts: `verb` names it everywhere (capabilities, audit, tools); `operator` needs an operator's rights;
    `irreversible` cannot be undone; `persons_only` is never offered to agents.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    verb: ClassVar[str] = ""
    title: ClassVar[str] = ""
    kind: ClassVar[Kind] = "job"
    operator: ClassVar[bool] = False
    irreversible: ClassVar[bool] = False
    persons_only: ClassVar[bool] = False

    cluster: str
    intent_id: UUID = Field(default_factory=uuid4)
    origin: Origin = "key"

    @property
    def by_agent(self) -> bool:
        return self.origin in AGENT_ORIGINS

    @property
    def targets_named(self) -> tuple[Ref, ...]:
        """The Refs it is aimed at; empty for what makes something new."""
        return ()

    def parameters(self) -> dict[str, Any]:
        """The canonical arguments, JSON-ready, for the audit log and for comparing two intents."""
        return self.model_dump(mode="json", exclude={"cluster", "intent_id", "origin", "refs"})

    def describe(self) -> str:
        """One line for a person; names may be hostile, clean before showing."""
        names = ", ".join(ref.id for ref in self.targets_named[:3])
        more = f" and {len(self.targets_named) - 3} more" if len(self.targets_named) > 3 else ""
        return f"{self.title} {names}{more}".strip()


class TargetedIntent(Intent):
    """An intent aimed at existing objects, all of one cluster."""

    refs: tuple[Ref, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _of_this_cluster(self) -> TargetedIntent:
        for ref in self.refs:
            if ref.cluster != self.cluster or ref.kind != self.kind:
                raise ValueError(f"{ref} is not a {self.kind} of cluster {self.cluster}")
            if not ref.id or ref.id.startswith("-") or any(ord(c) < 0x20 or ord(c) == 0x7F for c in ref.id):
                raise ValueError(f"{ref.id!r} cannot be the id of a {self.kind}")
        if len({ref.id for ref in self.refs}) != len(self.refs):
            raise ValueError("the same target is named twice")
        return self

    @property
    def targets_named(self) -> tuple[Ref, ...]:
        return self.refs


class SubmitJob(Intent):
    """Run a command or a batch script as a new job."""

    verb, title = "submit", "Submit"
    spec: JobSpec

    @field_validator("spec")
    @classmethod
    def _complete(cls, spec: JobSpec) -> JobSpec:
        if bool(spec.command) == bool(spec.script):
            raise ValueError("a job needs either a command or a script")
        for name in ("nodes", "cores", "memory_bytes", "walltime_seconds"):
            value = getattr(spec, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, not {value}")
        if spec.gpus is not None and spec.gpus < 0:
            raise ValueError(f"gpus must not be negative, not {spec.gpus}")
        for name in ("name", "queue", "cwd", "output", "error", "account", "array"):
            value = getattr(spec, name)
            if value is not None and any(ord(c) < 0x20 or ord(c) == 0x7F for c in value):
                raise ValueError(f"{name} holds a control character")
        if any("\0" in part for part in spec.command):
            raise ValueError("the command holds a NUL character")
        return spec

    def describe(self) -> str:
        return f"Submit {self.spec.name or (self.spec.command[0] if self.spec.command else 'script')}"


class CancelJob(TargetedIntent):
    """End jobs, or take them out of the queue. `signal` is a name such as TERM; None is the backend's usual way."""

    verb, title = "cancel", "Cancel"
    signal: Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9+]{1,12}$")] | None = None


class HoldJob(TargetedIntent):
    """Keep pending jobs from starting until they are released."""

    verb, title = "hold", "Hold"


class ReleaseJob(TargetedIntent):
    """Let held jobs start again."""

    verb, title = "release", "Release"


class SuspendJob(TargetedIntent):
    """Stop running jobs where they are; they keep their place."""

    verb, title = "suspend", "Suspend"


class ResumeJob(TargetedIntent):
    """Let suspended jobs run on."""

    verb, title = "resume", "Resume"


class RequeueJob(TargetedIntent):
    """Put jobs back into the queue to run again from the start; what a running one did so far is lost."""

    verb, title = "requeue", "Requeue"


class CheckpointJob(TargetedIntent):
    """Have running jobs write a checkpoint."""

    verb, title = "checkpoint", "Checkpoint"


class ModifyJob(TargetedIntent):
    """Change what jobs ask for. Only the fields that are set are changed; `extensions` are the backend's own."""

    verb, title = "modify", "Modify"
    name: Name | None = None
    queue: Name | None = None
    cores: int | None = Field(None, ge=1)
    nodes: int | None = Field(None, ge=1)
    memory_bytes: int | None = Field(None, ge=1)
    walltime_seconds: int | None = Field(None, ge=1)
    priority: int | None = None
    account: Name | None = None
    extensions: Mapping[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _something(self) -> ModifyJob:
        if not self.changes():
            raise ValueError("nothing to change")
        return self

    def changes(self) -> dict[str, Any]:
        """Field -> new value, of those that are set."""
        fields = self.model_dump(exclude={"cluster", "intent_id", "origin", "refs", "extensions"}, exclude_none=True)
        return fields | dict(self.extensions)


class SetNodeQuota(TargetedIntent):
    """Limit how many slots of a node may be used: a number, 0 to pause it, None to lift the limit. Nothing that runs
    is ended. `if_version` is the node's version the person was looking at."""

    verb, title, kind, operator = "set_node_quota", "Set the quota of", "node", True
    slots: StrictInt | None = Field(ge=0, le=1_000_000)
    if_version: str | None = None


class DrainNode(TargetedIntent):
    """Let nothing new start on nodes; what runs goes on."""

    verb, title, kind, operator = "drain", "Drain", "node", True
    reason: Line


class UndrainNode(TargetedIntent):
    """Let jobs start on nodes again."""

    verb, title, kind, operator = "undrain", "Undrain", "node", True


class ReissueNodeToken(TargetedIntent):
    """Give a node a new token; the old one is dead at once and the worker must be given the new one."""

    verb, title, kind, operator, irreversible = "reissue_token", "Re-issue the token of", "node", True, True


class OpenQueue(TargetedIntent):
    """Let a queue take and start jobs."""

    verb, title, kind, operator = "open_queue", "Open", "queue", True


class CloseQueue(TargetedIntent):
    """Close a queue: `submissions` refuses new jobs, `starts` lets none of its jobs start."""

    verb, title, kind, operator = "close_queue", "Close", "queue", True
    what: Literal["submissions", "starts", "both"] = "submissions"
    reason: Line | None = None


class SetQueueQuota(TargetedIntent):
    """Limit what a queue may use, by the backend's own resource names; None lifts that limit."""

    verb, title, kind, operator = "set_queue_quota", "Set the quota of", "queue", True
    limits: Mapping[str, str | int | None] = Field(min_length=1)


class CreateReservation(Intent):
    """Set nodes or cores apart for a span of time."""

    verb, title, kind, operator = "create_reservation", "Create reservation", "reservation", True
    name: Name
    nodes: tuple[Name, ...] = ()
    cores: int | None = Field(None, ge=1)
    users: tuple[Name, ...] = ()
    start_time: datetime | None = None
    duration_seconds: int | None = Field(None, ge=60)
    extensions: Mapping[str, Any] = Field(default_factory=dict)

    def describe(self) -> str:
        return f"Create reservation {self.name}"


class DeleteReservation(TargetedIntent):
    """End reservations."""

    verb, title, kind, operator = "delete_reservation", "Delete reservation", "reservation", True


class CreateKey(Intent):
    """Make an API key for a user of the native scheduler; it is shown once."""

    verb, title, operator, persons_only = "create_key", "Create a key for", True, True
    user: Name
    role: Literal["mcp_readonly", "mcp_operator", "user", "cluster_admin"]

    def describe(self) -> str:
        return f"Create a {self.role} key for {self.user}"


class RevokeKey(Intent):
    """Make an API key of the native scheduler invalid for ever."""

    verb, title, operator, irreversible, persons_only = "revoke_key", "Revoke key", True, True, True
    key_id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_]{1,64}$")]

    def describe(self) -> str:
        return f"Revoke key {self.key_id}"


INTENTS: Mapping[str, type[Intent]] = {
    intent.verb: intent
    for intent in (
        SubmitJob, CancelJob, HoldJob, ReleaseJob, SuspendJob, ResumeJob, RequeueJob, ModifyJob, CheckpointJob,
        SetNodeQuota, DrainNode, UndrainNode, ReissueNodeToken, OpenQueue, CloseQueue, SetQueueQuota,
        CreateReservation, DeleteReservation, CreateKey, RevokeKey,
    )
}  # fmt: skip
