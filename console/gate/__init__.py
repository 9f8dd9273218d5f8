"""The only way to a Writer: policy, plan, confirmation, re-check, audit, send, verification."""

from __future__ import annotations

from console.gate.agency import Agency
from console.gate.autopilot import Autopilot, Grant
from console.gate.gate import Gate
from console.gate.inbox import Full, Inbox, Proposal
from console.gate.operation import Operation, StepProgress
from console.gate.plans import PlanFiles, WaitingPlan
from console.gate.policy import ruled_out
from console.gate.prepared import Approval, Confirm, PlanChanged, Prepared, Refused
from console.gate.scope import AgentScope

__all__ = [
    "Agency", "AgentScope", "Approval", "Autopilot", "Confirm", "Full", "Gate", "Grant", "Inbox", "Operation",
    "PlanChanged", "PlanFiles", "Prepared", "Proposal", "Refused", "StepProgress", "WaitingPlan",
    "ruled_out",
]  # fmt: skip
