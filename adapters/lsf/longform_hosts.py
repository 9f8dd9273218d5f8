"""The long forms of queues and hosts: ``bqueues -l`` and ``bhosts -l``."""

from __future__ import annotations

from dataclasses import dataclass, field

from adapters.lsf.longform import limits, unfold
from adapters.lsf.units import run_limit, size
from adapters.text import clean


@dataclass(frozen=True, slots=True)
class QueueDetail:
    """What only ``bqueues -l`` tells of a queue; all text is clean."""

    name: str
    description: str | None = None
    users: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    comment: str | None = None
    run_limit_seconds: int | None = None
    memory_limit_bytes: int | None = None
    default_run_limit_seconds: int | None = None
    default_memory_bytes: int | None = None


@dataclass(slots=True)
class _Block:
    name: str
    lines: list[str] = field(default_factory=list)

    def titled(self, title: str) -> str | None:
        """What stands behind ``USERS:``; the last such line, for the description above may hold anything."""
        found = [line.partition(":")[2].strip() for line in self.lines if line.startswith(f"{title}:")]
        return found[-1] if found else None

    def limits(self, default: bool) -> dict[str, str]:
        """The limits under ``DEFAULT LIMITS:``, or those that bind (``MAXIMUM LIMITS:``, or untitled ones)."""
        section, found = "", {"": [""], "DEFAULT LIMITS": [""], "MAXIMUM LIMITS": [""]}
        for line in self.lines:
            title = line.strip().rstrip(":")
            if title in found:
                section = title
            elif line.startswith("SCHEDULING PARAMETERS"):
                break
            else:
                found[section].append(line)
        if default:
            return limits({"LIMITS": found["DEFAULT LIMITS"]})
        return limits({"LIMITS": found[""] + found["MAXIMUM LIMITS"]})


def _blocks(text: str, start: str) -> list[_Block]:
    found: list[_Block] = []
    for line in unfold(text):
        if line.startswith(start) and len(line.split()) == 2:
            found.append(_Block(line.split()[1]))
        elif found:
            found[-1].lines.append(line)
    return found


def read_queues(text: str) -> dict[str, QueueDetail]:
    """Name -> detail of every queue of ``bqueues -l``."""
    return {block.name: _queue(block) for block in _blocks(text, "QUEUE:")}


def _queue(block: _Block) -> QueueDetail:
    binding, default = block.limits(default=False), block.limits(default=True)
    description = next((line.strip()[3:] for line in block.lines if line.strip().startswith("-- ")), None)
    comment = block.titled("ADMIN ACTION COMMENT")
    return QueueDetail(
        name=block.name,
        description=clean(description.strip(), 512) if description else None,
        users=tuple(clean(word) for word in (block.titled("USERS") or "").split()),
        hosts=tuple(clean(word) for word in (block.titled("HOSTS") or "").split()),
        comment=clean(comment.strip('"'), 512) if comment else None,
        run_limit_seconds=run_limit(binding.get("RUNLIMIT"))[0],
        memory_limit_bytes=size(binding.get("MEMLIMIT")),
        default_run_limit_seconds=run_limit(default.get("RUNLIMIT"))[0],
        default_memory_bytes=size(default.get("MEMLIMIT")),
    )


@dataclass(frozen=True, slots=True)
class HostDetail:
    """What only ``bhosts -l`` tells of a host; all text is clean."""

    name: str
    comment: str | None = None
    thresholds: tuple[str, ...] = ()


def read_hosts(text: str) -> dict[str, HostDetail]:
    """Name -> detail of every host of ``bhosts -l``."""
    return {block.name: _host(block) for block in _blocks(text, "HOST ")}


def _host(block: _Block) -> HostDetail:
    comment = block.titled("ADMIN ACTION COMMENT")
    return HostDetail(
        name=block.name,
        comment=clean(comment.strip('"'), 512) if comment else None,
        thresholds=_thresholds(block.lines),
    )


def _thresholds(lines: list[str]) -> tuple[str, ...]:
    """``r1m loadSched 0.7``: the thresholds that are set, under LOAD THRESHOLD USED FOR SCHEDULING."""
    start = next((at for at, line in enumerate(lines) if "LOAD THRESHOLD USED" in line), len(lines))
    found, names = [], list[str]()
    for line in lines[start + 1 :]:
        words = line.split()
        if words[:1] in (["loadSched"], ["loadStop"]):
            pairs = zip(names, words[1:], strict=False)
            found += [clean(f"{name} {words[0]} {value}", 64) for name, value in pairs if value != "-"]
        elif words:
            names = words
    return tuple(found)
