"""What LSF answered to a write -> an outcome for each target.

Answers come on both streams: a success of `btop` or `badmin hclose` on stderr, failures of single ids beside successes
of others. So each target is looked for by its name in all lines; the exit code alone decides nothing. "Operation is in
progress" is no refusal: an earlier or this very request is under way, and the target is read again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from adapters.command import Finished
from adapters.lsf.decode import text_of
from adapters.lsf.failures import BUSY, SILENT
from adapters.model import Ref
from adapters.plan import Command, Outcome, Step, Target
from adapters.text import clean

_SUBMITTED: Final = re.compile(r"^Job <(\d+)> is submitted to (?:default )?queue <([^<>]*)>", re.MULTILINE)
_RESERVED: Final = re.compile(r"Reservation \"?([^\s\"]+)\"? is created", re.IGNORECASE)
_DONE: Final = (
    r"Job <{id}> is being \w+",
    r"Job <{id}> is switched to queue",
    r"Job <{id}> has been (?:moved|requeued|checkpointed)",
    r"Parameters of job <{id}> (?:are|have) be",
    r"(?:Close|Open) <{id}> \.+ done",
    r"Queue <{id}> is (?:closed|opened|inactivated|activated)",
    r"Reservation \"?{id}\"? (?:is being|is|has been) (?:deleted|removed)",
    r"host[ =]?[<\"]?{id}[>\"]? (?:is )?(?:accepted|updated)",
)
_IN_PROGRESS: Final = re.compile(r"Operation is in progress|request is being processed", re.IGNORECASE)
_REFUSALS: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern, re.IGNORECASE), code)
    for pattern, code in (
        (r"permission denied|cannot use the queue|not authorized|must be .*administrator|not allowed", "forbidden"),
        (r"already (?:finished|started)|not started yet|cannot be changed now|queue has been closed", "conflict"),
        (r"not checkpointable|job has no checkpoint|in (?:an )?invalid state|overlap", "conflict"),
        (r"No matching|is not found|No such|Bad host name|unknown host|does not exist", "not_found"),
        (r"LIM (?:is down|configuration is not ready)|lsf\.conf|LIM .*not ready", "unavailable"),
        (r"live reconfiguration|bconf .*disabled|LSF_LIVE_CONFDIR", "unsupported"),
        (r"External authentication failed", "unauthenticated"),
        (r"illegal|invalid|bad |must be|cannot exceed|should be|usage:|not valid|No command|syntax", "invalid"),
        (r"Job not (?:submitted|modified)|rejected|control failed", "invalid"),
    )
)


def _lines(done: Finished) -> list[str]:
    text = text_of(done.stdout) + "\n" + text_of(done.stderr)
    return [line.strip() for line in text.splitlines() if line.strip()]


def refusal_code(text: str) -> str | None:
    """Which error class a refusal in LSF's words belongs to; None where it is no clear refusal."""
    if BUSY.search(text) or SILENT.search(text):
        return None
    return next((code for pattern, code in _REFUSALS if pattern.search(text)), None)


def submitted(cluster: str, done: Finished) -> Outcome:
    """The outcome of bsub; lines of esub scripts and notices around the answer do not matter."""
    text = text_of(done.stdout) + "\n" + text_of(done.stderr)
    if match := _SUBMITTED.search(text):
        line = clean(text[match.start() :].splitlines()[0], 400)
        return Outcome("accepted", None, line, created=Ref(cluster, "job", match[1]))
    return _without_success(None, done, _lines(done))


def reserved(cluster: str, done: Finished) -> Outcome:
    """The outcome of brsvadd, which names the reservation it made."""
    lines = _lines(done)
    match = _RESERVED.search("\n".join(lines))
    if match is None:
        return _without_success(None, done, lines)
    return Outcome("accepted", None, clean(match[0], 400), created=Ref(cluster, "reservation", clean(match[1], 128)))


def _without_success(ref: Ref | None, done: Finished, lines: Sequence[str]) -> Outcome:
    """No line says that it was done: refused in LSF's words, or unknown."""
    for line in lines:
        if (code := refusal_code(line)) is not None:
            return Outcome("refused", ref, clean(line, 400), code)
    said = clean(lines[-1], 400) if lines else f"{done.argv[0]} ended with exit code {done.rc} and said nothing"
    return Outcome("unknown", ref, said, "unknown")


def _about(line: str, name: str) -> str | None:
    """What a line says of this id or name: ``Job <3>: Job has already finished``, ``31: Job has already started``."""
    quoted = re.escape(name)
    match = re.match(rf"^(?:Job <{quoted}>|<?{quoted}>?|(?:Close|Open) <{quoted}> \.+)\s*:?\s*(.+)$", line)
    return match[1].strip() if match else None


def _names(target: Target, alone: bool) -> list[str]:
    """What an answer may call this target; an element may be answered for by its array."""
    id = target.ref.id
    return [id] if alone or "[" not in id else [id, id.split("[", 1)[0]]


def outcome(target: Target, done: Finished, alone: bool) -> Outcome:
    """The outcome for one target of a step. `alone`: it is the only one, so complaints without a name are about it."""
    lines = _lines(done)
    for name in _names(target, alone):
        for line in lines:
            if any(re.search(pattern.format(id=re.escape(name)), line) for pattern in _DONE):
                return Outcome("accepted", target.ref, clean(line, 400))
        for line in lines:
            told = _about(line, name)
            if told is None:
                continue
            if _IN_PROGRESS.search(told):
                return Outcome("unknown", target.ref, clean(line, 400), "unknown")
            if (code := refusal_code(told)) is not None:
                return Outcome("refused", target.ref, clean(line, 400), code)
    if any(_IN_PROGRESS.search(line) for line in lines):
        return Outcome("unknown", target.ref, clean(lines[-1], 400), "unknown")
    elements = [line for line in lines if line.startswith(f"Job <{target.ref.id}[")]
    if accepted := [line for line in elements if "is being" in line]:
        told = f"{clean(accepted[0], 300)} ({len(accepted)} of {len(elements)} elements)"
        return Outcome("accepted", target.ref, told)
    if alone:
        return _without_success(target.ref, done, lines)
    return Outcome("unknown", target.ref, clean(lines[-1], 400) if lines else "LSF said nothing of it.", "unknown")


def outcomes(cluster: str, step: Step, done: Finished) -> tuple[Outcome, ...]:
    """One outcome a target, or one for what makes something new."""
    assert isinstance(step.request, Command)
    program = step.request.argv[0]
    if program == "bsub":
        return (submitted(cluster, done),)
    if program == "brsvadd":
        return (reserved(cluster, done),)
    alone = len(step.targets) == 1
    return tuple(outcome(target, done, alone) for target in step.targets)
