"""How the command line shows what a diagnosis, an estimate or a suggestion says."""

from __future__ import annotations

from collections.abc import Mapping

from adapters.text import clean
from adapters.units import exact_duration, show_duration, show_size
from console.diagnosis.efficiency import Efficiency, Share
from console.diagnosis.findings import Finding
from console.diagnosis.wait import WaitEstimate

_AMOUNTS = {"memory_bytes": "memory", "walltime_seconds": "time limit", "cores": "cores", "gpus": "GPUs"}


def finding_lines(found: Finding) -> list[str]:
    """The cause and how sure it is, the evidence as quoted, and what would have to change."""
    subject = f"{found.subject.kind} {clean(found.subject.id)}: " if found.subject else ""
    lines = [f"{subject}{found.title} ({found.confidence})", f"  {clean(found.summary)}"]
    lines += [f"  evidence: {clean(e.source)}: {clean(e.quote)}" for e in found.evidence]
    if found.blocker is not None:
        lines.append(f"  blocked by: {found.blocker.kind} {clean(found.blocker.id)}")
    if found.since is not None:
        lines.append(f"  since: {found.since:%Y-%m-%d %H:%M:%S %Z}")
    if found.estimate is not None:
        lines.append(f"  the scheduler expects it to start: {found.estimate:%Y-%m-%d %H:%M:%S %Z}")
    return lines + [f"  what to do: {clean(change)}" for change in found.changes]


def efficiency_lines(found: Efficiency) -> list[str]:
    """Used against asked, and what to ask for next time."""
    lines = [f"{share.resource:<8}{_used(share)}" for share in (found.memory, found.time, found.cpu)]
    if found.ask:
        lines.append(f"next time: {amounts(found.ask)}")
    return lines + [f"note: {clean(note)}" for note in found.notes]


def _used(share: Share) -> str:
    show = show_size if share.resource == "memory" else show_duration
    used = show(int(share.used)) if share.used is not None else "-"
    asked = show(int(share.asked)) if share.asked is not None else "-"
    return f"{used} of {asked}" + (f" ({share.share:.0%})" if share.share is not None else "")


def wait_lines(found: WaitEstimate) -> list[str]:
    """The expected wait with its spread, and what it rests on."""
    if found.expected is None:
        return [f"not known. {found.note}".strip()]
    spread = ""
    if found.low is not None and found.high is not None:
        spread = f"; eight of ten wait {show_duration(found.low)} to {show_duration(found.high)}"
    based = f"{found.basis}, {found.sample} jobs" if found.sample else found.basis
    return [f"about {show_duration(found.expected)}{spread} ({based})", f"  {found.note}"]


def amounts(values: Mapping[str, int]) -> str:
    """``cores 4, memory 2.4 GB``."""
    return ", ".join(f"{_AMOUNTS.get(name, name)} {amount(name, value)}" for name, value in values.items()) or "nothing"


def amount(name: str, value: int) -> str:
    if name == "memory_bytes":
        return show_size(value)
    return exact_duration(value) if name == "walltime_seconds" else str(value)
