"""Autopilot: a person's yes given beforehand, within limits that only shrink.

It is given by an option of the command line or a key, never by a tool, and is gone when the process ends. It never
covers what needs an operator, what cannot be undone, other people's jobs, or the end of a running job; and it is
suspended as soon as text from outside has been read since the person last spoke.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from adapters.intents import CancelJob, Intent, ModifyJob, Plan, ReleaseJob, RequeueJob, ResumeJob, SubmitJob
from adapters.model import Job, JobSpec
from adapters.text import clean
from console.arrays import elements
from console.gate.prepared import Refused
from console.gate.scope import MINE, AgentScope, Reach, outside

_STARTS = (ReleaseJob, RequeueJob, ResumeJob, ModifyJob)
_HOUR = 3600.0


class Cost(NamedTuple):
    """What a plan takes from the grant."""

    actions: int
    core_hours: float


@dataclass(frozen=True, slots=True)
class Grant:
    """What the person allows beforehand.

    Args:
        verbs: verbs of intents (``submit``, ``hold``).
        actions: objects changed or jobs made, at most (an array counts with all its elements).
        core_hours: cores x time limit of what is started, at most.
    """

    verbs: frozenset[str]
    actions: int
    core_hours: float
    expires: datetime
    scope: AgentScope = MINE

    def record(self) -> dict[str, object]:
        """For the audit log."""
        return {
            "verbs": sorted(self.verbs), "actions": self.actions, "core_hours": self.core_hours,
            "expires": self.expires.isoformat(), "scope": self.scope.record(),
        }  # fmt: skip


class Autopilot:
    """A grant and what has been used of it."""

    def __init__(self, grant: Grant) -> None:
        self.grant = grant
        self.actions = 0
        self.core_hours = 0.0

    def words(self, now: datetime, untrusted: Sequence[str]) -> str:
        """The banner: what is left, until when, and whether it is suspended."""
        minutes = max(0, int((self.grant.expires - now).total_seconds() // 60))
        left = f"{self.grant.actions - self.actions} actions, {self.grant.core_hours - self.core_hours:.1f} core-hours"
        told = f"autopilot: {', '.join(sorted(self.grant.verbs))}; {left}, {minutes} min left"
        return f"{told}; suspended: {clean(untrusted[-1], 80)} was read" if untrusted else told

    def cost(self, plan: Plan, reach: Reach, now: datetime, untrusted: Sequence[str]) -> Cost:
        """What `plan` would take. Raises Refused("autopilot") where the grant does not cover it."""
        why = (
            self._of_now(now, untrusted)
            or _never(plan, reach)
            or self._of_intent(plan, reach)
        )  # fmt: skip
        if why:
            raise _refused(why)
        cost = Cost(_count(plan), _core_hours(plan, reach.jobs))
        if self.actions + cost.actions > self.grant.actions:
            raise _refused(f"{cost.actions} more actions are beyond the {self.grant.actions} that autopilot has")
        if self.core_hours + cost.core_hours > self.grant.core_hours:
            told = f"{cost.core_hours:.1f} core-hours more are beyond the {self.grant.core_hours:g} that autopilot has"
            raise _refused(told)
        return cost

    def spend(self, cost: Cost) -> None:
        """Take it from the grant. It is never given back: what was allowed once is not allowed twice."""
        self.actions += cost.actions
        self.core_hours += cost.core_hours

    def _of_now(self, now: datetime, untrusted: Sequence[str]) -> str:
        if now >= self.grant.expires:
            return "autopilot has expired"
        if untrusted:
            return f"autopilot is suspended: {clean(untrusted[-1], 80)} was read since you last spoke"
        return ""

    def _of_intent(self, plan: Plan, reach: Reach) -> str:
        intent = plan.intent
        if intent.verb not in self.grant.verbs:
            return f"autopilot does not cover {intent.verb.replace('_', ' ')}"
        left_out = outside(self.grant.scope, intent, plan, reach)
        return left_out[0].rstrip(".") if left_out else ""


def _refused(why: str) -> Refused:
    return Refused("autopilot", f"{why[0].upper()}{why[1:]}.", "A person confirms.")


def _never(plan: Plan, reach: Reach) -> str:
    """What no grant covers, whatever it says."""
    intent = plan.intent
    if intent.origin != "chat":
        return "autopilot is for the chat alone"
    if intent.operator:
        return f"autopilot never covers what needs an operator ({intent.verb.replace('_', ' ')})"
    if intent.irreversible:
        return "autopilot never covers what cannot be undone"
    for target in plan.targets:
        if target.ref.kind == "job" and not (reach.owners_known and target.owner == reach.me):
            return f"autopilot never covers other people's jobs (job {clean(target.ref.id, 64)})"
        if isinstance(intent, CancelJob | RequeueJob) and target.state not in ("pending", "failed", "cancelled"):
            return f"autopilot never ends what has started (job {clean(target.ref.id, 64)} is {target.state})"
    return ""


def _count(plan: Plan) -> int:
    if isinstance(plan.intent, SubmitJob):
        return _elements(plan.intent.spec)
    return max(1, len(plan.targets))


def _elements(spec: JobSpec) -> int:
    if not spec.array:
        return 1
    try:
        return elements(spec.array)
    except ValueError as error:
        raise _refused(str(error).rstrip(".")) from None


def _core_hours(plan: Plan, jobs: Mapping[str, Job]) -> float:
    """Cores x time limit of everything the plan may start. Raises Refused where that has no bound."""
    intent = plan.intent
    if isinstance(intent, SubmitJob):
        spec = intent.spec
        if spec.script is not None:
            raise _refused("what a script asks for by itself has no bound that is known")
        return _bounded(spec.cores, spec.walltime_seconds, "the new job") * _elements(spec)
    if not isinstance(intent, _STARTS):
        return 0.0
    return sum(_of_target(intent, jobs.get(target.ref.id), target.ref.id) for target in plan.targets)


def _of_target(intent: Intent, job: Job | None, id: str) -> float:
    cores, seconds = (job.cores, job.walltime_seconds) if job is not None else (None, None)
    if isinstance(intent, ModifyJob):
        cores, seconds = intent.cores or cores, intent.walltime_seconds or seconds
    return _bounded(cores, seconds, f"job {clean(id, 64)}")


def _bounded(cores: int | None, seconds: int | None, what: str) -> float:
    if not cores or not seconds:
        raise _refused(f"{what} names no cores or no time limit, so what it may use has no bound")
    return cores * seconds / _HOUR
