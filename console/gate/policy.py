"""What may be done at all: rules in a fixed order, each of which can refuse and has a name.

The rules run twice: before a plan is made, and with the plan once its targets and their owners are known; and once
more just before sending.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from adapters.base import Capabilities, Identity
from adapters.intents import INTENTS, Intent, Plan, SubmitJob, Target
from adapters.model import Job
from adapters.text import clean
from console.audit.redact import holds_secret
from console.config import Config
from console.gate.prepared import Approval, Confirm, Refused
from console.gate.scope import MINE, AgentScope, Reach, outside
from console.profiles import Profile


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What the rules look at beside the intent itself.

    Args:
        agents: the agents' scope, which their intents must lie within.
        jobs: rows of an agent's targets by id, as they were just read; empty where nothing needs them.
    """

    config: Config
    profile: Profile
    capabilities: Capabilities
    identity: Identity
    agents: AgentScope = MINE
    jobs: Mapping[str, Job] = field(default_factory=dict)

    @property
    def me(self) -> str:
        """Whose jobs are "mine": the person the profile names, else the account the backend knows."""
        return self.profile.owner or self.identity.name

    @property
    def reach(self) -> Reach:
        return Reach(self.me, "owner" not in self.capabilities.absent.get("job", frozenset()), self.jobs)

    def others(self, plan: Plan) -> list[Target]:
        """Jobs of other people. A backend that has no owners has no other people's jobs."""
        if "owner" in self.capabilities.absent.get("job", frozenset()):
            return []
        return [t for t in plan.targets if t.ref.kind == "job" and t.owner != self.me]


Rule = Callable[[Circumstances, Intent, Plan | None], Refused | None]


def check(circumstances: Circumstances, intent: Intent, plan: Plan | None = None) -> None:
    """Raise Refused with the name of the first rule that refuses."""
    for rule in RULES:
        refusal = rule(circumstances, intent, plan)
        if refusal is not None:
            raise refusal


def hard_refusal(circumstances: Circumstances, intent: Intent, plan: Plan | None) -> Refused | None:
    """What nobody may do this way, whatever the settings."""
    persons_only = intent.persons_only or intent.verb in circumstances.capabilities.persons_only
    if persons_only and intent.by_agent:
        return Refused("hard_refusal", f"{intent.title} … is for persons only.", "Ask a person to do it.")
    if intent.by_agent and holds_secret(intent.parameters()):
        told = f"What an agent wants to send with {intent.title.lower()} … looks like a secret."
        return Refused("hard_refusal", told, "Leave it out: let the job read it from a file of yours.")
    count = len(plan.targets if plan is not None else intent.targets_named)
    most = circumstances.config.max_targets
    if count > most:
        hint = "Do it in several parts, or raise max_targets in the configuration."
        return Refused("hard_refusal", f"{count} targets at once are more than the {most} that are allowed.", hint)
    return None


def capability(circumstances: Circumstances, intent: Intent, plan: Plan | None) -> Refused | None:
    """What the backend cannot do."""
    reason = circumstances.capabilities.why_not(intent.verb)
    return Refused("capability", reason) if reason is not None else None


def role(circumstances: Circumstances, intent: Intent, plan: Plan | None) -> Refused | None:
    """What the backend would refuse us, as far as it told who we are. Where it did not, it decides by itself."""
    identity = circumstances.identity
    name = clean(identity.name, 64)
    if identity.role == "mcp_readonly":
        return Refused("role", f"The role mcp_readonly of {name} may only read.", "Use a key with another role.")
    if identity.operator is not False:
        return None
    if intent.operator:
        told = f"{intent.title} … needs an operator's rights, which {name} has not."
        return Refused("role", told, "Use an operator's key.")
    others = circumstances.others(plan) if plan is not None else []
    known = [t for t in others if t.owner is not None and t.values.get("account") not in identity.accounts]
    if known:
        told = f"{_named(known[0])} belongs to {clean(known[0].owner or '', 64)}, and {name} may only change own jobs."
        return Refused("role", told, "Ask its owner or an operator.")
    return None


def scope(circumstances: Circumstances, intent: Intent, plan: Plan | None) -> Refused | None:
    """What the configuration leaves out for this cluster, and for agents what their scope leaves out."""
    if intent.verb in circumstances.config.hidden_actions:
        told = f"{intent.title} … is switched off here."
        return Refused("scope", told, "hidden_actions of the configuration names it.")
    limits = circumstances.profile.scope
    hint = "The scope of this cluster is set in the configuration."
    if limits.actions is not None and intent.verb not in limits.actions:
        return Refused("scope", f"{intent.title} … is outside what may be done on {intent.cluster}.", hint)
    if limits.queues is not None and isinstance(intent, SubmitJob) and intent.spec.queue not in limits.queues:
        queue = clean(intent.spec.queue or "the default queue", 64)
        return Refused("scope", f"{queue} is not among the queues to submit to: {', '.join(limits.queues)}.", hint)
    if limits.owners == "mine" and plan is not None and (others := circumstances.others(plan)):
        return Refused("scope", f"{_named(others[0])} is not one of {clean(circumstances.me, 64)}'s jobs.", hint)
    if intent.by_agent and (left_out := outside(circumstances.agents, intent, plan, circumstances.reach)):
        return Refused("scope", *left_out)
    return None


def read_only(circumstances: Circumstances, intent: Intent, plan: Plan | None) -> Refused | None:
    """Nothing at all, where that is set."""
    if circumstances.config.read_only or circumstances.profile.read_only:
        return Refused(
            "read_only",
            f"{intent.cluster} is read-only here: nothing is changed.",
            "Start without --read-only, or change read_only in the configuration.",
        )
    return None


RULES: tuple[Rule, ...] = (hard_refusal, capability, role, scope, read_only)


def ruled_out(config: Config, profile: Profile, identity: Identity | None, verb: str) -> str | None:
    """Why no intent of that verb would get past the settings or the person's role; None where one may. For showing
    what is off: what is asked for all the same is refused, and recorded, by the rules above."""
    kind = INTENTS[verb]
    if config.read_only or profile.read_only:
        return "Read-only: nothing is changed."
    if verb in config.hidden_actions:
        return "It is switched off here."
    if profile.scope.actions is not None and verb not in profile.scope.actions:
        return "It is outside what may be done on this cluster."
    if identity is not None and identity.role == "mcp_readonly":
        return "This key may only read."
    if identity is not None and kind.operator and identity.operator is False:
        return "It needs an operator's rights."
    return None


def check_approval(circumstances: Circumstances, intent: Intent, confirm: Confirm, approval: Approval) -> None:
    """Raise Refused if this yes is not the one that was asked for. What autopilot allows is the agency's to say."""
    if approval.how == "autopilot":
        return
    if approval.how == "elicitation" and not circumstances.profile.trust_elicitation:
        told = f"An MCP client's answer is not trusted on {intent.cluster}: a client can answer by itself."
        raise Refused("elicitation", told, "A person approves it: pilothouse approve.")
    if approval.how == "unattended":
        if circumstances.config.forbid_unattended:
            raise Refused("unattended", "This site wants a person to see each plan.", "Leave --yes out and answer.")
        if intent.by_agent:
            raise Refused("unattended", "What an agent proposes needs a person's answer.", "A person confirms.")
        return
    if not confirm.accepts(approval.typed):
        asked = clean(confirm.expected, 64)
        raise Refused("confirm", f"{asked} was to be typed, so nothing was sent.", "Look at the plan again.")


def _named(target: Target) -> str:
    return clean(f"{target.ref.kind} {target.ref.id}", 80)
