"""What a diagnosis says: a cause of the closed vocabulary, how sure, and the evidence it rests on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from adapters.model import Job, Ref
from adapters.text import clean
from console.diagnosis.causes import CAUSES, Cause

Confidence: TypeAlias = Literal["certain", "likely", "unknown"]
_QUOTE = 240


@dataclass(frozen=True, slots=True)
class Evidence:
    """One fact, quoted: `source` says where it stands (``job.reason``, ``stderr line 12``, ``node n07.status``)."""

    source: str
    quote: str

    @classmethod
    def of(cls, source: str, quote: object) -> Evidence:
        return cls(source, clean(str(quote), _QUOTE))


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer to one question about one object.

    Args:
        cause: a key of `causes.CAUSES`; ``unknown`` where the evidence does not carry an answer.
        summary: one sentence for a person.
        changes: what would have to change, or what to ask for next time.
        blocker: the object that stands in the way, where there is one.
        since: since when it has been so.
        estimate: when the backend expects it to end (a pending job's start).
    """

    subject: Ref | None
    cause: str
    confidence: Confidence
    summary: str
    evidence: tuple[Evidence, ...] = ()
    changes: tuple[str, ...] = ()
    blocker: Ref | None = None
    since: datetime | None = None
    estimate: datetime | None = None

    @property
    def known(self) -> bool:
        return self.cause != "unknown"

    @property
    def title(self) -> str:
        return CAUSES[self.cause].title


def finding(
    job: Job,
    cause: str,
    confidence: Confidence,
    evidence: Iterable[Evidence],
    *,
    summary: str = "",
    changes: Iterable[str] = (),
    blocker: Ref | None = None,
) -> Finding:
    """A finding about a job, with the vocabulary's own sentence and advice where none are given."""
    known: Cause = CAUSES[cause]
    return Finding(
        job.ref, cause, confidence, summary or known.sentence, tuple(evidence), tuple(changes) or known.changes, blocker
    )


def unknown(subject: Ref | None, evidence: Iterable[Evidence], summary: str = "") -> Finding:
    """No answer, and what was looked at."""
    return Finding(subject, "unknown", "unknown", summary or CAUSES["unknown"].sentence, tuple(evidence))
