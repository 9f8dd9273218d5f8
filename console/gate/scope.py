"""How far agents may reach: whose jobs, which queues, which clusters. Shown always, enforced by the gate.

A sentence may narrow a scope at once. Only a person's own key widens it: no tool does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from adapters.intents import Intent, ModifyJob, Plan, SubmitJob
from adapters.model import Job
from adapters.text import clean
from console.profiles import AgentLimits

_HINT = "A person widens the scope with a key of their own; nothing an agent says does."


@dataclass(frozen=True, slots=True)
class AgentScope:
    """What the writes of agents may be aimed at. None does not restrict.

    Args:
        owners: ``mine`` leaves out other people's jobs, and jobs whose owner is not known.
        queues: queues that may be submitted to and whose jobs may be changed; nodes are then out of reach.
        clusters: names of clusters.
    """

    owners: Literal["mine", "all"] = "mine"
    queues: frozenset[str] | None = None
    clusters: frozenset[str] | None = None

    @classmethod
    def beginning(cls, limits: AgentLimits) -> AgentScope:
        """The scope that the configuration has agents begin with."""
        queues = frozenset(limits.queues) if limits.queues is not None else None
        clusters = frozenset(limits.clusters) if limits.clusters is not None else None
        return cls(limits.owners or "mine", queues, clusters)

    def narrowed(self, other: AgentScope) -> AgentScope:
        """What both allow: never more than this scope does."""
        owners: Literal["mine", "all"] = "mine" if "mine" in (self.owners, other.owners) else "all"
        return AgentScope(owners, _both(self.queues, other.queues), _both(self.clusters, other.clusters))

    def words(self) -> str:
        """One line for the person, such as ``only my jobs, queue gpu, any cluster``."""
        whose = "only my jobs" if self.owners == "mine" else "anybody's jobs"
        return f"{whose}, {_named('queue', self.queues)}, {_named('cluster', self.clusters)}"

    def record(self) -> dict[str, object]:
        """For the audit log."""
        return {
            "owners": self.owners,
            "queues": sorted(self.queues) if self.queues is not None else None,
            "clusters": sorted(self.clusters) if self.clusters is not None else None,
        }


MINE = AgentScope()


def _both(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _named(what: str, names: Iterable[str] | None) -> str:
    if names is None:
        return f"any {what}"
    listed = sorted(names)
    return f"{what} {', '.join(clean(name, 64) for name in listed)}" if listed else f"no {what}"


@dataclass(frozen=True, slots=True)
class Reach:
    """What the check looks at beside the scope: who we are, and the targets' rows as they were just read.

    `owners_known` False says that this backend has no owners, so that "mine" cannot be told.
    """

    me: str
    owners_known: bool
    jobs: Mapping[str, Job]


def outside(scope: AgentScope, intent: Intent, plan: Plan | None, reach: Reach) -> tuple[str, str] | None:
    """Why the scope leaves this out, and a hint; None where it lies within."""
    told = (
        _cluster(scope, intent)
        or _queue_named(scope, intent)
        or (_owners(scope, plan, reach) if plan is not None else None)
        or (_queues_of_targets(scope, plan, reach) if plan is not None else None)
    )
    return (told, _HINT) if told else None


def _cluster(scope: AgentScope, intent: Intent) -> str | None:
    if scope.clusters is not None and intent.cluster not in scope.clusters:
        return f"{clean(intent.cluster, 64)} is outside the agents' scope ({scope.words()})."
    return None


def _queue_named(scope: AgentScope, intent: Intent) -> str | None:
    """A queue that the intent itself names, or leaves to the scheduler."""
    if scope.queues is None:
        return None
    if isinstance(intent, SubmitJob):
        wanted = [intent.spec.queue]
    elif intent.kind == "queue":
        wanted = [ref.id for ref in intent.targets_named]
    elif isinstance(intent, ModifyJob) and intent.queue is not None:
        wanted = [intent.queue]
    elif intent.kind == "job":
        wanted = []
    else:
        return f"{intent.title} … concerns more than {_named('queue', scope.queues)}, which is the agents' scope."
    for queue in wanted:
        if queue not in scope.queues:
            told = clean(queue, 64) if queue else "The default queue"
            return f"{told} is outside the agents' scope ({scope.words()})."
    return None


def _owners(scope: AgentScope, plan: Plan, reach: Reach) -> str | None:
    if scope.owners == "all":
        return None
    for target in plan.targets:
        if target.ref.kind != "job" or (reach.owners_known and target.owner == reach.me):
            continue
        owner = f"belongs to {clean(target.owner, 64)}" if target.owner else "has no owner that is known"
        return f"job {clean(target.ref.id, 80)} {owner}, and the agents' scope is {scope.words()}."
    return None


def _queues_of_targets(scope: AgentScope, plan: Plan, reach: Reach) -> str | None:
    if scope.queues is None:
        return None
    for target in plan.targets:
        job = reach.jobs.get(target.ref.id)
        if target.ref.kind == "job" and (job is None or job.queue not in scope.queues):
            where = f"is in queue {clean(job.queue, 64)}" if job and job.queue else "is in no queue that is known"
            return f"job {clean(target.ref.id, 80)} {where}, and the agents' scope is {scope.words()}."
    return None
