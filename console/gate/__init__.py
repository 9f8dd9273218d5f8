"""The only way to a Writer: policy, plan, confirmation, re-check, audit, send, verification."""

from __future__ import annotations

from console.gate.gate import Gate
from console.gate.operation import Operation, StepProgress
from console.gate.prepared import Approval, Confirm, PlanChanged, Prepared, Refused

__all__ = ["Approval", "Confirm", "Gate", "Operation", "PlanChanged", "Prepared", "Refused", "StepProgress"]
