"""From the store's states to what panes and the status line are told."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from adapters.model import Kind
from adapters.text import clean
from console.gate import Operation
from console.screens.writes import outcome_of
from console.store import Store
from widgets.columns import Role
from widgets.facts import FeedFact, summary
from widgets.status_bar import Status

KINDS: tuple[Kind, ...] = ("job", "queue", "node")


def feed_fact(store: Store, cluster: str, kind: Kind) -> FeedFact:
    """How one cluster's feed stands for one kind."""
    state = store.state(cluster, kind)
    error = state.error
    return FeedFact(
        cluster=clean(cluster, 40),
        label=state.label,
        loaded=state.loaded,
        at=state.at,
        interval=state.interval,
        error=clean(error.message) if error else "",
        hint=clean(error.hint) if error else "",
        note=clean(state.note),
    )


def feed_facts(store: Store, clusters: Iterable[str], kind: Kind) -> tuple[FeedFact, ...]:
    return tuple(feed_fact(store, cluster, kind) for cluster in clusters)


def status_of(
    store: Store, clusters: Iterable[str], operations: list[Operation], said: tuple[str, Role], *, read_only: bool,
    slow: bool, now: datetime, waiting: str = "",
) -> Status:  # fmt: skip
    """The status line: the worst of each cluster's feeds, writes in flight, the last outcome, what waits."""
    feeds: list[tuple[str, Role]] = []
    calls: float | None = None
    for cluster in clusters:
        text, role = summary(feed_facts(store, [cluster], "job") + feed_facts(store, [cluster], "node"), now)
        feeds.append((f"{clean(cluster, 20)} {text}", role))
        rate = store.state(cluster, "job").calls_per_minute
        calls = calls if rate is None else (calls or 0) + rate
    sending = [operation for operation in operations if not operation.done]
    outcome = said if said[0] or not operations else outcome_of(operations[-1])
    return Status(
        feeds=tuple(feeds), outcome=outcome, sending=len(sending), calls=calls, read_only=read_only, slow=slow,
        clock=now.astimezone().strftime("%H:%M"), waiting=waiting,
    )  # fmt: skip
