"""What a pane is told about its source: one label a kind of row, out of how each of its reflectors fares."""

from __future__ import annotations

from collections.abc import Iterable

from adapters.base import AdapterError, FeedLabel, Forbidden, SourceState
from adapters.kubernetes.client import NOTICEABLE_SKEW, Api
from adapters.kubernetes.credentials import warnings_of
from adapters.kubernetes.resources import NEEDS, PRIMARY, RESOURCES
from adapters.kubernetes.scope import Scope
from adapters.kubernetes.supervisor import Fare, Supervisor
from adapters.model import Kind
from adapters.units import show_duration

DECISIVE = frozenset({"jobs", "pods", "nodes"})
"""Kinds that a snapshot waits for; of the others it waits a little."""


def settled(fares: list[Fare]) -> bool:
    """Whether every reflector of a kind has a complete list or a reason why not."""
    return bool(fares) and all(fare.loaded or fare.error is not None for fare in fares)


def is_ready(kind: Kind, supervisor: Supervisor, waited: float, patience: float) -> bool:
    """Whether rows of this kind can be shown: its objects are known, and so is what tells more about them."""
    if not any(fare.loaded for fare in supervisor.fares_of(PRIMARY[kind])):
        return False
    for key in NEEDS[kind]:
        missing = supervisor.is_offered(key) and not settled(supervisor.fares_of(key))
        if missing and (key in DECISIVE or waited < patience):
            return False
    return True


def state_of(kind: Kind, supervisor: Supervisor, scope: Scope, api: Api, loaded: bool) -> SourceState:
    """The state of one kind of row. A kind that may not be read is a note, a source that fails makes rows stale."""
    if supervisor.offer is None:
        label: FeedLabel = "connecting" if supervisor.trouble is None else "failed"
        return SourceState(label, frozenset({kind}), error=supervisor.trouble)
    primary = PRIMARY[kind]
    notes = [*warnings_of(api.config)]
    worst: Fare | None = None
    for key in NEEDS[kind]:
        for fare in supervisor.fares_of(key):
            if fare.error is None:
                continue
            if isinstance(fare.error, Forbidden) and (key != primary or _partly(supervisor.fares_of(key))):
                notes.append(_unreadable(key, fare.error))
            elif key == primary or worst is None:
                worst = fare
    notes.insert(0, scope.note([key for key in NEEDS[kind] if supervisor.is_offered(key)]))
    notes.append(_skew(api))
    if supervisor.unreadable:
        notes.append(f"{supervisor.unreadable} objects could not be read.")
    note = " ".join(dict.fromkeys(note for note in notes if note))
    if worst is not None:
        return SourceState(
            "stale" if loaded else "failed", frozenset({kind}), error=worst.error, retry_at=worst.retry_at, note=note
        )
    if loaded and any(fare.label == "polling" for key in NEEDS[kind] for fare in supervisor.fares_of(key)):
        return SourceState("polling", frozenset({kind}), interval=supervisor.timing.poll, note=note)
    return SourceState("live" if loaded else "connecting", frozenset({kind}), note=note)


def _partly(fares: Iterable[Fare]) -> bool:
    return any(fare.error is None for fare in fares)


def _unreadable(key: str, error: AdapterError) -> str:
    return f"You may not read {RESOURCES[key].title}."


def _skew(api: Api) -> str:
    if abs(api.skew) < NOTICEABLE_SKEW:
        return ""
    side = "ahead of" if api.skew.total_seconds() > 0 else "behind"
    return f"The server's clock is {show_duration(abs(api.skew.total_seconds()))} {side} this machine's."
