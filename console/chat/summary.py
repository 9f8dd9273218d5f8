"""One line on what a tool gave, for the folded view of a call."""

from __future__ import annotations

from collections.abc import Mapping

from adapters.base import AdapterError
from adapters.text import clean
from console.agent_answers import Proposed
from console.tools.advanced import Diagnosis, Estimated, Suggested
from console.tools.reads import AuditAnswer, JobAnswer, JobList, Log, MetricsAnswer, NodeList, QueueList, Waited
from console.tools.tool import Result

_MOST = 200


def summary(found: Result | AdapterError | None) -> str:
    """One line, cleaned, of at most 200 characters."""
    if isinstance(found, AdapterError):
        return clean(f"{found.title}: {found.message}", _MOST)
    return clean(_line(found), _MOST) if found is not None else ""


def _line(found: Result) -> str:
    match found:
        case JobList():
            return f"{_count(found.total, 'job')}{_parts(found.by_status)}"
        case NodeList():
            return f"{_count(found.total, 'node')}{_parts(found.by_status)}"
        case QueueList():
            return _count(found.total, "queue")
        case JobAnswer():
            return f"job {found.job.id} is {found.job.status}"
        case Log():
            return f"{_count(len(found.lines), 'line')} of {found.stream} of job {found.id}"
        case Waited():
            return f"job {found.id} is {found.status}{'' if found.reached else ', still'}"
        case Diagnosis():
            return f"{found.cause} ({found.confidence})"
        case Proposed():
            return _proposed(found)
        case MetricsAnswer():
            return f"jobs{_parts(found.metrics.get('jobs') or {})}"
        case AuditAnswer():
            return _count(len(found.records), "record")
        case Suggested():
            return f"from {_count(found.sample, 'job')}"
        case Estimated():
            known = found.expected_seconds is not None
            return f"about {found.expected_seconds:.0f} s" if known else "not known"
    return found.cluster


def _proposed(found: Proposed) -> str:
    """``Cancel 12: sent, accepted``."""
    state = found.state if found.result is None else f"{found.state}, {found.result}"
    created = f": {', '.join(found.created)}" if found.created else ""
    return f"{found.summary}: {state}{created}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _parts(counts: Mapping[str, int]) -> str:
    told = ", ".join(f"{number} {name}" for name, number in counts.items() if number)
    return f" ({told})" if told else ""
