"""The long forms of jobs: ``bjobs -l``, ``bjobs -UF``, ``bhist -l``, ``bacct -l``.

Lines are folded at 80 columns in the middle of words, with 21 blanks in front of what follows. Names and commands
are printed as they are, so a hostile one can look like any other part; hence only what no list tells is taken from
here, and of several lines that could be the same event the last one counts.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from adapters.lsf.states import term_reason
from adapters.lsf.units import run_limit, size

_FOLD: Final = " " * 21
_HEAD = re.compile(r"^Job <(\d+(?:\[\d+\])?)>(?=[,;]|$)")
_EVENT = re.compile(
    r"^((?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2}\s+\d{1,2} \d\d:\d\d:\d\d(?: \d{4})?): ?(.*)$", re.DOTALL
)
_LIMITS: Final = frozenset(
    {
        "CPULIMIT", "RUNLIMIT", "MEMLIMIT", "SWAPLIMIT", "FILELIMIT", "DATALIMIT", "STACKLIMIT", "CORELIMIT",
        "PROCESSLIMIT", "THREADLIMIT", "PROCLIMIT", "TASKLIMIT", "HOSTLIMIT_PER_JOB",
    }
)  # fmt: skip
_TAILS = re.compile(
    r">, (?:Share group charged <[^<>]*>|Job Description <(?P<description>.*?)>|Esub <[^<>]*>|Application <[^<>]*>"
    r"|Interactive[^<>,]*|Job Priority <[^<>]*>)(?=,|;|$)",
    re.DOTALL,
)
_ENDED: Final = ("Done successfully", "Exited", "Completed <")
_CODE = re.compile(r"exit code (\d+)")
_REASONS: Final = ("PENDING REASONS", "SUSPENDING REASONS")


@dataclass(slots=True)
class JobDetail:
    """What a long form tells of one job. Texts are foreign and not yet cleaned; times are LSF's own text.

    Args:
        id: with its array index.
        fields: what stands in angle brackets in the head: User, Project, Status, Queue, Job Name ...
        events: (time, text), oldest first.
        blocks: title -> lines beneath it.
    """

    id: str
    fields: dict[str, str] = field(default_factory=dict)
    events: list[tuple[str, str]] = field(default_factory=list)
    blocks: dict[str, list[str]] = field(default_factory=dict)

    def event(self, *starts: str) -> tuple[str, str] | None:
        """The last event whose text begins with one of `starts`."""
        return next((event for event in reversed(self.events) if event[1].startswith(starts)), None)

    @property
    def submitted(self) -> str:
        event = self.event("Submitted from host")
        return event[1] if event else ""

    @property
    def started(self) -> tuple[str, str] | None:
        return self.event("Started", "Dispatched", "Starting")

    @property
    def ended(self) -> tuple[str, str] | None:
        return self.event(*_ENDED)

    @property
    def exit_code(self) -> int | None:
        """The exit code where LSF gives one; 0 of a job that is done."""
        for _, text in reversed(self.events):
            if text.startswith(("Done successfully", "Completed <done>")):
                return 0
            if match := _CODE.search(text):
                return int(match[1])
        return None

    @property
    def term(self) -> str | None:
        """LSF's TERM reason, from the events alone: a command may hold anything."""
        return term_reason(*(text for _, text in reversed(self.events) if text.startswith((*_ENDED, "TERM_"))))

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it waits or is suspended, a reason a line, without the ``;`` at its end."""
        lines = [line.strip().rstrip(";") for title in _REASONS for line in self.blocks.get(title, ())]
        return tuple(line for line in lines if line)

    def bracketed(self, title: str, text: str) -> str | None:
        """``CWD`` -> what stands in the brackets behind it in an event's text."""
        match = re.search(rf"(?:^|[ ,]){re.escape(title)}\s*<(.*?)>(?=[,;]|$)", text, re.DOTALL)
        return match[1] if match else None

    @property
    def run_limit_seconds(self) -> int | None:
        return run_limit(self.limit("RUNLIMIT"))[0]

    @property
    def memory_limit_bytes(self) -> int | None:
        return size(self.limit("MEMLIMIT"))

    def limit(self, name: str) -> str | None:
        """The text beneath a limit's title."""
        return limits(self.blocks).get(name)

    def amount(self, label: str) -> int | None:
        """Bytes behind ``MAX MEM:`` and the like."""
        text = " ".join(self.blocks.get("MEMORY USAGE", ()))
        match = re.search(rf"{re.escape(label)}:\s*([0-9.]+\s*[A-Za-z]+)", text)
        return size(match[1]) if match else None


def unfold(text: str) -> list[str]:
    """Lines as LSF meant them, folds undone."""
    lines: list[str] = []
    for line in text.split("\n"):
        if line.startswith(_FOLD) and lines and lines[-1].strip():
            lines[-1] += line[len(_FOLD) :]
        else:
            lines.append(line)
    return lines


def read_details(text: str) -> list[JobDetail]:
    """Every job of an answer; an empty list where there is none."""
    found: list[JobDetail] = []
    block: list[str] | None = None
    head = False
    for line in unfold(text):
        start = _HEAD.match(line)
        if start and not head:
            found.append(JobDetail(start[1]))
            found[-1].fields["_head"] = line
            head, block = True, None
            continue
        if not found:
            continue
        job = found[-1]
        event = _EVENT.match(line)
        first = event is not None and event[2].startswith("Submitted from host")
        if event and (first or not head):
            # The submission is the first event of a job: what came before it was part of a command.
            head, block, job.events = False, None, [] if first else job.events
            job.events.append((event[1], event[2].strip()))
        elif head:
            job.fields["_head"] += "\n" + line  # a command of several lines
        elif line.startswith(("-----", "Summary of time")):
            block = job.blocks.setdefault("Summary", []) if line.startswith("Summary") else None
        else:
            block = _into_block(job, line, block)
    for job in found:
        job.fields = _head_fields(job.fields.pop("_head"))
    return found


def _into_block(job: JobDetail, line: str, block: list[str] | None) -> list[str] | None:
    """Put a line beneath the title before it, or begin a new block; a blank line ends a block of values."""
    title = line.strip()
    words = title.split()
    if words and all(word in _LIMITS for word in words):
        block = job.blocks.setdefault("LIMITS", [])
        block.append(line)
        return block
    if title.endswith(":") and title.rstrip(":").isupper():
        return job.blocks.setdefault(title.rstrip(":"), [])
    if re.match(r"^[A-Z][A-Za-z ]+ about this job:$", title):
        return job.blocks.setdefault("ACCOUNTING", [])
    if title.startswith("TERM_"):
        job.events.append((job.events[-1][0] if job.events else "", title))
        return None
    if block is not None and title:
        block.append(line)
    return block if title else None


def _head_fields(head: str) -> dict[str, str]:
    """``Job <1>, Job Name <n>, User <u>, ... Command <c>``; the command is last but for a few known tails."""
    cut = re.search(r",\s*Command\s*<", head)
    fields = dict(_pairs(head[: cut.start()] if cut else head))
    if cut:
        after = head[cut.end() :]
        tail = _TAILS.search(after)
        if tail and tail["description"] is not None:
            fields["Job Description"] = tail["description"]
        else:
            described = re.search(r">, Job Description <(.*?)>(?=,|$)", after, re.DOTALL)
            if described:
                fields["Job Description"] = described[1]
        fields["Command"] = after[: tail.start()] if tail else after.rsplit(">", 1)[0]
    return fields


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for match in re.finditer(r"(?:^|,)\s*([A-Z][A-Za-z ]+?)\s*<(.*?)>(?=,\s*[A-Z]|,\s|$)", text, re.DOTALL):
        yield match[1], match[2]


def limits(blocks: Mapping[str, list[str]]) -> dict[str, str]:
    """Title -> value of lines such as `` RUNLIMIT  MEMLIMIT`` and the line of values beneath, by their columns."""
    found: dict[str, str] = {}
    lines = blocks.get("LIMITS", [])
    for titles, values in itertools.pairwise(lines):
        words = list(re.finditer(r"\S+", titles))
        if not words or any(word[0] not in _LIMITS for word in words):
            continue
        for place, word in enumerate(words):
            stop = words[place + 1].start() if place + 1 < len(words) else None
            found.setdefault(word[0], values[min(word.start(), 1) if place == 0 else word.start() : stop].strip())
    return found
